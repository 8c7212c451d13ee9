"""Undo and scopes: what was made is removed, what was removed comes back, never less sensitive."""

from __future__ import annotations

import pytest

from infinite_memory import Conflict, MemoryStore, NotFound, Sensitivity, Status


def names(store: MemoryStore) -> list[str]:
    return [scope.name for scope in store.scopes]


def undo_everything(store: MemoryStore) -> int:
    steps = 0
    while True:
        try:
            store.undo()
        except NotFound:
            return steps
        steps += 1


def test_a_scope_that_was_used_is_undone_after_all_that_was_in_it(store: MemoryStore) -> None:
    store.scopes.create("zeus", description="father")
    store.remember("one", id="a", scope="zeus")
    store.revise("a", revision=1, text="two")
    assert undo_everything(store) == 3
    assert names(store) == ["Global"]
    assert store.get("a").status is Status.FORGOTTEN
    assert store.verify().findings == ()


def test_a_scope_that_came_with_a_memory_goes_with_it(store: MemoryStore) -> None:
    store.remember("one", id="a", scope="apollo")
    undone = store.undo()
    assert undone.scopes == ("apollo",)
    assert names(store) == ["Global"]
    store.undo(undone.entry)
    assert names(store) == ["Global", "apollo"]
    assert [hit.memory.id for hit in store.search("one", scope="apollo")] == ["a"]


def test_a_scope_that_came_with_a_memory_stays_while_another_is_in_it(store: MemoryStore) -> None:
    store.remember("one", id="a", scope="apollo")
    store.remember("another", id="b", scope="apollo")
    assert store.undo(1).scopes == ()
    assert names(store) == ["Global", "apollo"]
    assert store.get("a").status is Status.FORGOTTEN


def test_a_scope_that_came_with_a_memory_stays_once_it_was_changed(store: MemoryStore) -> None:
    store.remember("one", id="a", scope="apollo")
    store.scopes.update("apollo", sensitivity="private")
    assert store.undo(1).scopes == ()
    assert store.scopes["apollo"].sensitivity is Sensitivity.PRIVATE


def test_a_batch_into_two_new_scopes_is_undone_with_both(store: MemoryStore) -> None:
    store.remember_many([{"text": "one", "scope": "x"}, {"text": "two", "scope": "y"}])
    assert sorted(store.undo().scopes) == ["x", "y"]
    assert names(store) == ["Global"]


def test_a_parent_cannot_be_undone_before_its_child(store: MemoryStore) -> None:
    store.scopes.create("zeus")
    store.scopes.create("ares", parent="zeus")
    with pytest.raises(Conflict, match="'zeus' is the parent of ares"):
        store.undo(1)
    assert undo_everything(store) == 2
    assert names(store) == ["Global"]


def test_a_memory_that_comes_back_brings_its_scope_and_its_parents(store: MemoryStore) -> None:
    store.scopes.create("zeus", description="father")
    store.scopes.create("ares", parent="zeus", sensitivity="private", keywords=["war"])
    store.remember("one", id="a", scope="ares")
    before = list(store.scopes)
    undo_everything(store)
    assert names(store) == ["Global"]
    store.revise("a", revision=2, status="current")
    assert list(store.scopes) == before
    store.undo()
    assert names(store) == ["Global"]
    assert store.get("a").status is Status.FORGOTTEN
    # The entry that undid the memory, undone in turn.
    store.undo(4)
    assert list(store.scopes) == before
    assert store.get("a").status is Status.CURRENT


@pytest.mark.parametrize("way", ["revise", "revise into it", "redo"])
def test_a_memory_never_comes_back_into_a_less_sensitive_scope(
    store: MemoryStore, way: str
) -> None:
    store.scopes.create("health", sensitivity="private")
    store.remember("the blood test", id="a", scope="health")
    redo = store.undo().entry
    store.undo()
    store.remember("a walk", id="b", scope="Health")

    def bring_back() -> None:
        if way == "redo":
            store.undo(redo)
        else:
            scope = {"scope": "health"} if way == "revise into it" else {}
            store.revise("a", revision=2, status="current", **scope)

    with pytest.raises(Conflict, match="was private until entry 4 removed it"):
        bring_back()
    assert store.get("a").status is Status.FORGOTTEN
    store.scopes.update("health", sensitivity="private")
    bring_back()
    assert (store.get("a").status, store.get("a").scope) == (Status.CURRENT, "Health")
    store.undo(store.journal.entries(limit=1)[0].number)
    store.scopes.update("health", sensitivity="normal")
    # That was said of this very scope.
    store.revise("a", revision=4, status="current")


def test_a_memory_comes_back_into_the_scope_that_it_was_in_not_a_later_one(
    store: MemoryStore,
) -> None:
    store.scopes.create("health", sensitivity="private")
    store.remember("the blood test", id="a", scope="health")
    store.undo()
    store.undo()
    store.remember("a walk", id="b", scope="health")
    store.undo()
    assert names(store) == ["Global"]
    store.revise("a", revision=2, status="current")
    assert store.scopes["health"].sensitivity is Sensitivity.PRIVATE


def test_a_later_private_scope_of_the_same_name_does_not_stand_in_the_way(
    store: MemoryStore,
) -> None:
    store.remember("one", id="a", scope="team")
    store.revise("a", revision=1, scope="zeus")
    store.scopes.delete("team")
    store.scopes.create("team", sensitivity="private")
    assert undo_everything(store) == 4
    assert names(store) == ["Global"]


def test_a_forgotten_memory_of_a_removed_scope_is_listed_by_nobody(store: MemoryStore) -> None:
    store.scopes.create("health", sensitivity="private")
    store.remember("the blood test", id="a", scope="health")
    store.undo()
    store.undo()
    for statuses in (["forgotten"], []):
        page = store.browse(scope="ALL", statuses=statuses)
        assert [memory.id for memory in page.memories] == []


def test_a_change_of_a_parent_is_not_undone_into_a_circle(store: MemoryStore) -> None:
    store.scopes.create("a")
    store.scopes.create("b", parent="a")
    store.scopes.update("b", parent="")
    store.scopes.update("a", parent="b")
    with pytest.raises(Conflict, match="'a' is now below the scope 'b'"):
        store.undo(3)
    assert store.scopes["b"].parent is None


def test_a_deleted_scope_comes_back_with_its_parent(store: MemoryStore) -> None:
    store.scopes.create("zeus")
    store.scopes.create("ares", parent="zeus")
    store.scopes.delete("ares")
    store.scopes.delete("zeus")
    assert store.undo(3).scopes == ("zeus", "ares")
    assert store.scopes["ares"].parent == "zeus"
    with pytest.raises(
        Conflict, match="entry 4 cannot be undone: the scope 'zeus' was created again"
    ):
        store.undo(4)


def test_a_memory_goes_back_into_a_scope_that_was_deleted_meanwhile(store: MemoryStore) -> None:
    store.scopes.create("zeus", description="father")
    store.remember("one", id="a", scope="zeus")
    store.revise("a", revision=1, scope="hera")
    store.scopes.delete("zeus")
    assert store.undo(3).scopes == ("zeus", "hera")
    assert store.get("a").scope == "zeus"
    assert store.scopes["zeus"].description == "father"
