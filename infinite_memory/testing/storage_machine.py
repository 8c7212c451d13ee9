"""A random walk that compares a storage with the reference after every operation."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from infinite_memory.core.errors import Conflict, StorageUnavailable
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import (
    Attach,
    Commit,
    Detach,
    Erase,
    Expect,
    ExpectContent,
    ExpectKey,
    Put,
)
from infinite_memory.core.values.content_hash import content_hash
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Action
from infinite_memory.core.values.link import Link, LinkKey
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Embedding, Record, Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.storage_contract.access_keys import make_access_key
from infinite_memory.testing.storage_contract.base import FeedReader
from infinite_memory.testing.strategies import (
    actions,
    embeddings,
    ids,
    links,
    memories,
    scopes,
    several_criteria,
    several_embeddings,
    usages,
)

__all__ = ["Hardship", "Opener", "storage_machine"]

Opener = Callable[[Path], Storage]
"""Opens the store in a folder, or another handle on it when it is called again."""


class Hardship(Protocol):
    """A disk that can fail and lose its power, below the storages that it opens."""

    def open(self, home: Path) -> Storage:
        """Open the store in `home` on this disk, or another handle on it."""

    def fail_at(self, call: int) -> None:
        """Fail the call to the disk of that number, counted from 1 from now on; 0 fails none."""

    def cut_at(self, call: int) -> None:
        """Keep the contents of the disk at the call with that number, for `crash`."""

    def crash(self, home: Path) -> Path:
        """Cut the power, now or at the call of `cut_at`; return a folder with the remains.

        The handles that are open are as good as gone: nobody closes them.
        """

    def release(self) -> None:
        """Give up the disk."""


_revision_errors = st.sampled_from([0, 0, 0, 0, 1, -1])


class _StorageMachine(RuleBasedStateMachine):
    opener: Opener
    shared: bool
    orders_later: bool
    hardship: Callable[[], Hardship] | None

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="storage-machine-"))
        self.home = self.folder / "home"
        self.home.mkdir()
        hardship = type(self).hardship
        self.disk = None if hardship is None else hardship()
        self.open = type(self).opener if self.disk is None else self.disk.open
        self.handles = [self.open(self.home)]
        self.lost: list[Storage] = []
        self.turn = 0
        self.model = InMemoryStorage()
        self.readers = [FeedReader(), FeedReader()]

    @property
    def storage(self) -> Storage:
        """Return a handle; if there are several, a different handle at every step."""
        self.turn += 1
        return self.handles[self.turn % len(self.handles)]

    def commit(self, commit: Commit) -> None:
        """Commit to both, which agree about the outcome."""
        try:
            self.model.commit(commit)
        except Conflict:
            with pytest.raises(Conflict):
                self.storage.commit(commit)
        else:
            storage = self.storage
            cursor = storage.commit(commit)
            assert cursor == storage.position() or (self.orders_later and cursor == 0)

    def revision(self, memory_id: str) -> int:
        """Return the revision that the model holds, 0 for none."""
        record = self.model.get([memory_id]).get(memory_id)
        return 0 if record is None else record.memory.revision

    def known_id(self, data: st.DataObject) -> str:
        """Choose an id, mostly of a stored memory."""
        stored = [change.id for change in self.model.changes(0, limit=1000).items]
        return data.draw(st.sampled_from(stored) | ids if stored else ids)

    def known_hashes(self, data: st.DataObject) -> frozenset[bytes]:
        """Choose content hashes, mostly of memories that are stored."""
        chosen = {self.known_id(data) for _ in range(data.draw(st.integers(0, 2)))}
        records = self.model.get(chosen, models=()).values()
        hashes = {content_hash(record.memory) for record in records}
        return frozenset(hashes | data.draw(st.sampled_from([set(), {bytes(32)}])))

    @rule(memory=memories(), wrong=_revision_errors, made=several_embeddings)
    def put(self, memory: Memory, wrong: int, made: tuple[Embedding, ...]) -> None:
        """Store or replace a memory, now and then expecting a wrong revision."""
        self.commit(Commit(puts=[self._make_put(memory, wrong, made)]))

    @rule(batch=st.lists(memories(), min_size=2, max_size=4), wrong=_revision_errors)
    def put_many(self, batch: list[Memory], wrong: int) -> None:
        """Store several at once, all or none."""
        unique = {memory.id: memory for memory in batch}
        puts = [self._make_put(memory, 0) for memory in list(unique.values())[1:]]
        self.commit(Commit(puts=[*puts, self._make_put(batch[0], wrong)] if puts else []))

    def _make_put(self, memory: Memory, wrong: int, made: tuple[Embedding, ...] = ()) -> Put:
        expected = max(0, self.revision(memory.id) + wrong)
        return Put(memory=evolve(memory, revision=expected + 1), expected=expected, embeddings=made)

    @rule(data=st.data(), wrong=_revision_errors, embedding=embeddings())
    def attach(self, data: st.DataObject, wrong: int, embedding: Embedding) -> None:
        """Give an embedding to a current, an older or an unknown revision."""
        memory_id = self.known_id(data)
        revision = self.revision(memory_id) + wrong
        self.commit(Commit(attaches=[Attach(id=memory_id, revision=revision, embedding=embedding)]))

    @rule(data=st.data(), keep=st.sampled_from(["model-a", "model-b", "model-c"]))
    def detach(self, data: st.DataObject, keep: str) -> None:
        """Remove the embeddings of a memory by all models but a single model."""
        self.commit(Commit(detaches=[Detach(id=self.known_id(data), keep=keep)]))

    @rule(data=st.data(), wrong=st.none() | _revision_errors)
    def erase(self, data: st.DataObject, wrong: int | None) -> None:
        """Erase a memory or an unknown id, or only if it is at a revision, right or wrong."""
        memory_id = self.known_id(data)
        expected = None if wrong is None else max(0, self.revision(memory_id) + wrong)
        self.commit(Commit(erases=[Erase(id=memory_id, expected=expected)]))
        assert self.storage.erased([memory_id]) == self.model.erased([memory_id])

    @rule(data=st.data(), memory=memories(), embedding=embeddings(), link=links(), action=actions())
    def write_in_every_field(
        self, data: st.DataObject, memory: Memory, embedding: Embedding, link: Link, action: Action
    ) -> None:
        """Erase a memory, reuse and revise its id, and write every other kind of value as well."""
        memory_id, other = self.known_id(data), self.known_id(data)
        first = evolve(memory, id=memory_id, revision=1)
        second = evolve(first, revision=2, text=f"{memory.text} again")
        made = data.draw(several_embeddings)
        there = self.model.links([other])
        self.commit(
            Commit(
                erases=[Erase(id=memory_id)],
                puts=[
                    Put(memory=first, expected=0, embeddings=made),
                    Put(memory=second, expected=1, embeddings=made),
                ],
                attaches=[Attach(id=memory_id, revision=2, embedding=embedding)],
                detaches=[Detach(id=other, keep="model-a")],
                erased_links=[each.key for each in there if each.source != memory_id],
                links=[evolve(link, source=memory_id, target=other)],
                erased_scopes=["erased"],
                scopes=[Scope(name="stored", description=memory.text)],
                access_keys=[make_access_key("stored", created_at=memory.happened_at)],
                active_model=f"model-{memory.kind}",
                entry=action,
            )
        )

    @rule(scope=scopes(), erased=st.booleans())
    def write_scope(self, scope: Scope, erased: bool) -> None:
        """Create or replace a scope, or remove it, whether it is there or not."""
        self.commit(Commit(erased_scopes=[scope.name]) if erased else Commit(scopes=[scope]))

    @rule(link=links(), data=st.data(), random=st.booleans())
    def put_link(self, link: Link, data: st.DataObject, random: bool) -> None:
        """Link two memories, either of which may be missing, or remove the link."""
        if not random:
            link = evolve(link, source=self.known_id(data), target=self.known_id(data))
        self.commit(Commit(links=[link]))

    @rule(data=st.data())
    def erase_link(self, data: st.DataObject) -> None:
        """Remove a link, an existing link if possible."""
        there = self.model.links([change.id for change in self.model.changes(0, limit=1000).items])
        link = data.draw(st.sampled_from(there) if there else links())
        self.commit(Commit(erased_links=[LinkKey(link.source, link.target, link.type)]))

    @rule(memory=memories(), action=actions(), wrong=_revision_errors)
    def put_and_log(self, memory: Memory, action: Action, wrong: int) -> None:
        """Store a memory with an entry of the journal, both or neither."""
        self.commit(Commit(puts=[self._make_put(memory, wrong)], entry=action))

    @rule(
        scope=st.sampled_from(["Global", "apollo"]),
        key=st.sampled_from(["key", "other"]),
        statuses=st.sets(st.sampled_from(Status)).map(frozenset),
    )
    def expect_key(self, scope: str, key: str, statuses: frozenset[Status]) -> None:
        """Commit only if nobody holds a key."""
        expected = ExpectKey(scope=scope, key=key, ids=frozenset(), statuses=statuses)
        self.commit(Commit(expect=Expect(keys=[expected])))

    @rule(
        scopes=st.sets(st.sampled_from(["Global", "apollo"])).map(frozenset),
        data=st.data(),
    )
    def expect_content(self, scopes: frozenset[str], data: st.DataObject) -> None:
        """Commit if the memories with a content are as expected: rightly, or off by one."""
        expected = ExpectContent(scopes=scopes, content_hashes=self.known_hashes(data))
        there = {each.id for each in self.model.find(expected.criteria, limit=100).memories}
        wrong = data.draw(st.sampled_from([set(), {self.known_id(data)}]))
        expected = evolve(expected, ids=frozenset(there ^ wrong))
        self.commit(Commit(expect=Expect(contents=[expected])))

    @rule(data=st.data(), one=usages, other=usages)
    def count_usage(self, data: st.DataObject, one: Usage, other: Usage) -> None:
        """Count the use of a memory, or of an id that is not there."""
        used = {self.known_id(data): one.plus(other)}
        self.model.count_usage(used)
        self.storage.count_usage(used)

    @rule(limit=st.integers(1, 3), memory_id=st.none() | ids)
    def read_journal(self, limit: int, memory_id: str | None) -> None:
        """Page through the journal, and find the same on every page."""
        before: int | None = None
        while True:
            entries = self.storage.journal(before=before, limit=limit, memory_id=memory_id)
            assert entries == self.model.journal(before=before, limit=limit, memory_id=memory_id)
            if not entries:
                return
            before = entries[-1].number

    @rule(which=st.integers(0, 1), limit=st.integers(1, 4))
    def follow(self, which: int, limit: int) -> None:
        """Let a reader of the feed catch up with the store in small steps."""
        reader = self.readers[which]
        reader.follow(self.storage, limit)
        everything = self.model.changes(0, limit=10_000).items
        assert reader.records == {c.id: c.record for c in everything if c.record is not None}

    @rule(criteria=several_criteria, limit=st.integers(1, 3), data=st.data(), hashed=st.booleans())
    def find(self, criteria: Criteria, limit: int, data: st.DataObject, hashed: bool) -> None:
        """Page through the memories that meet `criteria`, and compare every page."""
        if hashed:
            criteria = evolve(criteria, content_hashes=self.known_hashes(data))
        cursor = None
        while True:
            page = self.storage.find(criteria, limit=limit, after=cursor)
            assert page == self.model.find(criteria, limit=limit, after=cursor)
            cursor = page.next
            if cursor is None:
                return

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        """Read a memory and its history."""
        memory_id = self.known_id(data)
        for models in (None, (), ("model-a",), ("model-b", "model-a")):
            found = self.storage.get([memory_id], models=models)
            assert found == self.model.get([memory_id], models=models)
            changes = self.storage.changes(0, limit=3, models=models)
            assert changes == self.model.changes(0, limit=3, models=models)
        assert self.storage.history(memory_id) == self.model.history(memory_id)

    @precondition(lambda self: self.shared and len(self.handles) < 3)
    @rule()
    def open_another_handle(self) -> None:
        """Open the store once more, beside the handles that are open."""
        self.handles.append(self.open(self.home))

    @precondition(lambda self: self.shared)
    @rule()
    def reopen(self) -> None:
        """Close a handle and open the store again."""
        self.handles.pop(0).close()
        self.handles.append(self.open(self.home))

    @precondition(lambda self: self.disk is not None)
    @rule(memory=memories(), call=st.integers(1, 12))
    def fail_in_a_commit(self, memory: Memory, call: int) -> None:
        """Let the disk fail in a commit: it is there whole or not at all, on the same handle."""
        write, storage, disk = self._make_put(memory, 0), self.storage, self._get_disk()
        disk.fail_at(call)
        try:
            storage.commit(Commit(puts=[write]))
        except StorageUnavailable:
            disk.fail_at(0)
            self._settle_write(storage, write)
        else:
            disk.fail_at(0)
            self.model.commit(Commit(puts=[write]))

    @precondition(lambda self: self.disk is not None)
    @rule(memory=memories(), call=st.integers(1, 12))
    def crash_in_a_commit(self, memory: Memory, call: int) -> None:
        """Cut the power in the middle of a commit, which is there whole or not at all."""
        write = self._make_put(memory, 0)
        self._get_disk().cut_at(call)
        self.storage.commit(Commit(puts=[write]))
        self._crash_process()
        self._settle_write(self.handles[0], write)

    @precondition(lambda self: self.disk is not None)
    @rule()
    def crash(self) -> None:
        """Cut the power between two commits, which loses nothing."""
        self._crash_process()

    def _get_disk(self) -> Hardship:
        assert self.disk is not None, "no hardship was given"
        return self.disk

    def _crash_process(self) -> None:
        self.lost += self.handles
        self.home = self._get_disk().crash(self.home)
        self.handles = [self.open(self.home)]

    def _settle_write(self, storage: Storage, write: Put) -> None:
        """Let the model follow a commit of which the storage alone knows the outcome."""
        record = storage.get([write.memory.id]).get(write.memory.id)
        if record == Record(memory=write.memory, embeddings=write.embeddings):
            self.model.commit(Commit(puts=[write]))

    @invariant()
    def holds_the_same(self) -> None:
        """Compare the values that are quick to read, through the next handle."""
        everything = [c.id for c in self.model.changes(0, limit=10_000).items]
        assert self.storage.get(everything) == self.model.get(everything)
        assert self.storage.position() == self.model.position()
        assert self.storage.active_model() == self.model.active_model()
        assert self.storage.scopes() == self.model.scopes()
        assert self.storage.access_keys() == self.model.access_keys()
        assert self.storage.journal_end() == self.model.journal_end()
        assert self.storage.links(everything) == self.model.links(everything)
        assert self.storage.usage(everything) == self.model.usage(everything)
        for model in ("model-a", "model-b", "model-c"):
            pending = self.storage.pending(model, limit=1000)
            assert pending == self.model.pending(model, limit=1000)
        size, expected = self.storage.measure(), self.model.measure()
        assert evolve(size, size_bytes=0) == evolve(expected, size_bytes=0)

    def teardown(self) -> None:
        """Close everything and remove the folder."""
        for handle in self.handles:
            handle.close()
        if self.disk is not None:
            self.disk.release()
        shutil.rmtree(self.folder)


def storage_machine(
    opener: Opener,
    *,
    shared: bool,
    orders_later: bool = False,
    hardship: Callable[[], Hardship] | None = None,
) -> type[RuleBasedStateMachine]:
    """Return a state machine that compares the storage of `opener` with the reference.

    `shared` says that a second call of `opener` on the same folder opens the same store;
    `orders_later` that a commit may return 0 for its cursor, see `StorageTests`. With
    `hardship` the store is opened on a disk that fails and loses its power now and then. Run the
    result with `hypothesis.stateful.run_state_machine_as_test`, or bind its `TestCase` in a module.
    """
    return type(
        "StorageMachine",
        (_StorageMachine,),
        {
            "opener": staticmethod(opener),
            "shared": shared,
            "orders_later": orders_later,
            "hardship": None if hardship is None else staticmethod(hardship),
        },
    )
