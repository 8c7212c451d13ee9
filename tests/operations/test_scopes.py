"""Scopes: created, changed, removed, never by accident."""

from __future__ import annotations

import pytest

from infinite_memory import Conflict, InvalidInput, MemoryStore, Scope, UnknownScope


def test_global_always_exists(store: MemoryStore) -> None:
    assert [scope.name for scope in store.scopes] == ["Global"]
    assert store.scopes["global"].name == "Global"


def test_a_scope_is_created_once(store: MemoryStore) -> None:
    scope = store.scopes.create("apollo", description="the rocket", keywords=["rocket"])
    assert scope == Scope(name="apollo", description="the rocket", keywords=("rocket",))
    again = store.scopes.create("apollo", description="the rocket", keywords=["rocket"])
    assert again == scope
    with pytest.raises(Conflict, match="'apollo' exists and is different"):
        store.scopes.create("Apollo", description="the moon")
    assert store.scopes["APOLLO"] == scope


def test_a_parent_must_exist_and_must_not_be_a_child(store: MemoryStore) -> None:
    with pytest.raises(UnknownScope, match="no scope 'nasa'"):
        store.scopes.create("apollo", parent="nasa")
    store.scopes.create("nasa")
    store.scopes.create("apollo", parent="NASA")
    assert store.scopes["apollo"].parent == "nasa"
    with pytest.raises(InvalidInput, match="cannot be the parent"):
        store.scopes.update("nasa", parent="apollo")
    with pytest.raises(InvalidInput, match="cannot be the parent"):
        store.scopes.update("nasa", parent="nasa")


def test_an_update_changes_what_is_given_and_leaves_the_rest(store: MemoryStore) -> None:
    store.scopes.create("nasa")
    store.scopes.create("apollo", description="the rocket", parent="nasa")
    assert store.scopes.update("apollo", keywords=["moon"]) == Scope(
        name="apollo", description="the rocket", parent="nasa", keywords=("moon",)
    )
    changed = store.scopes.update(
        "apollo", description="", parent="", active=False, sensitivity="private"
    )
    assert (changed.description, changed.parent, changed.active) == ("", None, False)
    assert changed.sensitivity == "private"
    with pytest.raises(UnknownScope):
        store.scopes.update("zeus", description="x")


def test_global_stays_what_it_is(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="always active"):
        store.scopes.update("Global", active=False)
    with pytest.raises(InvalidInput, match="always exists"):
        store.scopes.delete("global")


def test_only_an_empty_scope_can_be_deleted(store: MemoryStore) -> None:
    store.scopes.create("nasa")
    store.scopes.create("apollo", parent="nasa")
    store.remember("x", id="x", scope="apollo")
    with pytest.raises(Conflict, match="is the parent of apollo"):
        store.scopes.delete("nasa")
    with pytest.raises(Conflict, match="still holds memories"):
        store.scopes.delete("apollo")
    store.forget("x", hard=True)
    store.scopes.delete("apollo")
    store.scopes.delete("nasa")
    assert [scope.name for scope in store.scopes] == ["Global"]
    with pytest.raises(UnknownScope):
        store.scopes.delete("nasa")


def test_a_name_that_cannot_be_a_scope_is_refused(store: MemoryStore) -> None:
    for name in ("", "ALL", "x" * 129, "a\0b"):
        with pytest.raises(InvalidInput):
            store.scopes.create(name)
    with pytest.raises(InvalidInput, match="sensitivity"):
        store.scopes.create("a", sensitivity="secret")
