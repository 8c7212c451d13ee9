"""Forgetting many memories: what the preview shows is forgotten, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from attrs import evolve

from infinite_memory import Conflict, InvalidInput, MemoryStore, NotFound, Status, UnknownScope
from infinite_memory.engine.writes import bulk_forget

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    store.scopes.create("apollo")
    store.scopes.create("lander", parent="apollo")
    for day, scope in enumerate(["lander", "lander", "apollo", "Global", "lander"]):
        store.remember(
            f"The draft of day {day}",
            id=f"{scope}-{day}",
            scope=scope,
            tags=["draft", f"day-{day % 2}"],
            happened_at=NOON + timedelta(days=day),
        )
    return store


def current(store: MemoryStore) -> set[str]:
    return {memory.id for memory in store.browse(scope="ALL", limit=1000).memories}


ALL_IDS = {"lander-0", "lander-1", "apollo-2", "Global-3", "lander-4"}


@pytest.mark.parametrize(
    ("choice", "ids"),
    [
        ({"scope": "lander"}, {"lander-0", "lander-1", "lander-4"}),
        ({"scope": "LANDER", "tags": ["day-0"]}, {"lander-0", "lander-4"}),
        ({"scope": ["lander", "apollo"]}, ALL_IDS - {"Global-3"}),
        ({"tags": ["draft"]}, {"Global-3"}),
        ({"tags": ["draft"], "scope": "ALL"}, ALL_IDS),
        ({"scope": "lander", "until": NOON + timedelta(days=1)}, {"lander-0"}),
        ({"scope": "lander", "when": "since 2026-03-02"}, {"lander-1", "lander-4"}),
        ({"scope": "lander", "query": "day 4", "limit": 1, "threshold": 0}, {"lander-4"}),
    ],
)
def test_what_the_preview_shows_is_forgotten_in_one_change(
    filled: MemoryStore, choice: dict[str, object], ids: set[str]
) -> None:
    entries = len(filled.journal.entries())
    preview = filled.bulk.preview_forget(**choice)  # type: ignore[arg-type]
    assert ({memory.id for memory in preview.memories}, preview.count) == (ids, len(ids))
    assert sum(preview.by_scope.values()) == len(ids)
    assert current(filled) == ALL_IDS, "a preview changes nothing"
    receipt = filled.bulk.forget(preview.token, **choice)  # type: ignore[arg-type]
    assert set(receipt.ids) == ids
    assert current(filled) == ALL_IDS - ids
    assert len(filled.journal.entries()) == entries + 1
    assert set(filled.undo().memories) == ids
    assert current(filled) == ALL_IDS
    assert filled.search("the draft of day 4", scope="ALL", limit=9).pending == 0


def test_a_preview_shows_ten_and_counts_all(store: MemoryStore) -> None:
    store.remember_many([{"text": f"Note {n}", "tags": ["x"], "id": f"n{n}"} for n in range(25)])
    preview = store.bulk.preview_forget(tags=["x"])
    assert [memory.id for memory in preview.memories] == [f"n{n}" for n in range(24, 14, -1)]
    assert (preview.count, dict(preview.by_scope)) == (25, {"Global": 25})


def test_a_changed_set_is_refused(filled: MemoryStore) -> None:
    token = filled.bulk.preview_forget(scope="lander").token
    changes = [
        lambda: filled.remember("One more", id="new", scope="lander"),
        lambda: filled.revise("lander-0", revision=1, text="The draft of the first day"),
        lambda: filled.forget("lander-1"),
    ]
    for change in changes:
        change()
        with pytest.raises(Conflict, match="does not confirm what matches now"):
            filled.bulk.forget(token, scope="lander")
        before, token = token, filled.bulk.preview_forget(scope="lander").token
        assert token != before
    assert set(filled.bulk.forget(token, scope="lander").ids) == {"lander-0", "lander-4", "new"}


def test_a_token_confirms_no_other_choice(filled: MemoryStore) -> None:
    token = filled.bulk.preview_forget(tags=["draft"]).token
    with pytest.raises(Conflict):
        filled.bulk.forget(token, scope="lander")
    with pytest.raises(Conflict):
        filled.bulk.forget("000000000000", tags=["draft"])
    assert current(filled) == ALL_IDS


def test_a_change_at_the_last_moment_is_refused(
    filled: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = filled.bulk.preview_forget(scope="lander").token
    puts = bulk_forget.put_changed

    def change_first(*arguments: Any, **changes: Any) -> object:
        filled.revise("lander-0", revision=1, text="The draft of the first day")
        return puts(*arguments, **changes)

    monkeypatch.setattr(bulk_forget, "put_changed", change_first)
    with pytest.raises(Conflict):
        filled.bulk.forget(token, scope="lander")
    assert current(filled) == ALL_IDS


def test_superseded_and_archived_memories_are_chosen_and_forgotten_ones_are_not(
    store: MemoryStore,
) -> None:
    store.remember("Ann lives in Oslo", id="old", key="ann.city", tags=["ann"], happened_at=NOON)
    store.remember("Ann lives in Rome", id="new", key="ann.city", tags=["ann"])
    store.remember("Ann was here", id="archived", tags=["ann"])
    store.revise("archived", revision=1, status="archived")
    store.remember("Ann left", id="gone", tags=["ann"])
    store.forget("gone")
    preview = store.bulk.preview_forget(tags=["ann"])
    statuses = {memory.id: memory.status for memory in preview.memories}
    assert statuses == {
        "old": Status.SUPERSEDED,
        "new": Status.CURRENT,
        "archived": Status.ARCHIVED,
    }
    store.bulk.forget(preview.token, tags=["ann"])
    with pytest.raises(NotFound):
        store.journal.history("ann.city")
    store.undo()
    assert store.get("old").status is Status.SUPERSEDED
    assert store.get("gone").status is Status.FORGOTTEN


def test_a_query_chooses_likely_answers_and_their_twins(store: MemoryStore) -> None:
    for moment in (NOON, NOON + timedelta(days=9)):
        store.remember("The harbour opens at nine", happened_at=moment)
    store.remember("Bread needs salt and patience")
    preview = store.bulk.preview_forget("when does the harbour open?", limit=1, threshold=0)
    assert [memory.text for memory in preview.memories] == ["The harbour opens at nine"] * 2
    none = store.bulk.preview_forget("quantum chromodynamics", threshold=1)
    assert none.count == 0
    assert store.bulk.forget(none.token, "quantum chromodynamics", threshold=1).ids == ()


def test_a_query_takes_no_assent_with_it() -> None:
    with MemoryStore.open("memory://") as store:
        store.remember("Marta's cat is called Kiki", id="cat")
        for text in ("Got it.", "Noted.", "Agreed."):
            store.remember(text)
        assert [memory.id for memory in store.bulk.preview_forget("cat").memories] == ["cat"]


def test_where_nothing_matches_other_scopes_are_counted(filled: MemoryStore) -> None:
    filled.scopes.create("secret", sensitivity="private")
    filled.remember("A secret draft", scope="secret", tags=["draft"])
    filled.forget("Global-3")
    preview = filled.bulk.preview_forget(tags=["draft"])
    assert preview.count == 0
    assert preview.elsewhere == {"apollo": 1, "lander": 3}
    assert filled.bulk.preview_forget(scope="Global").elsewhere == {}


def test_a_scope_that_the_query_names_is_not_opened(filled: MemoryStore) -> None:
    preview = filled.bulk.preview_forget("the draft in apollo", threshold=0)
    assert [memory.id for memory in preview.memories] == ["Global-3"]


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({}, "nothing says what to forget"),
        ({"tags": [], "scope": None}, "nothing says what to forget"),
        ({"statuses": ["current"]}, "no condition 'statuses'"),
        ({"inherited": "mixed", "scope": "lander"}, "no condition 'inherited'"),
        ({"tags": ["draft"], "limit": 3}, "limit and threshold belong to a query"),
        ({"query": " "}, "query ' ' is empty"),
    ],
)
def test_a_choice_that_cannot_be_used_is_refused(
    filled: MemoryStore, choice: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        filled.bulk.preview_forget(**choice)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=sentence):
        filled.bulk.forget("0" * 12, **choice)  # type: ignore[arg-type]


def test_an_unknown_scope_is_refused(filled: MemoryStore) -> None:
    with pytest.raises(UnknownScope, match="nearest is 'lander'"):
        filled.bulk.preview_forget(scope="landr")


def test_too_many_memories_are_refused_with_the_moment_to_begin_with(
    filled: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_forget, "_MOST", 2)
    with pytest.raises(InvalidInput, match="more than 2 memories match") as refused:
        filled.bulk.preview_forget(scope="lander")
    start = datetime.fromisoformat(str(refused.value).rpartition("since ")[2])
    preview = filled.bulk.preview_forget(scope="lander", since=start)
    assert [memory.id for memory in preview.memories] == ["lander-4", "lander-1"]


def test_a_token_does_not_depend_on_the_order(open_store: Callable[..., MemoryStore]) -> None:
    with open_store() as store:
        store.remember_many([{"text": f"Note {n}", "tags": ["x"], "id": f"n{n}"} for n in range(4)])
        listed = store.bulk.preview_forget(tags=["x"])
        found = store.bulk.preview_forget("note", tags=["x"], threshold=0)
    assert (found.count, found.token) == (4, listed.token)
    assert evolve(found, memories=()) == evolve(listed, memories=())
