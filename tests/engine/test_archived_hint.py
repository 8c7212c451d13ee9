from __future__ import annotations

from collections.abc import Iterator

import pytest

from infinite_memory import MemoryStore


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://") as opened:
        opened.remember("The spare key of the boat is under the third plank")
        opened.remember("Ada's sister Bea works at the harbour office", id="bea")
        memory = opened.get("bea")
        opened.revise("bea", revision=memory.revision, status="archived")
        yield opened


def test_a_search_says_that_an_archived_memory_is_likely_to_answer(store: MemoryStore) -> None:
    hits = store.search("Where does Ada's sister Bea work?")
    assert not hits.likely
    assert hits.archived_best >= 0.15
    assert hits.to_dict()["archived_best"] == hits.archived_best
    assert "bea" in [
        hit.memory.id for hit in store.search("Where does Bea work?", depth="exhaustive")
    ]


def test_a_search_that_answers_says_nothing_of_the_archive(store: MemoryStore) -> None:
    assert store.search("Where is the spare key of the boat?").archived_best == 0


def test_an_archive_without_an_answer_is_not_named(store: MemoryStore) -> None:
    assert store.search("How tall is the Eiffel tower?").archived_best == 0


def test_a_search_that_names_its_statuses_says_nothing_of_the_archive(store: MemoryStore) -> None:
    for statuses in (["archived"], ["current", "archived"], []):
        hits = store.search("Where does Ada's sister Bea work?", statuses=statuses)
        assert hits.archived_best == 0
