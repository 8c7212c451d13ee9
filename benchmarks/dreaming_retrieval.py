"""What a month of dreaming does to the answers of searches.

    python -m benchmarks.dreaming_retrieval [--days 30] [--every 30] [--overview] FOLDER...

Each FOLDER is a labelled set, or holds such sets. Its documents are stored, every question is put
to its group, the dreamer runs for so many days of a simulated clock, a cycle `--every` so many
minutes on one group after the other, and every question is put again, at the same moment as before.
Printed are, with 95 % intervals by a bootstrap over the questions, 2,000 draws:

- normal: recall@10 and nDCG@10 before and after and their difference, the questions whose ten hits
  or scores are others than before, and those whose first hit is a topic summary, which has to be 0;
- competing: the same after the month with every kind named, so that topic summaries are hits: what
  leaving them out is worth;
- overview, if asked for, since its highlights take most of the time: the share of the relevant
  memories that are among the ten hits, or that a topic summary among the hits was made from, before
  and after; the questions of which more and of which fewer are shown than before; and those whose
  first hit is a topic summary.

Vectors are kept in `--cache`, so that the model does not run again in a second run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
from attrs import define, frozen

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import NOW, draft_of, find_sets, questions, rows
from benchmarks.metrics import interval, measure
from benchmarks.vector_cache import DEFAULT_CACHE, StoredVectors, open_model
from infinite_memory import Hit, Hits, Kind, MemoryStore
from infinite_memory.features.background.upkeep.report import StepAction

_RECALL, _NDCG = 1, 3


@define
class Clock:
    """A clock that stands still until it is set."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@frozen(kw_only=True)
class Answer:
    """The answers to a question and the ids that answer it.

    `competing` is the normal search with every kind named, and `overview` is empty where no
    overview was asked for.
    """

    relevant: frozenset[str]
    normal: Hits
    competing: Hits
    overview: Sequence[Hit] = ()

    @property
    def ranking(self) -> list[tuple[str, float]]:
        """The ids and scores of the hits of the normal search."""
        return [(hit.memory.id, hit.score) for hit in self.normal]

    @property
    def shown(self) -> float:
        """The share of the relevant memories that the overview has, or has in a topic summary."""
        ids = {hit.memory.id for hit in self.overview}
        for hit in self.overview:
            if hit.memory.is_dreamed:
                ids.update(hit.memory.sources)
        return len(ids & self.relevant) / len(self.relevant)

    def metric(self, number: int, hits: Hits | None = None) -> float:
        """Return a metric of `hits`, or the normal search, by its number in `measure`."""
        shown = self.normal if hits is None else hits
        return measure([hit.memory.id for hit in shown], self.relevant)[number]


def ask_all(store: MemoryStore, folder: Path, *, overview: bool) -> list[Answer]:
    """Put every question of a set to its group."""
    answers = []
    for query, relevant in questions(folder):
        ask = partial(store.search, query["text"], scope=query["group"], limit=10)
        shown: Sequence[Hit] = ask(depth="overview") if overview else ()
        competing = ask(kinds=list(Kind))
        answers.append(Answer(relevant=relevant, normal=ask(), competing=competing, overview=shown))
    return answers


def dream(store: MemoryStore, clock: Clock, scopes: Sequence[str], every: timedelta) -> str:
    """Run cycles until the clock stands at `NOW`; return what they did, in words."""
    counts = dict.fromkeys(StepAction, 0)
    start, number = time.perf_counter(), 0
    while clock.now + every <= NOW:
        clock.now += every
        report = store.dream(seed=number, scope=scopes[number % len(scopes)])
        for step in report.steps:
            counts[step.action] += 1
        number += 1
    clock.now = NOW
    seconds = time.perf_counter() - start
    done = ", ".join(f"{action} {count:,}" for action, count in counts.items() if count)
    return f"{number:,} cycles in {seconds:.0f} s: {done or 'nothing'}"


def _percent(values: Sequence[float], *, signed: bool = False) -> str:
    low, high = (100 * end for end in interval(values))
    mean = 100 * float(np.mean(values))
    if signed:
        return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def report_set(before: Sequence[Answer], after: Sequence[Answer]) -> Iterator[str]:
    """Yield the lines of one set."""
    pairs = list(zip(before, after, strict=True))
    for name, number in (("recall@10", _RECALL), ("nDCG@10", _NDCG)):
        old = [answer.metric(number) for answer in before]
        new = [answer.metric(number) for answer in after]
        change = [second - first for first, second in zip(old, new, strict=True)]
        change_text = _percent(change, signed=True)
        yield f"  normal {name}: {_percent(old)} before, {_percent(new)} after, {change_text}"
    changed = sum(first.ranking != second.ranking for first, second in pairs)
    first_dreamed = sum(_begins_with_topic(answer.normal) for answer in after)
    yield f"  normal: {changed} of {len(pairs)} with other hits or scores"
    yield f"  normal: {first_dreamed} of {len(pairs)} with a topic summary first"
    competing = _percent([answer.metric(_NDCG, answer.competing) for answer in after])
    beaten = sum(_begins_with_topic(answer.competing) for answer in after)
    yield f"  competing nDCG@10: {competing}, {beaten} of {len(pairs)} with a topic summary first"
    if not any(answer.overview for answer in before):
        return
    shown = [_percent([answer.shown for answer in answers]) for answers in (before, after)]
    yield f"  overview: relevant memories shown: {shown[0]} before, {shown[1]} after"
    more = sum(second.shown > first.shown for first, second in pairs)
    fewer = sum(second.shown < first.shown for first, second in pairs)
    yield f"  overview: {more} of {len(pairs)} show more, {fewer} fewer"
    begun = sum(_begins_with_topic(answer.overview) for answer in after)
    yield f"  overview: {begun} of {len(pairs)} with a topic summary first"


def _begins_with_topic(hits: Sequence[Hit]) -> bool:
    return bool(hits) and hits[0].memory.is_dreamed


def measure_set(
    folder: Path, model: StoredVectors, *, days: int, every: timedelta, overview: bool
) -> None:
    """Store a set, ask, dream, ask again, and print what changed."""
    documents = list(rows(folder / "corpus.jsonl"))
    scopes = sorted({document["group"] for document in documents})
    clock = Clock(NOW - timedelta(days=days))
    with (
        tempfile.TemporaryDirectory() as scratch,
        MemoryStore.open(
            Path(scratch) / "home", embedder=model, counts_usage=False, clock=clock
        ) as store,
    ):
        store.remember_many(draft_of(document) for document in documents)
        clock.now = NOW
        before = ask_all(store, folder, overview=overview)
        clock.now = NOW - timedelta(days=days)
        print(f"{folder.name}: {len(before)} questions, {len(documents):,} memories", flush=True)
        print(f"  {dream(store, clock, scopes, every)}", flush=True)
        for line in report_set(before, ask_all(store, folder, overview=overview)):
            print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--every", type=int, default=30, metavar="MINUTES")
    parser.add_argument("--overview", action="store_true", help="also measure overviews")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, metavar="FOLDER")
    arguments = parser.parse_args()
    model = open_model(cache=arguments.cache)
    print(describe_environment())
    print("in percent, [95 % intervals by bootstrap over questions, 2,000 draws]")
    for folder in find_sets(arguments.folders):
        measure_set(
            folder,
            model,
            days=arguments.days,
            every=timedelta(minutes=arguments.every),
            overview=arguments.overview,
        )


if __name__ == "__main__":
    main()
