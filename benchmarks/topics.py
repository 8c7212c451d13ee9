"""How well the topic summaries of the dreamer agree with known topics, beside two baselines.

    python -m benchmarks.topics [--cycles 200] [--only NAME] [--show 10] FOLDER

FOLDER holds labelled sets, see `benchmarks.topic_corpora`. Each corpus is stored in a scope of its
own, and then all of them in a single one; the clock goes on by 3.6 hours after each cycle. Each
summary has a topic, that of most of its sources. *Purity* is the share of sources that are of the
topic of their summary. *Coverage* is the share of memories, of topics with at least three, that
have a summary; *topics* is the share of those topics that a summary has. The baselines are random
groups of the same sizes, and the connected components of as many links to nearest neighbors, with
three to forty memories. `--show` prints some summaries to look at.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from random import Random
from time import perf_counter

import networkx
from attrs import frozen

from benchmarks.dreaming import Clock, corpora_of, dream, link_nearest, links_of
from benchmarks.environment import describe_environment
from benchmarks.topic_corpora import TopicCorpus
from benchmarks.vector_cache import open_model
from infinite_memory import Memory, MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Status
from infinite_memory.features.background.dreamer.topics.clustering import (
    FEWEST_MEMBERS,
    MOST_MEMBERS,
)
from infinite_memory.features.background.dreamer.topics.material import level_of
from infinite_memory.storage.inmemory import InMemoryStorage

_MAX_SHOWN_CHARS = 400

Group = frozenset[str]


@frozen(kw_only=True)
class Agreement:
    """How groups agree with topics: three shares, in [0, 1]."""

    purity: float
    coverage: float
    topics: float

    def __str__(self) -> str:
        return f"{100 * self.purity:.0f} | {100 * self.coverage:.0f} | {100 * self.topics:.0f}"


def topics_of(storage: InMemoryStorage) -> list[Memory]:
    """Return the current topic summaries."""
    criteria = Criteria(kinds=frozenset({Kind.SUMMARY}), statuses=frozenset({Status.CURRENT}))
    return [memory for memory in storage.find(criteria, limit=10_000).memories if memory.is_dreamed]


def compare(corpus: TopicCorpus, groups: Collection[Group]) -> Agreement:
    """Compare groups of memories with the topics."""
    sizes = Counter(corpus.topics.values())
    large = {topic for topic, size in sizes.items() if size >= FEWEST_MEMBERS}
    counts = [Counter(corpus.topics[member] for member in group) for group in groups]
    grouped = {member for group in groups for member in group if corpus.topics[member] in large}
    heads = [count.most_common(1)[0] for count in counts]
    return Agreement(
        purity=sum(number for _, number in heads) / max(1, sum(map(len, groups))),
        coverage=len(grouped) / max(1, sum(sizes[topic] for topic in large)),
        topics=len({topic for topic, _ in heads} & large) / max(1, len(large)),
    )


def draw_groups(corpus: TopicCorpus, sizes: Sequence[int]) -> list[Group]:
    """Return random groups of these sizes."""
    random, ids = Random(0), list(corpus.topics)
    return [frozenset(random.sample(ids, size)) for size in sizes]


def join_nearest(store: MemoryStore, corpus: TopicCorpus, links: int) -> list[Group]:
    """Return the connected components of `links` links between nearest neighbors."""
    graph = networkx.Graph()
    graph.add_edges_from(tuple(ends) for ends in link_nearest(store, corpus, links))
    components = map(frozenset, networkx.connected_components(graph))
    return [group for group in components if FEWEST_MEMBERS <= len(group) <= MOST_MEMBERS]


def measure_corpus(corpus: TopicCorpus, model: Embedder, cycles: int, shown: int) -> Iterator[str]:
    """Yield the row of the table for a corpus, and some summaries."""
    storage, clock = InMemoryStorage(), Clock()
    with MemoryStore.open("memory://", storage=storage, embedder=model, clock=clock) as store:
        store.remember_many(dict(memory) for memory in corpus.memories)
        start = perf_counter()
        dream(store, clock, cycles)
        seconds = perf_counter() - start
        topics = topics_of(storage)
        groups = [frozenset(topic.sources) for topic in topics if level_of(topic) == 1]
        rivals = (
            draw_groups(corpus, [len(group) for group in groups]),
            join_nearest(store, corpus, len(links_of(storage, corpus))),
        )
        row = " | ".join(str(compare(corpus, found)) for found in (groups, *rivals))
        higher = sum(level_of(topic) > 1 for topic in topics)
        name, memories = corpus.name, len(corpus.topics)
        yield f"| {name} | {memories} | {len(groups)} | {higher} | {row} | {seconds:.0f} s |"
        for topic in Random(0).sample(topics, min(shown, len(topics))):
            yield f"\n{level_of(topic)}, {len(topic.sources)} sources: **{topic.title}**\n"
            yield topic.text[:_MAX_SHOWN_CHARS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--only", default="", metavar="NAME", help="corpora with this in the name")
    parser.add_argument("--show", type=int, default=0, help="summaries to print of each corpus")
    arguments = parser.parse_args()
    model = open_model()
    print(f"{describe_environment()}, {arguments.cycles} cycles; shares in per cent\n")
    columns = "purity | coverage | topics"
    print(
        f"| corpus | memories | summaries | higher | {columns} | random {columns} | components"
        f" {columns} | time |"
    )
    print(f"|{'---|' * 14}")
    for corpus in corpora_of(arguments.folder):
        if arguments.only in corpus.name:
            for row in measure_corpus(corpus, model, arguments.cycles, arguments.show):
                print(row, flush=True)


if __name__ == "__main__":
    main()
