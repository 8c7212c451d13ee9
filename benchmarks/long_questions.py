"""What comparing a question sentence by sentence is worth, on questions made long.

    python -m benchmarks.long_questions [--model PATH] [--questions 120] --chatter SET FOLDER...

Each FOLDER is a labelled set as in `benchmarks.retrieval`, of English questions of one sentence.
Every n-th of them is asked between sentences of greeting and thanks; together with two others of
its group, in any order, where what answers one of the three is relevant; and after four texts in a
row of the corpus of SET, of another group than its own. nDCG@10 without the step and with it, and
the difference in pairs with its 95 % interval by bootstrap over the questions.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

from attrs import evolve

from benchmarks.asking import Asked, LabelledSet, labelled_set
from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import rows
from benchmarks.metrics import interval, measure
from infinite_memory.search.embedding import BUNDLED
from infinite_memory.search.scoring import DEFAULT_WEIGHTS, Weights

_HELLO = "Hey there! How are you doing today? I hope all is well with you."
_THANKS = "I was just wondering about that. Thanks a lot, you are the best!"
_TURNS = 4


def made_long(
    labelled: LabelledSet, chatter: Path, count: int
) -> Iterator[tuple[str, tuple[Asked, ...]]]:
    """Yield the questions as they are, and those made from them, each kind with its name."""
    random = Random(5)
    asked = labelled.asked[:: max(1, len(labelled.asked) // count)][:count]
    yield "as it is", asked
    yield "greeted", tuple(evolve(a, text=f"{_HELLO} {a.text} {_THANKS}") for a in asked)
    yield "three at once", tuple(_together(a, labelled.asked, random) for a in asked)
    texts = defaultdict(list)
    for row in rows(chatter / "corpus.jsonl"):
        texts[row["group"]].append(row["text"])
    yield "after chatter", tuple(evolve(a, text=_after(a, texts, random)) for a in asked)


def _together(one: Asked, asked: tuple[Asked, ...], random: Random) -> Asked:
    others = [other for other in asked if other.scope == one.scope and other is not one]
    three = [one, *random.sample(others, 2)]
    random.shuffle(three)
    return Asked(
        text=" ".join(each.text for each in three),
        scope=one.scope,
        relevant=frozenset().union(*(each.relevant for each in three)),
    )


def _after(one: Asked, texts: dict[str, list[str]], random: Random) -> str:
    group = random.choice([group for group in sorted(texts) if group != one.scope])
    first = random.randrange(len(texts[group]) - _TURNS)
    return " ".join([*texts[group][first : first + _TURNS], one.text])


def measure_ndcg(labelled: LabelledSet, weights: Weights) -> list[float]:
    """Return nDCG@10 of each question, in percent."""
    figures = []
    for asked in labelled.asked:
        found = labelled.ask(asked.text, asked.scope, weights=weights).candidates
        figures.append(100 * measure([candidate.id for candidate in found], asked.relevant)[3])
    return figures


def report(labelled: LabelledSet, chatter: Path, count: int) -> None:
    without = evolve(DEFAULT_WEIGHTS, sentences=0.0)
    for name, asked in made_long(labelled, chatter, count):
        some = evolve(labelled, asked=asked)
        before, after = measure_ndcg(some, without), measure_ndcg(some, DEFAULT_WEIGHTS)
        change = [b - a for a, b in zip(before, after, strict=True)]
        low, high = interval(change)
        means = [sum(values) / len(values) for values in (before, after, change)]
        print(
            f"{labelled.name:12}{name:16}{len(asked):5}{means[0]:8.1f}{means[1]:8.1f}"
            f"  {means[2]:+.1f} [{low:+.1f}, {high:+.1f}]",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--chatter", type=Path, required=True, metavar="SET")
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--model", default=BUNDLED, metavar="PATH", help="another model")
    arguments = parser.parse_args()
    print(describe_environment())
    print(f"{'':28}{'n':>5}{'without':>8}{'with':>8}  nDCG@10")
    for folder in arguments.folders:
        with labelled_set(folder, arguments.model) as labelled:
            report(labelled, arguments.chatter, arguments.questions)


if __name__ == "__main__":
    main()
