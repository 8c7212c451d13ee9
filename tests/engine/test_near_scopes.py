"""A scope that does not exist, on writing: created, or refused with the nearest one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, InvalidInput, MemoryStore, ScopeNotCreated, UnknownScope
from infinite_memory.testing.embedders import HashingEmbedder
from tests.conftest import OpenStore


def write(store: MemoryStore, way: str, scope: str, create: bool | None) -> str:
    """Store or move a memory into the scope, and return its scope."""
    if way == "remember":
        return store.remember("a note", scope=scope, create_scope=create).scope
    memory = store.get(store.remember("a note to move", similar=False).id)
    return store.revise(memory.id, revision=memory.revision, scope=scope, create_scope=create).scope


def names(store: MemoryStore) -> list[str]:
    return [scope.name for scope in store.scopes]


WAYS = pytest.mark.parametrize("way", ["remember", "revise"])


@WAYS
def test_a_name_near_a_scope_is_refused_and_nothing_is_stored(store: MemoryStore, way: str) -> None:
    store.remember("first", scope="Apollo", create_scope=False)
    with pytest.raises(ScopeNotCreated) as caught:
        store.remember("a note", scope="apolo", create_scope=False)
    assert (caught.value.name, caught.value.nearest) == ("apolo", "Apollo")
    assert str(caught.value) == (
        "there is no scope 'apolo'; the nearest is 'Apollo'. Nothing was stored: repeat the call"
        " with scope='Apollo', or with create_scope=True to create 'apolo'"
    )
    assert store.stats().memories == 1
    with pytest.raises(ScopeNotCreated):
        write(store, way, "Appollo", False)
    assert names(store) == ["Global", "Apollo"]
    assert write(store, way, "apollo", False) == "Apollo"


@WAYS
def test_a_near_name_is_created_on_purpose_or_by_a_program(store: MemoryStore, way: str) -> None:
    store.remember("first", scope="apollo")
    assert write(store, way, "apolo", True) == "apolo"
    assert write(store, way, "appollo", None) == "appollo"
    assert store.remember_many([{"text": "a", "scope": "appolo"}])[0].scope == "appolo"


@WAYS
def test_a_name_near_nothing_is_created(store: MemoryStore, way: str) -> None:
    for scope in ("team-a", "team-b", "sprint 12", "sprint 13", "home", "hone", "backend"):
        assert write(store, way, scope, False) == scope


@WAYS
def test_strict_scopes_are_created_only_on_purpose(open_store: OpenStore, way: str) -> None:
    store = open_store(strict_scopes=True)
    with pytest.raises(UnknownScope, match="create it first"):
        write(store, way, "apollo", None)
    with pytest.raises(ScopeNotCreated, match="create_scope=True to create 'apollo'"):
        write(store, way, "apollo", False)
    assert names(store) == ["Global"]
    assert write(store, way, "apollo", True) == "apollo"


def test_a_private_scope_is_not_named_in_the_refusal(open_store: OpenStore) -> None:
    store = open_store()
    store.scopes.create("therapy", sensitivity="private")
    assert store.remember("a note", scope="terapy", create_scope=False).scope == "terapy"
    store.scopes.create("Diary-notes", sensitivity="private")
    store.scopes.create("diary-nodes")
    with pytest.raises(ScopeNotCreated) as caught:
        store.remember("a note", scope="diary-nodez", create_scope=False)
    assert "Diary-notes" not in str(caught.value)


def test_a_private_default_scope_is_named(open_store: OpenStore) -> None:
    store = open_store(default_scope="journal")
    store.scopes.create("journal", sensitivity="private")
    with pytest.raises(ScopeNotCreated, match="the nearest is 'journal'"):
        store.remember("a note", scope="jurnal", create_scope=False)


def test_a_configured_default_scope_is_no_typing_error(open_store: OpenStore) -> None:
    store = open_store(default_scope="apolo")
    store.remember("a note", scope="apollo")
    assert store.remember("another", create_scope=False).scope == "apolo"


def test_create_scope_is_a_flag(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="create_scope must be true or false"):
        store.remember("a note", create_scope="yes")  # type: ignore[arg-type]


def test_a_confined_store_creates_the_scopes_that_it_was_opened_for_and_names_no_other(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"

    def open_store(**options: Any) -> MemoryStore:
        config = Config(home=home)
        return MemoryStore.open(home, config=config, embedder=HashingEmbedder(), **options)

    with open_store() as everything, open_store(scopes=["harbour", "harbours"]) as confined:
        everything.remember("outside", scope="apollo")
        with pytest.raises(UnknownScope) as caught:
            confined.remember("a note", scope="apolo", create_scope=False)
        assert "apollo" not in str(caught.value)
        for create in (False, True):
            with pytest.raises(UnknownScope):
                confined.remember("a note", scope="elsewhere", create_scope=create)
        assert confined.remember("a note", scope="harbour", create_scope=False).scope == "harbour"
        assert confined.remember("a note", scope="Harbours", create_scope=False).scope == "Harbours"
