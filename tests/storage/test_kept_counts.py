"""The counts that a storage keeps are those of its rows, and its feed of usage misses nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import apsw
import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.verification import RecordKind
from infinite_memory.engine.kind_follower import UsageFollower
from infinite_memory.storage.confined import ConfinedStorage
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.keys import count_tags, usage_changes
from infinite_memory.storage.read_only import ReadOnlyStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract.base import (
    NOW,
    make_embedding,
    make_link,
    make_memory,
)

SCOPES = ("Global", "garden")
WRAPPED: dict[str, Callable[[Storage], Storage]] = {
    "plain": lambda storage: storage,
    "read only": ReadOnlyStorage,
    "confined": lambda storage: ConfinedStorage(storage, SCOPES),
}


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteStorage]:
    storage = SqliteStorage.open(tmp_path / "home")
    yield storage
    storage.close()


def draw_memory(chance: Random, memory_id: str, revision: int) -> Memory:
    is_dreamed = chance.random() < 0.1
    return make_memory(
        memory_id,
        revision=revision,
        scope=chance.choice(SCOPES),
        kind=Kind.SUMMARY if is_dreamed else chance.choice((Kind.NOTE, Kind.FACT)),
        origin=Origin.DREAM if is_dreamed else Origin.USER,
        context={"dreamed": {"level": 1}} if is_dreamed else {},
        status=chance.choice((Status.CURRENT, Status.CURRENT, Status.ARCHIVED, Status.FORGOTTEN)),
        tags=chance.sample(("Roses", "weeds", "tulips"), chance.randrange(4)),
        valid_to=chance.choice((None, None, NOW - timedelta(days=1), NOW + timedelta(days=1))),
    )


def walk(storage: Storage, mirror: Storage, steps: int) -> None:
    """Change both storages in the same way, at random."""
    chance, revisions = Random(7), dict[str, int]()
    for step in range(steps):
        memory_id = f"m{chance.randrange(20)}"
        known = revisions.get(memory_id, 0)
        commit = Commit(
            puts=[Put(memory=draw_memory(chance, memory_id, known + 1), expected=known)],
            links=[make_link(memory_id, f"m{chance.randrange(20)}")],
        )
        revisions[memory_id] = known + 1
        if known and chance.random() < 0.3:
            del revisions[memory_id]
            commit = Commit(erases=[Erase(id=memory_id)])
        elif known and chance.random() < 0.3:
            revisions[memory_id] = known
            attach = Attach(id=memory_id, revision=known, embedding=make_embedding(step))
            commit = Commit(attaches=[attach])
        elif known and chance.random() < 0.2:
            revisions[memory_id] = known
            commit = Commit(detaches=[Detach(id=memory_id, keep="another")])
        for each in (storage, mirror):
            each.commit(commit)


def read_tags(storage: Storage, scopes: Collection[str] | None, at: datetime) -> dict[str, int]:
    criteria = Criteria(
        scopes=None if scopes is None else frozenset(scopes),
        statuses=frozenset({Status.CURRENT}),
        topic_summaries=False,
        unended_at=at,
    )
    found = storage.find(criteria, limit=99).memories
    return dict(Counter(tag.lower() for memory in found for tag in memory.tags))


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_after_any_changes_the_counts_are_those_that_reading_gives(
    sqlite: SqliteStorage, wrapped: str
) -> None:
    mirror = InMemoryStorage()
    walk(sqlite, mirror, 400)
    storage = WRAPPED[wrapped](sqlite)
    for scopes in (None, SCOPES, SCOPES[1:], ()):
        for days in (-2, 0, 2):
            at = NOW + timedelta(days=days)
            assert count_tags(storage, scopes, at) == read_tags(mirror, scopes, at)
    kept, counted = sqlite.measure(), mirror.measure()
    assert (kept.memories, kept.embedded) == (counted.memories, counted.embedded)
    assert (kept.revisions, kept.links) == (counted.revisions, counted.links)
    # The embeddings are those of other texts.
    assert {finding.part for finding in sqlite.verify().findings} == {RecordKind.EMBEDDING}


def test_a_count_that_is_wrong_is_found(sqlite: SqliteStorage, tmp_path: Path) -> None:
    sqlite.commit(Commit(puts=[Put(memory=make_memory("a", tags=["roses"]), expected=0)]))
    connection = apsw.Connection(str(tmp_path / "home" / "memory.db"))
    for table in ("tallies", "tag_tallies", "totals"):
        connection.execute(f"UPDATE {table} SET count = count + 1")
        (finding,) = sqlite.verify().findings
        assert finding.part is RecordKind.INDEX
        assert "verify --mend" in finding.way_out
        assert repr(table) in finding.what
        connection.execute(f"UPDATE {table} SET count = count - 1")
    assert sqlite.verify().sound
    connection.close()


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_the_feed_of_usage_has_each_change_once(sqlite: SqliteStorage, wrapped: str) -> None:
    storage = WRAPPED[wrapped](sqlite)
    sqlite.commit(Commit(puts=[Put(memory=make_memory(name), expected=0) for name in "abc"]))
    used = Usage(count=1, last=NOW)
    sqlite.count_usage({"a": used, "b": used})
    changes, cursor = usage_changes(storage, 0, limit=9) or ([], 0)
    assert changes == ["a", "b"]
    sqlite.count_usage({"a": Usage(count=0, activation=2.0, activated_at=NOW), "nobody": used})
    changes, later = usage_changes(storage, cursor, limit=9) or ([], 0)
    assert (changes, later > cursor) == (["a"], True)
    assert usage_changes(storage, 0, limit=1) == (["b"], cursor)
    sqlite.commit(Commit(erases=[Erase(id="a"), Erase(id="c")]))
    # Only the usage of a memory that was used is a change, and a cursor is never given again.
    changes, end = usage_changes(storage, later, limit=9) or ([], 0)
    assert (changes, end > later) == (["a"], True)
    assert usage_changes(storage, 2**63 - 1, limit=9) == ([], end)


def test_usage_is_read_once_and_again_when_another_handle_has_changed_it(
    sqlite: SqliteStorage, tmp_path: Path
) -> None:
    other = SqliteStorage.open(tmp_path / "home")
    sqlite.commit(Commit(puts=[Put(memory=make_memory(name), expected=0) for name in "ab"]))
    follower, used = UsageFollower(sqlite), Usage(count=1, last=NOW)
    other.count_usage({"a": used})
    assert follower.read(["a", "b"]) == {"a": used}
    other.count_usage({"a": used, "b": used})
    assert follower.read(["a", "b"]) == {"a": used.plus(used), "b": used}
    other.commit(Commit(erases=[Erase(id="a")]))
    other.commit(Commit(puts=[Put(memory=make_memory("a"), expected=0)]))
    assert follower.read(["a", "b"]) == {"b": used}
    other.close()


def test_another_content_of_the_store_has_its_own_usage(
    sqlite: SqliteStorage, tmp_path: Path
) -> None:
    other = SqliteStorage.open(tmp_path / "home")
    new = Put(memory=make_memory("a"), expected=0)
    sqlite.commit(Commit(puts=[new]))
    sqlite.count_usage({"a": Usage(count=7, last=NOW)})
    follower = UsageFollower(other)
    assert follower.read(["a"])["a"].count == 7
    with sqlite.replacement() as replacement:
        replacement.storage.commit(Commit(puts=[new]))
        replacement.swap(position=sqlite.position(), entries=0)
    assert follower.read(["a"]) == {}
    sqlite.count_usage({"a": Usage(count=1, last=NOW)})
    assert follower.read(["a"])["a"].count == 1
    other.close()


def test_without_a_feed_usage_is_read_each_time() -> None:
    storage = InMemoryStorage()
    storage.commit(Commit(puts=[Put(memory=make_memory("a"), expected=0)]))
    follower, used = UsageFollower(storage), Usage(count=1, last=NOW)
    assert usage_changes(storage, 0, limit=9) is None
    assert follower.read(["a"]) == {}
    storage.count_usage({"a": used})
    assert follower.read(["a"]) == {"a": used}


def test_a_wrong_count_is_found_and_mended(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder()) as store:
        store.remember("The cat is called Kiki", kind="fact", tags=["cats"])
    connection = apsw.Connection(str(tmp_path / "home" / "memory.db"))
    connection.execute("DELETE FROM tallies; UPDATE totals SET count = 7")
    connection.close()
    with MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder()) as store:
        assert store.browse(scope="Global", kinds=["fact"]).memories == ()
        assert not store.verify().sound
        assert store.verify(mend=True).mended
        assert store.verify().sound
        assert len(store.browse(scope="Global", kinds=["fact"]).memories) == 1
