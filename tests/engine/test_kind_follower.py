"""Followers of some kinds of memories: complete at first, and fresh after every change."""

from __future__ import annotations

from collections.abc import Callable

from infinite_memory import MemoryStore
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.engine.kind_follower import KindFollower

OpenStore = Callable[..., MemoryStore]


def text_unless_hidden(memory: Memory) -> str | None:
    return None if "hidden" in memory.tags else memory.text


def follow(store: MemoryStore) -> KindFollower[str]:
    return KindFollower(store._services.storage, {Kind.REMINDER}, text_unless_hidden)


def test_it_begins_with_what_is_stored(store: MemoryStore) -> None:
    store.remember("water the plants", kind="reminder", id="a")
    store.remember("a secret", kind="reminder", tags=["hidden"])
    store.remember("no reminder")
    assert follow(store).read() == {"a": "water the plants"}


def test_it_follows_every_change_of_another_handle(open_store: OpenStore) -> None:
    first, second = open_store(), open_store()
    follower = follow(second)
    assert follower.read() == {}
    writer = second if follower._storage.identity != first._services.storage.identity else first
    writer.remember("water the plants", kind="reminder", id="a")
    writer.remember("call Ann", kind="reminder", id="b")
    assert follower.read() == {"a": "water the plants", "b": "call Ann"}
    writer.revise("a", revision=1, text="water the roses")
    writer.forget("b")
    assert follower.read() == {"a": "water the roses"}
    writer.revise("b", revision=2, status="current")
    writer.revise("a", revision=2, kind="note")
    assert follower.read() == {"b": "call Ann"}
    writer.revise("b", revision=3, tags=["hidden"])
    assert follower.read() == {}
    writer.remember("once more", kind="reminder", id="c")
    writer.forget("c", hard=True)
    assert follower.read() == {}


def test_a_handle_of_some_scopes_follows_these_alone(store: MemoryStore) -> None:
    store.remember("inside", kind="reminder", scope="Work", id="a")
    store.remember("outside", kind="reminder", scope="Home", id="b")
    inside = store.confine(scopes=["Work"])
    follower = follow(inside)
    assert follower.read() == {"a": "inside"}
    store.remember("outside again", kind="reminder", scope="Home", id="c")
    store.remember("inside again", kind="reminder", scope="Work", id="d")
    assert follower.read() == {"a": "inside", "d": "inside again"}


def test_its_version_grows_with_its_values_alone(store: MemoryStore) -> None:
    follower = follow(store)
    version, values = follower.read_newer(0)
    assert values == {}
    store.remember("no reminder", id="note")
    assert follower.read_newer(version) == (version, None)
    store.remember("water the plants", kind="reminder", id="a")
    newer, values = follower.read_newer(version)
    assert newer > version
    assert values == {"a": "water the plants"}
    store.forget("note")
    assert follower.read_newer(newer) == (newer, None)
    store.forget("a")
    assert follower.read_newer(newer)[1] == {}
