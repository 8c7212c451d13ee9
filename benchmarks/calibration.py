"""What a score means: how often a question has an answer where its best memory has that score.

    python -m benchmarks.calibration [--plot FILE.svg] FOLDER...

Each question of the labelled sets is put to the scope that answers it and to one that does not:
the next group of its set, or, where a set has one group, the next set's first. `--plot` needs
matplotlib, in an environment of its own.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from benchmarks.asking import Asked, LabelledSet, labelled_set
from benchmarks.environment import describe_environment
from infinite_memory.model.hits import LIKELY

__all__ = ["Scores", "best_scores"]

_BINS = np.linspace(0, 1, 11)
_PER_SET = 300


@frozen(kw_only=True)
class Scores:
    """The best score of each question of a set, where it has an answer and where it has none."""

    name: str
    with_answer: NDArray[np.float64]
    without: NDArray[np.float64]
    first_is_right: NDArray[np.bool_]


def best_scores(labelled: LabelledSet, other: LabelledSet) -> Scores:
    """Ask at most 300 questions of `labelled`, spread over it; `other` is for want of a group."""
    asked = labelled.asked[:: max(1, len(labelled.asked) // _PER_SET)]
    own = [labelled.ask(one.text, one.scope, limit=1).candidates for one in asked]
    return Scores(
        name=labelled.name,
        with_answer=np.array([found[0].score if found else 0.0 for found in own]),
        without=np.array([_elsewhere(one, labelled, other) for one in asked]),
        first_is_right=np.array(
            [
                bool(found) and found[0].id in one.relevant
                for found, one in zip(own, asked, strict=True)
            ]
        ),
    )


def _elsewhere(one: Asked, labelled: LabelledSet, other: LabelledSet) -> float:
    scopes = labelled.scopes
    if len(scopes) > 1:
        following = scopes[(scopes.index(one.scope) + 1) % len(scopes)]
        found = labelled.ask(one.text, following, limit=1).candidates
    else:
        found = other.ask(one.text, other.scopes[0], limit=1).candidates
    return found[0].score if found else 0.0


def report(sets: list[Scores]) -> None:
    print(f"\nnot one hit reaches {LIKELY}, so that no answer is called likely:")
    for scores in sets:
        print(
            f"{scores.name:12} questions with an answer {np.mean(scores.with_answer < LIKELY):6.1%}"
            f"   without one {np.mean(scores.without < LIKELY):6.1%}"
        )
    print("\nscore of the best      questions   have an answer   the best is a labelled one")
    for low, high, count, answered, right in _table(sets):
        print(f"{low:.1f} to {high:.1f}{count:18}{answered:16.0%}{right:20.0%}")


def _table(sets: list[Scores]) -> list[tuple[float, float, int, float, float]]:
    score = np.concatenate([np.append(s.with_answer, s.without) for s in sets])
    has = np.concatenate([np.repeat([1, 0], [len(s.with_answer), len(s.without)]) for s in sets])
    right = np.concatenate([np.append(s.first_is_right, s.without < 0) for s in sets])
    bins = np.clip(np.digitize(score, _BINS) - 1, 0, len(_BINS) - 2)
    return [
        (
            float(_BINS[b]),
            float(_BINS[b + 1]),
            int(np.count_nonzero(bins == b)),
            float(has[bins == b].mean()),
            float(right[bins == b].mean()),
        )
        for b in range(len(_BINS) - 1)
        if np.any(bins == b)
    ]


def plot(sets: list[Scores], path: Path) -> None:
    # Optional, and not a dependency of the project.
    from matplotlib import pyplot

    rows = _table(sets)
    middles = [(low + high) / 2 for low, high, *_ in rows]
    figure, axes = pyplot.subplots(figsize=(5, 5))
    axes.plot([0, 1], [0, 1], color="0.7", label="as it should be")
    axes.plot(middles, [row[3] for row in rows], marker="o", label="have an answer")
    axes.plot(middles, [row[4] for row in rows], marker="s", label="the best is a labelled one")
    axes.set(xlabel="score of the best memory", ylabel="share of the questions", ylim=(0, 1.02))
    axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    print(describe_environment())
    with ExitStack() as stack:
        sets = [stack.enter_context(labelled_set(folder)) for folder in arguments.folders]
        scores = [
            best_scores(one, other) for one, other in zip(sets, [*sets[1:], sets[0]], strict=True)
        ]
    report(scores)
    if arguments.plot is not None:
        plot(scores, arguments.plot)


if __name__ == "__main__":
    main()
