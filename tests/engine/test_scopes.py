"""Scopes: created, changed, removed, never by accident."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from infinite_memory import (
    Conflict,
    InfiniteMemoryError,
    InvalidInput,
    MemoryStore,
    Scope,
    UnknownScope,
)
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import count_calls


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


def test_a_scope_among_many_is_created_with_as_many_calls_as_among_few(store: MemoryStore) -> None:
    counts = []
    for number in range(121):
        work = partial(store.scopes.create, f"Scope {number}")
        if number % 40:
            work()
        else:
            counts.append(count_calls(work))
    assert counts[3] <= counts[1] + 20
    for number in range(2):
        store.remember(f"Note {number}", scope=f"new {number}")
    # Each name that a new scope is compared with takes some fifty calls.
    assert count_calls(partial(store.remember, "Another", scope="newer")) < 4_000


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
    with pytest.raises(InvalidInput, match="cannot be inactive"):
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


def at_once(*jobs: Callable[[], object]) -> list[Exception]:
    """Run jobs in threads that start together; return what they raised."""
    start, raised = threading.Barrier(len(jobs)), []

    def run(job: Callable[[], object]) -> None:
        start.wait()
        try:
            job()
        except InfiniteMemoryError as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[MemoryStore, MemoryStore]]:
    """Two handles on one store in files."""
    embedder = HashingEmbedder()
    with (
        MemoryStore.open(tmp_path, embedder=embedder) as one,
        MemoryStore.open(tmp_path, embedder=embedder) as other,
    ):
        yield one, other


def test_two_spellings_of_a_new_scope_at_once_are_one_scope(
    two: tuple[MemoryStore, MemoryStore],
) -> None:
    for i in range(20):
        raised = at_once(
            lambda i=i: two[0].remember(f"tea {i}", scope=f"Race{i}"),
            lambda i=i: two[1].remember(f"more tea {i}", scope=f"race{i}"),
        )
        assert raised == []
        assert len(two[0].search("tea", scope=f"RACE{i}")) == 2
    assert len(list(two[0].scopes)) == 21


def test_a_memory_never_ends_in_a_scope_that_is_deleted_at_that_moment(
    two: tuple[MemoryStore, MemoryStore],
) -> None:
    for i in range(20):
        two[0].scopes.create("temp")
        at_once(
            lambda: two[0].scopes.delete("temp"),
            lambda i=i: two[1].remember("tea", id=f"m{i}", scope="temp"),
        )
        assert [hit.memory.id for hit in two[0].search("tea", scope="temp")] == [f"m{i}"]
        two[0].forget(f"m{i}", hard=True)
        two[0].scopes.delete("temp")


def test_no_update_of_a_scope_is_lost(two: tuple[MemoryStore, MemoryStore]) -> None:
    for i in range(20):
        two[0].scopes.create(f"s{i}")
        raised = at_once(
            lambda i=i: two[0].scopes.update(f"s{i}", sensitivity="private"),
            lambda i=i: two[1].scopes.update(f"s{i}", description="new"),
        )
        scope = two[0].scopes[f"s{i}"]
        done = (scope.sensitivity == "private") + (scope.description == "new")
        assert done + len(raised) == 2
        assert all(isinstance(error, Conflict) for error in raised)


def test_no_two_scopes_become_parents_of_each_other(two: tuple[MemoryStore, MemoryStore]) -> None:
    for i in range(20):
        for name in (f"x{i}", f"y{i}"):
            two[0].scopes.create(name)
        raised = at_once(
            lambda i=i: two[0].scopes.update(f"x{i}", parent=f"y{i}"),
            lambda i=i: two[1].scopes.update(f"y{i}", parent=f"x{i}"),
        )
        assert len(raised) == 1
        assert {two[0].scopes[f"x{i}"].parent, two[0].scopes[f"y{i}"].parent} > {None}
