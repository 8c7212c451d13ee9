"""What the dreamer adds changes no answer of a normal search, and is there for whoever looks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infinite_memory import Hits, LinkType, MemoryStore
from tests.harness.dreaming import TOPICS, open_store, tell_topics


@pytest.fixture
def told() -> Iterator[MemoryStore]:
    with open_store() as (_storage, store):
        tell_topics(store, number=6)
        yield store


def dream(store: MemoryStore) -> None:
    for seed in range(10):
        store.dream(seed)
    assert any(memory.is_dreamed for memory in store.browse(kinds=["summary"]).memories)


def ask_all(store: MemoryStore) -> list[Hits]:
    return [store.search(words, limit=20, explain=True) for words in TOPICS.values()]


def test_every_normal_answer_is_as_before(told: MemoryStore) -> None:
    before = ask_all(told)
    assert all(hits.items for hits in before)
    dream(told)
    assert ask_all(told) == before


def test_an_overview_begins_with_a_topic_summary(told: MemoryStore) -> None:
    dream(told)
    overviews = [told.search(words, depth="overview") for words in TOPICS.values()]
    assert any(hits[0].memory.is_dreamed and hits[0].covers for hits in overviews)


def test_an_exhaustive_search_reaches_what_a_topic_summary_joins(told: MemoryStore) -> None:
    dream(told)
    topic = next(memory for memory in told.browse(kinds=["summary"]).memories if memory.sources)
    source = topic.sources[0]
    told.graph.link(source, told.remember("Pflaumenmus", id="plum").id, type="context", weight=0.9)
    question = told.get(source).text
    hits = told.search(question, depth="exhaustive", threshold=0.1, limit=200)
    plum = next(hit for hit in hits if hit.memory.id == "plum")
    assert plum.reached is not None
    assert plum.reached.links[-1] is LinkType.CONTEXT
    assert "plum" not in [hit.memory.id for hit in told.search(question, threshold=0.1)]
