"""A random walk over a `MemoryStore` beside plain dictionaries: both hold the same at each step."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from infinite_memory.core.config import Config
from infinite_memory.core.errors import Conflict, InfiniteMemoryError, InvalidInput, NotFound
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.entry import Entry, JournalEnd, entry_digest
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.store.memory_store import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_machine import Opener
from infinite_memory.testing.strategies import drafts, profiles, revisions
from tests.harness.told import (
    Fields,
    Told,
    begin_of,
    ends_by,
    follow,
    holds,
    holds_strictly,
    leaves,
    merged,
    nested,
)

_START = datetime(2026, 5, 1, 12, tzinfo=UTC)
_SCOPES = ("Global", "apollo")
_CLIENTS = ("ann", "bob")
_ALL = 1000
_PROFILE = "profile:user/"

_days = st.integers(-4, 6).map(lambda day: _START + timedelta(days=day))


@frozen(kw_only=True)
class _Handle:
    store: MemoryStore
    storage: Storage
    client: str
    clock: Callable[[], datetime]

    def close(self) -> None:
        self.store.close()
        self.storage.close()


class _StoreMachine(RuleBasedStateMachine):
    opener: Opener
    shared: bool

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="store-machine-"))
        self.now = _START
        self.told = Told()
        self.drafts: dict[str, Fields] = {}
        self.opened = 0
        self.turn = 0
        self.handles = [self.open()]

    def open(self) -> _Handle:
        """Open the store; every other handle is another client, with a clock that is behind."""
        odd, self.opened = self.opened % 2, self.opened + 1
        storage = type(self).opener(self.home)

        def clock() -> datetime:
            return self.now - odd * timedelta(hours=5)

        store = MemoryStore.open(
            "memory://",
            config=Config(home=self.home),
            storage=storage,
            embedder=HashingEmbedder(),
            client=_CLIENTS[odd],
            clock=clock,
        )
        return _Handle(store=store, storage=storage, client=_CLIENTS[odd], clock=clock)

    def next_handle(self) -> _Handle:
        """Return a handle, another one at every step if there are several."""
        self.turn += 1
        self.now += timedelta(seconds=1)
        return self.handles[self.turn % len(self.handles)]

    def both(self, handle: _Handle, do: Callable[[], Any], told: Callable[[Any], None]) -> None:
        """Do something to the store and to the model, which agree about what is refused."""
        before = (handle.storage.position(), handle.storage.journal_end())
        try:
            result = do()
        except (InvalidInput, Conflict, NotFound) as error:
            with pytest.raises(_kind(error)):
                told(None)
            assert (handle.storage.position(), handle.storage.journal_end()) == before
        else:
            told(result)

    def known_id(self, data: st.DataObject) -> str:
        """Choose an id: mostly of a memory that is there, now and then of none."""
        return data.draw(st.sampled_from([*self.told.memories, *sorted(self.told.erased), "none"]))

    @rule(data=st.data(), draft=drafts(_days), supersedes=st.integers(0, 2), named=st.booleans())
    def remember(self, data: st.DataObject, draft: Fields, supersedes: int, *, named: bool) -> None:
        """Tell something, with or without a key, in the order of time or not."""
        handle, details = self.next_handle(), dict(draft)
        if supersedes == 1:
            details["supersedes"] = [self.known_id(data)]
        if named:
            details["id"] = f"m{len(self.drafts)}"
        self.both(
            handle,
            lambda: handle.store.remember(**details),
            lambda receipt: self._told(handle, details, receipt and receipt.id),
        )

    @precondition(lambda self: self.drafts)
    @rule(data=st.data())
    def remember_again(self, data: st.DataObject) -> None:
        """Tell the same under the same id: nothing changes, unless it was erased or forgotten."""
        handle = self.next_handle()
        memory_id = data.draw(st.sampled_from(sorted(self.drafts)))
        details = {**self.drafts[memory_id], "id": memory_id}
        self.both(
            handle,
            lambda: handle.store.remember(**details),
            lambda _: self._told(handle, details, memory_id),
        )

    def _told(self, handle: _Handle, details: Fields, memory_id: str | None) -> None:
        start, end = details.get("valid_from"), details.get("valid_to")
        if start is not None and end is not None and end <= start:
            raise InvalidInput("ends before it begins")
        memory_id = memory_id or details.get("id") or "new"
        new = _revision(details, handle.clock())
        self.told.remember(
            handle.client,
            memory_id,
            new,
            details.get("supersedes", ()),
            timed="happened_at" in details,
        )
        self.drafts.setdefault(memory_id, details)

    @rule(data=st.data(), changes=revisions(_days), wrong=st.sampled_from([0, 0, 0, -1, 1]))
    def revise(self, data: st.DataObject, changes: Fields, wrong: int) -> None:
        """Change fields, now and then of a revision that is not the current one."""
        handle, memory_id = self.next_handle(), self.known_id(data)
        if "value" in self.told.memories.get(memory_id, [{}])[-1]:
            changes = {name: changes[name] for name in ("text", "tags") if name in changes}
        revision = max(1, len(self.told.memories.get(memory_id, ())) + wrong)
        self.both(
            handle,
            lambda: handle.store.revise(memory_id, revision=revision, **changes),
            lambda _: self.told.revise(handle.client, memory_id, revision, changes, handle.clock()),
        )

    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Say of two memories that one replaces the other."""
        handle, memory_id, target = self.next_handle(), self.known_id(data), self.known_id(data)
        revision = max(1, len(self.told.memories.get(memory_id, ())))
        successors = {each: self._successors(handle.storage, each) for each in (memory_id, target)}
        self.both(
            handle,
            lambda: handle.store.revise(memory_id, revision=revision, supersedes=[target]),
            lambda _: self.told.settle(
                handle.client, memory_id, target, successors=successors, now=handle.clock()
            ),
        )

    @staticmethod
    def _successors(storage: Storage, memory_id: str) -> set[str]:
        found: set[str] = set()
        added = {memory_id}
        while added:
            ends = {each.source for each in storage.links(added) if each.target in added}
            added = ends - found
            found |= added
        return found

    def _is_fact(self, memory_id: str) -> bool:
        known = self.told.memories.get(memory_id)
        return known is not None and "profile" in known[-1]["tags"]

    @rule(data=st.data(), hard=st.sampled_from([False, False, True]))
    def forget(self, data: st.DataObject, *, hard: bool) -> None:
        """Forget a memory, softly or for good."""
        handle, memory_id = self.next_handle(), self.known_id(data)

        def told(_: object) -> None:
            if hard:
                self.told.erase(handle.client, memory_id)
            else:
                self.told.forget(handle.client, memory_id, handle.clock())

        self.both(handle, lambda: handle.store.forget(memory_id, hard=hard), told)

    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        """Undo the last change of the client, or any entry, an undo as well."""
        handle, last = self.next_handle(), len(self.told.journal)
        number = data.draw(st.none() | st.integers(max(1, last - 3), last + 1))
        circular = self._find_circular(handle)
        self.both(
            handle,
            lambda: handle.store.undo(number),
            lambda _: self.told.undo(handle.client, number, handle.clock(), circular=circular),
        )

    def _find_circular(self, handle: _Handle) -> set[int]:
        """Return the undos that ended a link whose target has superseded its source since."""
        ended = [
            (entry.number, step.before)
            for entry in handle.store.journal.entries(limit=_ALL)
            for step in entry.action.links
            if step.before is not None and step.after is None
        ]
        return {
            number
            for number, link in ended
            if link.target in self._successors(handle.storage, link.source)
            and not any(self.told.was_erased_since(i, number) for i in (link.source, link.target))
        }

    @rule(changes=profiles)
    def update_profile(self, changes: Mapping[str, Any]) -> None:
        """Change the profile of the user."""
        handle = self.next_handle()
        now, before = handle.clock(), self._facts()
        profile = handle.store.profile.update(changes)
        after = dict(leaves(merged(self._profile(), changes)))
        assert dict(leaves(profile.fields)) == after
        written: dict[str, Fields | None] = {}
        for memory_id in self._newly_told(handle):
            fact = handle.store.get(memory_id)
            place: Any = fact.context["profile"]
            path = tuple(place["path"])
            assert place["value"] == after[path] != before.get(path, (None,))[0]
            new = {**_revision({"text": fact.text, "key": fact.key, "tags": fact.tags}, now)}
            written |= self.told.placed(memory_id, {**new, "value": after[path]}, timed=False)
        for path in before.keys() - after.keys():
            for each in before[path][1]:
                old = self.told.now(each)
                end = {"status": "superseded", "valid_to": max(now, begin_of(old))}
                written[each] = {**old, **end, "stored_at": max(now, old["stored_at"])}
        if written:
            self.told.write(handle.client, written)

    def _newly_told(self, handle: _Handle) -> list[str]:
        entries = handle.store.journal.entries(limit=1)
        if not entries or entries[0].number == len(self.told.journal):
            return []
        return [step.id for step in entries[0].action.memories if step.before == 0]

    def _facts(self) -> dict[tuple[str, ...], tuple[Any, list[str]]]:
        """Return the value and the ids of each path of the profile."""
        found: dict[tuple[str, ...], tuple[Any, list[str]]] = {}
        current = ((each, self.told.now(each)) for each in self.told.memories)
        for memory_id, fields in sorted(
            ((i, f) for i, f in current if self._is_fact(i) and f["status"] == "current"),
            key=lambda pair: (begin_of(pair[1]), pair[1]["stored_at"], pair[0]),
        ):
            path = tuple(fields["key"].removeprefix(_PROFILE).split("/"))
            found[path] = (fields["value"], [*found.get(path, (None, []))[1], memory_id])
        return found

    def _profile(self) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for path, (value, _) in sorted(self._facts().items()):
            tree = merged(tree, nested(path, value))
        return tree

    @rule(days=st.integers(1, 3))
    def wait(self, days: int) -> None:
        """Let time pass, so that what was to come is there."""
        self.now += timedelta(days=days)

    @precondition(lambda self: self.shared and len(self.handles) < 3)
    @rule()
    def open_another_handle(self) -> None:
        """Open the store once more, beside the handles that are open."""
        self.handles.append(self.open())

    @precondition(lambda self: self.shared)
    @rule()
    def reopen(self) -> None:
        """Close a handle and open the store again."""
        self.handles.pop(0).close()
        self.handles.append(self.open())

    @rule(moment=_days, mode=st.sampled_from(["as_of", "current", "strict", "history"]))
    def browse(self, moment: datetime, mode: str) -> None:
        """Ask what held at a moment, or for another truth."""
        handle = self.next_handle()
        now = handle.clock()
        truths: dict[str, Callable[[Fields], bool]] = {
            "as_of": lambda each: each["status"] in _EVER and holds(each, moment),
            "current": lambda each: each["status"] == "current" and not ends_by(each, now),
            "strict": lambda each: each["status"] == "current" and holds_strictly(each, now),
            "history": lambda each: each["status"] in _EVER,
        }
        asked: Any = {"as_of": moment} if mode == "as_of" else {"mode": mode}
        page = handle.store.browse(scope="ALL", limit=_ALL, **asked)
        expected = {i for i in self.told.memories if truths[mode](self.told.now(i))}
        assert {memory.id for memory in page.memories} == expected

    @rule(data=st.data(), key=st.sampled_from(["colour", "city"]))
    def look_back(self, data: st.DataObject, key: str) -> None:
        """Find every text that a memory ever had, and every memory that had a key, in order."""
        store, memory_id = self.next_handle().store, self.known_id(data)
        if memory_id in self.told.memories:
            said = {m.text for m in store.journal.history(memory_id) if m.id == memory_id}
            assert said == {each["text"] for each in self.told.memories[memory_id]}
        for scope in set(_SCOPES) & {scope.name for scope in store.scopes}:
            held = self.told.with_key(key, scope)
            if not held:
                with pytest.raises(NotFound):
                    self._history(store, key, scope)
                continue
            found = self._history(store, key, scope)
            assert {memory.id for memory in found} == held.keys()
            begins = [memory.held_from for memory in found]
            assert begins == sorted(begins)

    def _history(self, store: MemoryStore, key: str, scope: str) -> list[Memory]:
        found = store.journal.history(key, scope=scope)
        # Those of Global are found from every scope.
        mine = [memory for memory in found if memory.scope == scope]
        if not mine:
            raise NotFound(key)
        return mine

    @invariant()
    def holds_the_same(self) -> None:
        """Compare every memory, the conflicts and the profile."""
        handle = self.next_handle()
        records = handle.storage.get([*self.told.memories, *self.told.erased])
        found = {memory_id: _shown(record.memory) for memory_id, record in records.items()}
        assert found == {
            memory_id: {**_compared(revisions[-1]), "revision": len(revisions)}
            for memory_id, revisions in self.told.memories.items()
        }
        assert sum(handle.storage.measure().memories.values()) == len(found)
        groups = handle.store.journal.conflicts(scope="ALL")
        conflicts = {frozenset(memory.id for memory in group) for group in groups}
        assert conflicts == self.told.conflicts()
        assert handle.store.profile.get().fields == self._profile()

    @invariant()
    def one_holds_each_key(self) -> None:
        """No two memories hold one key at once and disagree, unless that is reported."""
        handle = self.next_handle()
        holding: dict[tuple[str, str], list[Memory]] = {}
        for memory in handle.store.browse(mode="strict", scope="ALL", limit=_ALL).memories:
            if memory.key is not None:
                holding.setdefault((memory.scope, memory.key), []).append(memory)
        reported = [set(group) for group in self.told.conflicts()]
        for memories in holding.values():
            if len({memory.text for memory in memories}) > 1:
                assert any(group >= {memory.id for memory in memories} for group in reported)

    @invariant()
    def the_journal_leads_here(self) -> None:
        """Follow the steps of the journal from nothing to what is there."""
        handle = self.next_handle()
        entries = handle.store.journal.entries(limit=_ALL)[::-1]
        assert [_noted(entry) for entry in entries] == [
            (number, each.client, each.undoes, each.revisions)
            for number, each in enumerate(self.told.journal, 1)
        ]
        digest = JournalEnd().digest
        links: dict[tuple[str, str], Link] = {}
        for entry in entries:
            digest = entry_digest(digest, entry.number, entry.action.to_text())
            assert entry.digest == digest
            follow(entry, links)
        assert handle.storage.journal_end() == JournalEnd(number=len(entries), digest=digest)
        there = {(each.source, each.target): each for each in self._links(handle.storage)}
        assert there == links

    def _links(self, storage: Storage) -> list[Link]:
        return storage.links([*self.told.memories, *self.told.erased])

    def teardown(self) -> None:
        """Close everything and remove the folder."""
        for handle in self.handles:
            handle.close()
        shutil.rmtree(self.home)


_EVER = ("current", "superseded")
_FIELDS = ("text", "tags", "scope", "key", "happened_at", "valid_from", "valid_to", "status")


def _kind(error: InfiniteMemoryError) -> type[InfiniteMemoryError]:
    return next(kind for kind in (InvalidInput, Conflict, NotFound) if isinstance(error, kind))


def _revision(details: Fields, now: datetime) -> Fields:
    missing = {"tags": (), "scope": "Global", "happened_at": now, "status": "current"}
    return {name: details.get(name, missing.get(name)) for name in _FIELDS} | {"stored_at": now}


def _shown(memory: Memory) -> Fields:
    fields = {name: getattr(memory, name) for name in (*_FIELDS, "stored_at", "revision")}
    return {**fields, "status": str(memory.status)}


def _compared(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if name != "value"}


def _noted(entry: Entry) -> tuple[int, str, int | None, dict[str, tuple[int, int]]]:
    steps = {step.id: (step.before, step.after) for step in entry.action.memories}
    return (entry.number, entry.action.actor.client, entry.action.undoes, steps)


def store_machine(opener: Opener, *, shared: bool) -> type[RuleBasedStateMachine]:
    """Return a state machine that compares a store on the storage of `opener` with a plain model.

    `shared` says that a second call of `opener` on the same folder opens the same store. Run the
    result with `hypothesis.stateful.run_state_machine_as_test`.
    """
    names = {"opener": staticmethod(opener), "shared": shared}
    return type("StoreMachine", (_StoreMachine,), names)
