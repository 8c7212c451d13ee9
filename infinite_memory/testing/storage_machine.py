"""A random walk over a storage beside the reference: whatever is done, both hold the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from infinite_memory.errors import Conflict
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Kind, Memory, Status
from infinite_memory.model.record import (
    Attach,
    Embedding,
    Erase,
    EraseScope,
    Put,
    PutScope,
    Record,
    Write,
)
from infinite_memory.model.scope import Scope
from infinite_memory.protocols import Storage
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.strategies import embeddings, ids, memories, moments, scopes

__all__ = ["Opener", "storage_machine"]

Opener = Callable[[Path], Storage]
"""Opens the store in a folder, or another handle on it when it is called again."""

_criteria = st.builds(
    Criteria,
    scopes=st.none() | st.sets(st.sampled_from(["Global", "apollo"])).map(frozenset),
    tags=st.sampled_from([(), ("TAG",), ("tag", "ünï")]),
    kinds=st.none() | st.sets(st.sampled_from(Kind)).map(frozenset),
    statuses=st.none() | st.sets(st.sampled_from(Status)).map(frozenset),
    conversation_id=st.sampled_from([None, "talk-1"]),
    since=st.none() | moments,
    until=st.none() | moments,
)
_revision_errors = st.sampled_from([0, 0, 0, 0, 1, -1])


class _Reader:
    """Follows the feed of one handle and rebuilds from it what the store holds."""

    def __init__(self) -> None:
        self.cursor = 0
        self.records: dict[str, Record] = {}

    def follow(self, storage: Storage, limit: int) -> None:
        while True:
            changes = storage.changes(self.cursor, limit=limit)
            for change in changes.items:
                if change.record is None:
                    self.records.pop(change.id, None)
                else:
                    self.records[change.id] = change.record
            assert changes.cursor >= self.cursor
            if changes.cursor == self.cursor:
                return
            self.cursor = changes.cursor


class _StorageMachine(RuleBasedStateMachine):
    opener: Opener
    shared: bool

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="storage-machine-"))
        self.handles = [type(self).opener(self.home)]
        self.turn = 0
        self.model = InMemoryStorage()
        self.readers = [_Reader(), _Reader()]

    @property
    def storage(self) -> Storage:
        """Return a handle, another one at every step if there are several."""
        self.turn += 1
        return self.handles[self.turn % len(self.handles)]

    def commit(self, writes: list[Write]) -> None:
        """Commit to both, which agree about the outcome."""
        try:
            self.model.commit(writes)
        except Conflict:
            with pytest.raises(Conflict):
                self.storage.commit(writes)
        else:
            storage = self.storage
            assert storage.commit(writes) == storage.position()

    def revision(self, memory_id: str) -> int:
        """Return the revision that the model holds, 0 for none."""
        record = self.model.get([memory_id]).get(memory_id)
        return 0 if record is None else record.memory.revision

    def known_id(self, data: st.DataObject) -> str:
        """Choose an id, mostly one that is stored."""
        stored = [change.id for change in self.model.changes(0, limit=1000).items]
        return data.draw(st.sampled_from(stored) | ids if stored else ids)

    @rule(memory=memories(), wrong=_revision_errors, embedding=st.none() | embeddings())
    def put(self, memory: Memory, wrong: int, embedding: Embedding | None) -> None:
        """Store or replace a memory, now and then expecting a wrong revision."""
        self.commit([self._put(memory, wrong, embedding)])

    @rule(batch=st.lists(memories(), min_size=2, max_size=4), wrong=_revision_errors)
    def put_many(self, batch: list[Memory], wrong: int) -> None:
        """Store several at once, all or none."""
        unique = {memory.id: memory for memory in batch}
        writes: list[Write] = [self._put(memory, 0, None) for memory in list(unique.values())[1:]]
        self.commit([*writes, self._put(batch[0], wrong, None)] if writes else [])

    def _put(self, memory: Memory, wrong: int, embedding: Embedding | None) -> Put:
        expected = max(0, self.revision(memory.id) + wrong)
        return Put(
            memory=evolve(memory, revision=expected + 1), expected=expected, embedding=embedding
        )

    @rule(data=st.data(), wrong=_revision_errors, embedding=embeddings())
    def attach(self, data: st.DataObject, wrong: int, embedding: Embedding) -> None:
        """Give an embedding to a current, an older or an unknown revision."""
        memory_id = self.known_id(data)
        revision = self.revision(memory_id) + wrong
        self.commit([Attach(id=memory_id, revision=revision, embedding=embedding)])

    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        """Erase a memory, or an id that is not there."""
        self.commit([Erase(id=self.known_id(data))])

    @rule(data=st.data(), memory=memories())
    def erase_and_put_again(self, data: st.DataObject, memory: Memory) -> None:
        """Erase a memory and give its id to another, in one transaction."""
        memory_id = self.known_id(data)
        anew = evolve(memory, id=memory_id, revision=1)
        self.commit([Erase(id=memory_id), Put(memory=anew, expected=0)])

    @rule(scope=scopes())
    def put_scope(self, scope: Scope) -> None:
        """Create or replace a scope."""
        self.commit([PutScope(scope=scope)])

    @rule(scope=scopes())
    def erase_scope(self, scope: Scope) -> None:
        """Remove a scope, or one that is not there."""
        self.commit([EraseScope(name=scope.name)])

    @rule(which=st.integers(0, 1), limit=st.integers(1, 4))
    def follow(self, which: int, limit: int) -> None:
        """Let one of the readers catch up, in small steps, with what the store holds now."""
        reader = self.readers[which]
        reader.follow(self.storage, limit)
        everything = self.model.changes(0, limit=10_000).items
        assert reader.records == {c.id: c.record for c in everything if c.record is not None}

    @rule(criteria=_criteria, limit=st.integers(1, 3))
    def find(self, criteria: Criteria, limit: int) -> None:
        """Page through what meets `criteria`, and find the same on every page."""
        cursor = None
        while True:
            page = self.storage.find(criteria, limit=limit, after=cursor)
            assert page == self.model.find(criteria, limit=limit, after=cursor)
            cursor = page.next
            if cursor is None:
                return

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        """Read one memory and its history."""
        memory_id = self.known_id(data)
        assert self.storage.get([memory_id]) == self.model.get([memory_id])
        assert self.storage.history(memory_id) == self.model.history(memory_id)

    @precondition(lambda self: self.shared and len(self.handles) < 3)
    @rule()
    def open_another_handle(self) -> None:
        """Open the store once more, beside the handles that are open."""
        self.handles.append(type(self).opener(self.home))

    @precondition(lambda self: self.shared)
    @rule()
    def reopen(self) -> None:
        """Close a handle and open the store again."""
        self.handles.pop(0).close()
        self.handles.append(type(self).opener(self.home))

    @invariant()
    def holds_the_same(self) -> None:
        """Compare what is quick to compare, through whichever handle comes next."""
        everything = [c.id for c in self.model.changes(0, limit=10_000).items]
        assert self.storage.get(everything) == self.model.get(everything)
        assert self.storage.position() == self.model.position()
        assert self.storage.scopes() == self.model.scopes()
        pending = self.storage.pending("model-a", limit=1000)
        assert pending == self.model.pending("model-a", limit=1000)
        size, expected = self.storage.measure(), self.model.measure()
        assert evolve(size, size_bytes=0) == evolve(expected, size_bytes=0)

    def teardown(self) -> None:
        """Close everything and remove the folder."""
        for handle in self.handles:
            handle.close()
        shutil.rmtree(self.home)


def storage_machine(opener: Opener, *, shared: bool) -> type[RuleBasedStateMachine]:
    """Return a state machine that compares the storage of `opener` with the reference.

    `shared` says that a second call of `opener` on the same folder opens the same store. Run the
    result with `hypothesis.stateful.run_state_machine_as_test`, or bind its `TestCase` in a module.
    """
    return type(
        "StorageMachine",
        (_StorageMachine,),
        {"opener": staticmethod(opener), "shared": shared},
    )
