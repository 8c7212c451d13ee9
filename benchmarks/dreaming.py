"""How well the dreamer links memories of one topic, beside two baselines.

    python -m benchmarks.dreaming [--cycles 200] [--only NAME] FOLDER

FOLDER holds labelled sets, see `benchmarks.topic_corpora`. Each corpus is stored in a scope of its
own, and then all of them in a single one; the clock goes on by 3.6 hours after each cycle, so that
200 cycles last 30 days. A link is right if both memories are of one topic. *Precision* is the share
of links that are right, *recall* the share of the pairs of one topic that are linked. The baselines
make as many links: at random, and between each memory and its nearest neighbors by meaning,
nearest first.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from time import perf_counter

from attrs import define, frozen

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import NOW
from benchmarks.topic_corpora import (
    TopicCorpus,
    hide_sessions,
    join_corpora,
    load_topic_corpora,
)
from benchmarks.vector_cache import open_model
from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import LinkType
from infinite_memory.features.background.dreamer.view import DREAMER
from infinite_memory.storage.inmemory import InMemoryStorage

_SCOPE = "Global"
_BETWEEN_CYCLES = timedelta(hours=3.6)
_NEAREST = 20

Ends = frozenset[str]


@define
class Clock:
    """A clock that stands still until it is moved."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@frozen(kw_only=True)
class Measured:
    """Links, and how many of them are right; `pairs` are those that could be linked."""

    links: int
    right: int
    pairs: int

    def __str__(self) -> str:
        precision = 100 * self.right / self.links if self.links else float("nan")
        return f"{precision:.1f} | {100 * self.right / self.pairs:.1f}"


def dream(store: MemoryStore, clock: Clock, cycles: int) -> None:
    """Run cycles of the dreamer.

    Raises:
        RuntimeError: a cycle says that it could not do all of its work.
    """
    for number in range(cycles):
        report = store.dream(seed=number, scope=_SCOPE)
        if report.failure is not None:
            raise RuntimeError(f"cycle {number}: {report.failure}")
        clock.now += _BETWEEN_CYCLES


def links_of(storage: InMemoryStorage, corpus: TopicCorpus) -> set[Ends]:
    """Return the pairs that the dreamer has linked."""
    return {
        frozenset({link.source, link.target})
        for link in storage.links(list(corpus.topics))
        if link.made_by == DREAMER and link.type is LinkType.SEMANTIC
    }


def link_at_random(corpus: TopicCorpus, number: int) -> set[Ends]:
    """Return `number` random pairs."""
    random, ids = Random(0), list(corpus.topics)
    links: set[Ends] = set()
    while len(links) < number:
        links.add(frozenset(random.sample(ids, 2)))
    return links


def link_nearest(store: MemoryStore, corpus: TopicCorpus, number: int) -> set[Ends]:
    """Return `number` pairs of a memory and its nearest by meaning: first ranks first."""
    index = store._services.models.answering().index
    criteria = Criteria(scopes=frozenset({_SCOPE}))
    ranked = sorted(
        (rank, -cosine, memory_id, other)
        for memory_id in corpus.topics
        for rank, (other, cosine) in enumerate(index.nearest(memory_id, criteria, limit=_NEAREST))
        if other in corpus.topics  # no topic summary
    )
    links: dict[Ends, None] = {}
    for _, _, memory_id, other in ranked:
        if len(links) < number:
            links.setdefault(frozenset({memory_id, other}))
    return set(links)


def measure(corpus: TopicCorpus, links: Collection[Ends], part: str | None = None) -> Measured:
    """Compare links with the topics; of a `part`, only links with a memory of that part count."""
    counted = [
        ends for ends in links if part is None or part in {corpus.parts[end] for end in ends}
    ]
    return Measured(
        links=len(counted),
        right=sum(corpus.is_right(*ends) for ends in counted),
        pairs=corpus.pairs if part is None else corpus.pairs_of(part),
    )


def measure_corpus(corpus: TopicCorpus, model: Embedder, cycles: int) -> Iterator[str]:
    """Yield the rows of the table for a corpus: all of it, and its parts if there are several."""
    storage, clock = InMemoryStorage(), Clock()
    with MemoryStore.open("memory://", storage=storage, embedder=model, clock=clock) as store:
        store.remember_many(dict(memory) for memory in corpus.memories)
        start = perf_counter()
        dream(store, clock, cycles)
        seconds = perf_counter() - start
        links = links_of(storage, corpus)
        baselines = link_at_random(corpus, len(links)), link_nearest(store, corpus, len(links))
    parts: list[str | None] = [None]
    if len(names := dict.fromkeys(corpus.parts.values())) > 1:
        parts += names
    for part in parts:
        row = [measure(corpus, found, part) for found in (links, *baselines)]
        name = corpus.name if part is None else f"of these, {part}"
        memories = len(corpus.topics) if part is None else list(corpus.parts.values()).count(part)
        spent = f"{seconds:.0f} s" if part is None else ""
        cells = f"{row[0].pairs} | {row[0].links} | {' | '.join(map(str, row))}"
        yield f"| {name} | {memories} | {cells} | {spent} |"


def corpora_of(folder: Path) -> Sequence[TopicCorpus]:
    """Return every corpus, all in one, and the conversations with their sessions hidden."""
    corpora = load_topic_corpora(folder)
    conversations = [c for c in corpora if any("conversation_id" in m for m in c.memories)]
    hidden = [corpus for conversation in conversations for corpus in hide_sessions(conversation)]
    return [*corpora, join_corpora(corpora), *hidden]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--only", default="", metavar="NAME", help="corpora with this in the name")
    arguments = parser.parse_args()
    model = open_model()
    print(f"{describe_environment()}, {arguments.cycles} cycles\n")
    print("| corpus | memories | pairs | links | P | R | random P | R | nearest P | R | time |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for corpus in corpora_of(arguments.folder):
        if arguments.only in corpus.name:
            for row in measure_corpus(corpus, model, arguments.cycles):
                print(row, flush=True)


if __name__ == "__main__":
    main()
