"""Which scopes a question opens: the table was written before the rule was tuned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infinite_memory import MemoryStore, Step
from infinite_memory.testing.embedders import HashingEmbedder

TABLE = Path(__file__).parent / "scope_mentions.txt"
SCOPES = (
    *("health", "home", "apollo", "work", "taxes", "garden", "home-lab", "music", "travel"),
    *("lawyer", "健康", "工作", "旅行", "Haus", "Reise", "Garten", "salud", "casa", "santé"),
    *("voyage", "Home Renovation", "Q3-report", "GitHub", "HR", "Alice", "Will", "May"),
)


def rows() -> Iterator[tuple[bool, str | None, str]]:
    """Yield whether the rule gets a question right, the scope that it means, and the question."""
    for line in TABLE.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            meant, question = (part.strip() for part in line.split(" | ", 1))
            scope = meant.removeprefix("!").strip()
            yield not meant.startswith("!"), None if scope == "-" else scope, question


ROWS = list(rows())


@pytest.fixture(scope="module")
def life() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        for name in SCOPES:
            store.scopes.create(name, keywords=["renovation"] if name == "Home Renovation" else [])
        store.scopes.create("diary", sensitivity="private")
        store.scopes.create("attic")
        store.scopes.update("attic", active=False)
        store.remember_many(
            [{"text": f"The {name} is on the list."} for name in SCOPES]
            + [{"text": f"Note {number} of an ordinary day."} for number in range(60)]
        )
        yield store


def test_the_table_is_as_large_as_it_is_said_to_be() -> None:
    meant = [scope for _, scope, _ in ROWS if scope is not None]
    assert len(ROWS) >= 130
    assert len(ROWS) * 0.4 <= len(meant) <= len(ROWS) * 0.6
    assert sum(right for right, _, _ in ROWS) / len(ROWS) >= 0.9
    # What is opened by mistake shows what was not asked for: it is the worse of the two.
    assert sum(not right and scope is None for right, scope, _ in ROWS) <= 4


@pytest.mark.parametrize(("right", "scope", "question"), ROWS)
def test_a_question_opens_the_scope_that_it_means_and_no_other(
    life: MemoryStore, right: bool, scope: str | None, question: str
) -> None:
    opened = life.search(question).opened
    assert (opened == (() if scope is None else (scope,))) is right, opened


def test_a_capital_opens_nothing_where_the_word_is_used_often_anyway(store: MemoryStore) -> None:
    store.scopes.create("Alice", keywords=["flat"])
    store.remember_many([{"text": f"Alice came by, visit {number}"} for number in range(5)])
    assert store.search("when is Alice coming?").opened == ("Alice",)
    store.remember("Alice came by once more")
    assert store.search("when is Alice coming?").opened == ()
    assert store.search("when is Alice coming?").unopened == ("Alice",)
    # Other forms need no help from how rare a word is, and another scope does not count.
    assert store.search("#Alice").opened == ("Alice",)
    store.scopes.create("Bob")
    store.remember_many([{"text": f"Bob was here {n}", "scope": "Bob"} for n in range(9)])
    assert store.search("when is Bob coming?").opened == ("Bob",)
    # A share of what is searched is rare again where a great deal is.
    store.remember_many([{"text": f"an ordinary day {number}"} for number in range(400)])
    assert store.search("when is Alice coming?").opened == ("Alice",)


def test_a_name_of_a_time_or_of_one_character_is_no_name_of_a_scope_by_itself(
    store: MemoryStore,
) -> None:
    for name in ("May", "2024", "x", "7"):
        store.scopes.create(name)
    for question in ("what happened in May?", "what about May then?", "what is in x?", "scope 7"):
        assert store.search(question).opened == ()
    for question, name in (
        ("#may", "May"),
        ("list the May scope", "May"),
        ("bills #x", "x"),
        ("bills #7", "7"),
        ("bills (#2024)", "2024"),
    ):
        assert store.search(question).opened == (name,)


def test_a_name_inside_a_longer_one_that_is_meant_opens_nothing(store: MemoryStore) -> None:
    for name in ("home", "home lab", "lab"):
        store.scopes.create(name)
    assert store.search("#home lab").opened == ("home lab",)
    assert store.search("what is in home lab?").opened == ("home lab",)
    assert store.search("what is in lab?").opened == ("lab",)


def test_what_a_scope_sees_is_searched_with_it_and_only_it_is_said_to_be_opened(
    store: MemoryStore,
) -> None:
    store.scopes.create("nasa")
    store.scopes.create("apollo", parent="nasa")
    hits = store.search("when is Apollo due?")
    assert (hits.scopes, hits.opened) == (("Global", "apollo", "nasa"), ("apollo",))
    assert store.search("when is Apollo due?", scope="nasa").opened == ()
    assert store.search("when is Apollo due?", scope="ALL").opened == ()
    assert store.search("what is in Global?").opened == ()


def test_a_scope_that_changes_is_named_as_it_is_now(store: MemoryStore) -> None:
    store.scopes.create("apollo")
    assert store.search("#apollo").opened == ("apollo",)
    store.scopes.update("apollo", keywords=["moonshot"])
    assert store.search("#moonshot").opened == ("apollo",)
    store.scopes.update("apollo", sensitivity="private")
    assert store.search("#moonshot").opened == ()
    assert store.search("#moonshot").unopened == ()


def test_why_not_looks_into_the_same_scopes_as_the_search(store: MemoryStore) -> None:
    store.remember("The deadline is in June", scope="apollo", id="june")
    opened = store.why_not("when is the Apollo deadline?", memory_id="june")
    assert opened.step is Step.FOUND
    shut = store.why_not("when is the apollo deadline?", memory_id="june")
    assert (shut.step, shut.unmet) == (Step.CONDITIONS, ("scope",))
