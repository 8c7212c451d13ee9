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
    assert [(hit.memory.id, hit.memory.status) for hit in hits.archived] == [("bea", "archived")]
    assert hits.archived[0].score >= 0.15
    assert [hit["id"] for hit in hits.to_dict()["archived"]] == ["bea"]
    assert "bea" in [
        hit.memory.id for hit in store.search("Where does Bea work?", depth="exhaustive")
    ]


def test_a_search_that_answers_says_nothing_of_the_archive(store: MemoryStore) -> None:
    assert store.search("Where is the spare key of the boat?").archived == ()


def test_an_archive_without_an_answer_is_not_named(store: MemoryStore) -> None:
    assert store.search("How tall is the Eiffel tower?").archived == ()


def test_a_search_that_names_its_statuses_says_nothing_of_the_archive(store: MemoryStore) -> None:
    for statuses in (["archived"], ["current", "archived"], []):
        hits = store.search("Where does Ada's sister Bea work?", statuses=statuses)
        assert hits.archived == ()


def test_behind_a_summary_the_archived_memory_that_it_was_made_from_is_quoted() -> None:
    with MemoryStore.open("memory://") as store:
        store.remember("The wedding of Ada is on the 3rd of May in Lund", id="wedding")
        store.revise("wedding", revision=1, status="archived")
        store.remember("Excerpts: Ada plans her wedding. The food is vegan.", kind="summary")
        hits = store.search("When is the wedding of Ada?")
        assert hits.likely
        assert [hit.memory.id for hit in hits.archived] == ["wedding"]
