"""What each step of the ranking is worth: every figure without it, beside the default.

    python -m benchmarks.ablation [--model PATH] FOLDER...

Each FOLDER is a labelled set as in `benchmarks.retrieval`. A difference is that of the means over
the same questions, with a 95 % interval by bootstrap over the questions, in pairs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from attrs import asdict, evolve

from benchmarks.asking import LabelledSet, labelled_set
from benchmarks.environment import describe_environment
from benchmarks.metrics import interval, measure
from infinite_memory.search.embedding import BUNDLED
from infinite_memory.search.scoring import DEFAULT_WEIGHTS, Weights

_ARMS = ("meaning", "words")

STEPS: dict[str, Weights] = {
    "default": DEFAULT_WEIGHTS,
    "without meaning": evolve(DEFAULT_WEIGHTS, meaning=0.0),
    "without words": evolve(DEFAULT_WEIGHTS, words=0.0),
    "without sentences": evolve(DEFAULT_WEIGHTS, sentences=0.0),
    "without speaker": evolve(DEFAULT_WEIGHTS, speaker=0.0),
    "without meaning around": evolve(DEFAULT_WEIGHTS, around=0.0),
    "without words around": evolve(DEFAULT_WEIGHTS, before=0.0, after=0.0),
    "without is_question": evolve(DEFAULT_WEIGHTS, is_question=0.0),
    "without quoted": evolve(DEFAULT_WEIGHTS, quoted=0.0),
    "without conversation": evolve(DEFAULT_WEIGHTS, conversation=0.0),
    "the two arms alone": evolve(
        DEFAULT_WEIGHTS,
        **dict.fromkeys((name for name in asdict(DEFAULT_WEIGHTS) if name not in _ARMS), 0.0),
    ),
}
"""The default, and the default without one step."""


def figures(labelled: LabelledSet, weights: Weights) -> tuple[list[float], list[float]]:
    """Return recall@10 and nDCG@10 of each question, in percent."""
    recall, ndcg = [], []
    for asked in labelled.asked:
        ranking = labelled.ask(asked.text, asked.scope, weights=weights)
        found = measure([candidate.id for candidate in ranking.candidates], asked.relevant)
        recall.append(100 * found[1])
        ndcg.append(100 * found[3])
    return recall, ndcg


def report(labelled: LabelledSet) -> None:
    print(
        f"\n{labelled.name}: {len(labelled.asked)} questions, differences to the default in pairs"
    )
    default = figures(labelled, DEFAULT_WEIGHTS)
    for name, weights in STEPS.items():
        cells = [f"{name:24}"]
        for before, after in zip(default, figures(labelled, weights), strict=True):
            change = [b - a for a, b in zip(before, after, strict=True)]
            low, high = interval(change)
            mean, difference = sum(after) / len(after), sum(change) / len(change)
            cells.append(f"{mean:6.1f} ({difference:+5.1f} [{low:+.1f}, {high:+.1f}])".rjust(30))
        print("".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--model", default=BUNDLED, metavar="PATH", help="another model")
    arguments = parser.parse_args()
    print(describe_environment())
    print(f"{'':24}{'R@10':>30}{'nDCG@10':>30}")
    for folder in arguments.folders:
        with labelled_set(folder, arguments.model) as labelled:
            report(labelled)


if __name__ == "__main__":
    main()
