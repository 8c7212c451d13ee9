"""The storage contract: the journal, whose entries are chained to their predecessors."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Erase, Expect
from infinite_memory.core.values.entry import (
    Action,
    Actor,
    JournalEnd,
    LinkStep,
    MemoryStep,
    Operation,
    ScopeStep,
    entry_digest,
)
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.testing.storage_contract.base import NOW, StorageTests, make_link, put

__all__ = ["JournalTests", "make_action"]


def make_action(*ids: str, operation: Operation = Operation.REMEMBER) -> Action:
    """Return the action that stored memories with the ids."""
    return Action(
        at=NOW,
        actor=Actor(client="Füchsin", process="host 4711"),
        operation=operation,
        memories=tuple(MemoryStep(id=each, before=0, after=1) for each in ids),
    )


class JournalTests(StorageTests):
    """Order, chain, pages, and that an entry stands or falls with its commit."""

    def test_a_new_journal_is_empty(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a")]))
        assert storage.journal(limit=9) == []
        assert storage.journal_end() == JournalEnd(number=0, digest=bytes(32))
        assert storage.measure().entries == 0

    def test_entries_are_numbered_and_chained(self, storage: Storage) -> None:
        actions = [make_action("a"), make_action("b", "c"), make_action()]
        for action in actions:
            storage.commit(Commit(entry=action))
        entries = storage.journal(limit=9)
        assert [entry.number for entry in entries] == [3, 2, 1]
        assert [entry.action for entry in entries] == actions[::-1]
        digest = bytes(32)
        for entry in reversed(entries):
            digest = entry_digest(digest, entry.number, entry.action.to_text())
            assert entry.digest == digest
        assert storage.journal_end() == JournalEnd(number=3, digest=digest)
        assert storage.measure().entries == 3

    def test_an_action_comes_back_as_it_was(self, storage: Storage) -> None:
        scope = Scope(name="Straße", keywords=("x",), sensitivity=Sensitivity.PRIVATE)
        action = Action(
            at=NOW,
            actor=Actor(client="a \u2028 b", process="0"),
            operation=Operation.UNDO,
            memories=(MemoryStep(id="a", before=7, after=0),),
            scopes=(
                ScopeStep(before=None, after=scope),
                ScopeStep(before=scope, after=Scope(name="p", parent="Straße", active=False)),
            ),
            links=(
                LinkStep(before=make_link("a", "b"), after=None),
                LinkStep(before=None, after=make_link("a", "b", weight=0.1, reason="why")),
            ),
            undoes=12,
            reason="“why”",
        )
        storage.commit(Commit(entry=action))
        assert storage.journal(limit=1)[0].action == action

    def test_an_entry_stands_or_falls_with_its_commit(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
        end = storage.journal_end()
        with pytest.raises(Conflict):
            storage.commit(Commit(puts=[put("b"), put("a")], entry=make_action("b", "a")))
        assert storage.journal_end() == end
        assert len(storage.journal(limit=9)) == 1

    def test_an_entry_with_another_number_than_the_expected_is_a_conflict(
        self, storage: Storage
    ) -> None:
        storage.commit(Commit(expect=Expect(entry_number=1), entry=make_action("a")))
        end = storage.journal_end()
        for number in (0, 1, 3):
            with pytest.raises(Conflict, match="entry 2 is next"):
                storage.commit(
                    Commit(
                        expect=Expect(entry_number=number),
                        puts=[put("a")],
                        entry=make_action("a"),
                    )
                )
        assert (storage.journal_end(), storage.get(["a"])) == (end, {})
        storage.commit(Commit(expect=Expect(entry_number=2), entry=make_action("a")))

    def test_entries_are_read_page_by_page_and_by_memory(self, storage: Storage) -> None:
        for number in range(1, 8):
            ids = ("odd",) if number % 2 else ("even", "all")
            storage.commit(Commit(entry=make_action(*ids)))
        numbers = [entry.number for entry in storage.journal(limit=3)]
        assert numbers == [7, 6, 5]
        assert [entry.number for entry in storage.journal(before=5, limit=3)] == [4, 3, 2]
        assert [entry.number for entry in storage.journal(before=2, limit=3)] == [1]
        assert storage.journal(before=1, limit=3) == []
        assert [e.number for e in storage.journal(limit=2, memory_id="odd")] == [7, 5]
        assert [e.number for e in storage.journal(before=5, limit=9, memory_id="odd")] == [3, 1]
        assert [e.number for e in storage.journal(limit=9, memory_id="all")] == [6, 4, 2]
        assert storage.journal(limit=9, memory_id="none") == []
        with pytest.raises(InvalidInput):
            storage.journal(limit=0)

    def test_the_feed_does_not_move_for_an_entry(self, storage: Storage) -> None:
        position = self.commit(storage, Commit(puts=[put("a")], entry=make_action("a")))
        assert self.commit(storage, Commit(entry=make_action())) == position

    def test_an_erased_memory_stays_in_the_journal(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
        storage.commit(
            Commit(
                erases=[Erase(id="a")],
                entry=make_action("a", operation=Operation.ERASE),
            )
        )
        assert [e.number for e in storage.journal(limit=9, memory_id="a")] == [2, 1]
        storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
        storage.commit(Commit(puts=[put("a", revision=2)], entry=make_action("a")))
        assert [e.number for e in storage.journal(limit=9, memory_id="a")] == [4, 3, 2, 1]
        assert [e.number for e in storage.journal(before=4, limit=2, memory_id="a")] == [3, 2]

    def test_an_entry_names_what_it_says_whatever_is_written_with_it(
        self, storage: Storage
    ) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")], entry=make_action("a")))
        storage.commit(Commit(puts=[put("c"), put("d")], entry=make_action("c", "d")))
        storage.commit(
            Commit(
                erases=[Erase(id="d")],
                puts=[put("d")],
                entry=make_action("d", "d"),
            )
        )
        names = {
            each: [entry.number for entry in storage.journal(limit=9, memory_id=each)]
            for each in "abcd"
        }
        assert names == {"a": [1], "b": [], "c": [2], "d": [3, 2]}

    def test_another_handle_goes_on_with_the_chain(self, storage: Storage, home: Path) -> None:
        storage.commit(Commit(entry=make_action("a")))
        other = self.another(home)
        try:
            other.commit(Commit(entry=make_action("b")))
            storage.commit(Commit(entry=make_action("c")))
            assert other.journal(limit=9) == storage.journal(limit=9)
            assert storage.journal_end() == other.journal_end()
            assert storage.journal_end().number == 3
        finally:
            other.close()
