"""The storage contract: a snapshot shows one moment, and a replacement comes into force at once.

A storage without these powers skips the tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_memory.core.errors import Conflict, ReadOnly
from infinite_memory.core.protocols import (
    Storage,
    SupportsReplacement,
    SupportsSnapshot,
    SupportsVerify,
)
from infinite_memory.core.values.commit import Commit, Erase, Expect
from infinite_memory.core.values.entry import JournalEnd, entry_digest
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.confined import ConfinedStorage
from infinite_memory.testing.storage_contract.base import (
    NOW,
    FeedReader,
    StorageTests,
    make_embedding,
    make_link,
    put,
)
from infinite_memory.testing.storage_contract.journal import make_action

__all__ = ["WholeStoreTests"]


def require_snapshots(storage: Storage) -> SupportsSnapshot:
    """Return a storage that has snapshots, or skip the test."""
    if not isinstance(storage, SupportsSnapshot):
        pytest.skip("this backend has no snapshots")
    return storage


def require_replacement(storage: Storage) -> SupportsReplacement:
    """Return a storage that can be replaced, or skip the test."""
    if not isinstance(storage, SupportsReplacement):
        pytest.skip("the content of this backend cannot be replaced as a whole")
    return storage


class WholeStoreTests(StorageTests):
    """Snapshots and replacements."""

    def test_a_snapshot_shows_one_moment(self, storage: Storage) -> None:
        frozen = require_snapshots(storage)
        storage.commit(
            Commit(
                puts=[put("a", embedding=make_embedding()), put("b"), put("c")],
                links=[make_link("a", "b")],
                scopes=[Scope(name="work")],
                entry=make_action("a", "b", "c"),
            )
        )
        position, end = storage.position(), storage.journal_end()
        size = storage.measure()
        with frozen.snapshot() as snapshot:
            before = snapshot.changes(0, limit=9)
            storage.commit(
                Commit(
                    erases=[Erase(id="b")],
                    puts=[put("a", revision=2), put("d")],
                    scopes=[Scope(name="later")],
                    entry=make_action("a", "b", "d"),
                )
            )
            storage.count_usage({"c": Usage(count=1, last=NOW)})
            assert snapshot.identity == storage.identity
            assert (snapshot.position(), snapshot.journal_end()) == (position, end)
            assert snapshot.changes(0, limit=9) == before
            assert [memory.revision for memory in snapshot.history("a")] == [1]
            assert snapshot.get(["b", "d"]).keys() == {"b"}
            assert snapshot.erased(["b"]) == frozenset()
            assert "later" not in snapshot.scopes()
            assert [link.target for link in snapshot.links(["a"])] == ["b"]
            assert snapshot.usage(["c"]) == {}
            assert [entry.number for entry in snapshot.journal(limit=9)] == [1]
            measured = snapshot.measure()
            assert (measured.memories, measured.embedded) == (size.memories, size.embedded)
            assert (measured.revisions, measured.links) == (size.revisions, size.links)
            with pytest.raises(ReadOnly):
                snapshot.commit(Commit(puts=[put("e")]))
        assert storage.get(["b", "d"]).keys() == {"d"}

    def test_past_entries_are_the_journal_that_they_were(self, storage: Storage) -> None:
        if isinstance(storage, ConfinedStorage):
            pytest.skip("a confined storage shows no whole journal")
        actions = [make_action("a"), make_action("b", "a"), make_action()]
        storage.commit(
            Commit(
                expect=Expect(entry_number=1),
                puts=[put("a")],
                past_entries=actions,
                entry=make_action("c"),
            )
        )
        entries = storage.journal(limit=9)[::-1]
        assert [entry.action for entry in entries] == [*actions, make_action("c")]
        digest = bytes(32)
        for number, entry in enumerate(entries, 1):
            digest = entry_digest(digest, number, entry.action.to_text())
            assert (entry.number, entry.digest) == (number, digest)
        assert storage.journal_end() == JournalEnd(number=4, digest=digest)
        of_a = storage.journal(limit=9, memory_id="a")
        assert [entry.number for entry in of_a] == [2, 1]
        assert [entry.number for entry in storage.journal(limit=9, memory_id="c")] == [4]
        with pytest.raises(Conflict):
            storage.commit(Commit(expect=Expect(entry_number=4), past_entries=actions))
        assert storage.journal_end().number == 4
        if isinstance(storage, SupportsVerify):
            assert storage.verify().sound

    def test_a_replacement_is_seen_by_every_handle_at_once(
        self, storage: Storage, home: Path
    ) -> None:
        replaceable = require_replacement(storage)
        storage.commit(
            Commit(puts=[put("old"), put("both")], entry=make_action("old"), active_model="m/1")
        )
        reader = FeedReader()
        other = self.open(home) if self.shared else storage
        reader.follow(other, limit=9)
        with replaceable.replacement() as replacement:
            new = replacement.storage
            assert (new.identity, new.get(["old"])) == (storage.identity, {})
            new.commit(Commit(puts=[put("new", embedding=make_embedding()), put("both", text="x")]))
            new.commit(Commit(puts=[put("old")]))
            new.commit(Commit(erases=[Erase(id="old")], scopes=[Scope(name="work")]))
            assert other.get(["old", "new"]).keys() == {"old"}
            replacement.swap(position=storage.position(), entries=1)
        for handle in (storage, other):
            assert handle.get(["old", "new", "both"]).keys() == {"new", "both"}
            assert handle.erased(["old"]) == {"old"}
            assert handle.journal_end().number == 0
            assert handle.scopes().keys() == {"Global", "work"}
            assert handle.active_model() is None
        # A reader that goes on from where it was has the new content.
        reader.follow(other, limit=9)
        assert reader.records == other.get(["new", "both"])
        other.commit(Commit(puts=[put("later")], entry=make_action("later")))
        assert storage.get(["later"]).keys() == {"later"}
        if other is not storage:
            other.close()

    def test_a_store_that_was_written_meanwhile_is_not_replaced(self, storage: Storage) -> None:
        replaceable = require_replacement(storage)
        storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
        position = storage.position()
        for change in (Commit(puts=[put("b")]), Commit(entry=make_action())):
            entries = storage.journal_end().number
            position = storage.position()
            with replaceable.replacement() as replacement:
                replacement.storage.commit(Commit(puts=[put("new")]))
                storage.commit(change)
                with pytest.raises(Conflict, match="was written while"):
                    replacement.swap(position=position, entries=entries)
            assert storage.get(["a", "new"]).keys() == {"a"}

    def test_a_replacement_that_is_not_put_in_place_leaves_nothing(self, storage: Storage) -> None:
        replaceable = require_replacement(storage)
        storage.commit(Commit(puts=[put("a")]))
        before = storage.changes(0, limit=9)
        for _ in range(2):
            with replaceable.replacement() as replacement:
                replacement.storage.commit(Commit(puts=[put("new")]))
        assert storage.changes(0, limit=9) == before
