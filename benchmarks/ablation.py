"""What each rule of the ranking is worth: a table of rules and sets, each rule switched off alone.

    python -m benchmarks.ablation [--model NAME] [--most NUMBER] FOLDER...

Each FOLDER is a set, or holds sets, as in `benchmarks.all_sets`. The figure of a set is nDCG@10, of
a person hit@1. A cell is the difference of the means over the same questions, in points; a minus
says what is lost without the rule, and a star that the 95 % interval, by bootstrap over the
questions in pairs, leaves out zero. With `--most`, only so many questions of a set are put, evenly
spaced.

A rule without a weight is switched off by putting something else in its place in the module.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean
from unittest.mock import patch

import numpy as np
from attrs import asdict, evolve

from benchmarks.all_sets import OpenSet, find_folders, open_set
from benchmarks.environment import describe_environment
from benchmarks.metrics import interval
from benchmarks.ranking_digest import digest_ranking
from benchmarks.vector_cache import open_model
from infinite_memory.engine.retrieval import search
from infinite_memory.search import bm25, later_first, ranking, scoring
from infinite_memory.search.conversation import turns
from infinite_memory.search.embedding import BUNDLED
from infinite_memory.search.scoring import DEFAULT_WEIGHTS

_ARMS = ("meaning", "words")
_STEPS = [name for name in asdict(DEFAULT_WEIGHTS) if name not in ("before", "after")]
Replaced = tuple[object, str, object]

WITHOUT: Mapping[str, Mapping[str, float]] = {
    **{name: {name: 0.0} for name in _STEPS},
    "words around": {"before": 0.0, "after": 0.0},
    "all but the arms": {name: 0.0 for name in asdict(DEFAULT_WEIGHTS) if name not in _ARMS},
}
"""The weights that are changed, by the name of what is switched off."""

REPLACED: Mapping[str, Replaced] = {
    "facts told later": (later_first, "_MOST_MOVED", 0),
    "solution before problem": (
        *(later_first.Neighbors, "find_solutions"),
        lambda neighbors: np.zeros_like(neighbors.is_later),
    ),
    "order kept for time, quote": (ranking, "puts_later_first", lambda _: True),
    "order kept for own words": (later_first, "_SAYS_QUESTION", 2.0),
    "former": (ranking, "cover_superseded", lambda _: None),
    "time out of the vector": (ranking, "remove_time_words", lambda question: question.text),
    "names out of the vector": (ranking, "remove_names", lambda text, _: text),
    "common names alone": (ranking, "find_common_names", lambda *_: frozenset()),
    "one speaker not adjacent": (
        *(turns, "_speaks_another"),
        lambda speaker: np.ones(max(len(speaker) - 1, 0), np.bool_),
    ),
    "function words a fifth": (bm25, "MINOR_SHARE", 1.0),
    "names spelled out": (ranking, "spelled_names", lambda _: []),
    "words to the power 1.35": (scoring, "_WORDS_EXPONENT", 1.0),
    "length at most eight means": (bm25, "_MAX_RELATIVE_LENGTH", 1e9),
    "equals by priority": (search, "order_equals", lambda _, hits: list(hits)),
}
"""What else is put in the place of a rule: the module or class, the name, and the value."""


@contextmanager
def switch_off(rule: str) -> Iterator[None]:
    """Rank without `rule`, a name in `WITHOUT` or `REPLACED`."""
    with ExitStack() as stack:
        if rule in WITHOUT:
            weights = evolve(DEFAULT_WEIGHTS, **WITHOUT[rule])
            stack.enter_context(patch.dict(ranking.rank.__kwdefaults__, weights=weights))
        else:
            stack.enter_context(patch.object(*REPLACED[rule]))
        yield


def find_figures(labelled: OpenSet) -> list[float]:
    """Return the figure of each question: hit@1 of a person, else nDCG@10, in percent."""
    column = -1 if labelled.month is None else 0
    return [labelled.measure(asked)[column] for asked in labelled.asked]


def list_differences(labelled: OpenSet) -> Iterator[tuple[str, str]]:
    """Yield the figure of the default, and the difference without each rule."""
    default = find_figures(labelled)
    yield "default", f"{mean(default):.1f}"
    for rule in (*WITHOUT, *REPLACED):
        with switch_off(rule):
            change = [b - a for a, b in zip(default, find_figures(labelled), strict=True)]
        low, high = interval(change)
        yield rule, f"{mean(change):+.1f}{'*' if low > 0 or high < 0 else ' '}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--model", default=BUNDLED, metavar="NAME", help='"english", or a path')
    parser.add_argument("--most", type=int, metavar="NUMBER", help="questions of a set")
    arguments = parser.parse_args()
    table: dict[str, list[str]] = {"": [], "questions": []}
    for folder in find_folders(arguments.folders):
        with open_set(folder, open_model(arguments.model), arguments.most) as labelled:
            table[""].append(labelled.name)
            table["questions"].append(str(len(labelled.asked)))
            for rule, cell in list_differences(labelled):
                table.setdefault(rule, []).append(cell)
    print(f"{describe_environment()}; ranking {digest_ranking()}")
    for rule, cells in table.items():
        print(f"{rule:28}" + "".join(f"{cell:>10}" for cell in cells))


if __name__ == "__main__":
    main()
