"""Random sequences of operations on a store, undone to nothing beside a model of what is visible.

What an operation did is read from the store; what an undo of it has to do says the model. In a
sequence of one process that undoes and redoes in order, nothing may be left at the end but what was
erased. The clock goes back now and then, and no memory is ever stored earlier than it was before.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from attrs import asdict, evolve, frozen

from infinite_memory import Config, MemoryStore
from infinite_memory.core.errors import Conflict, InvalidInput, NotFound
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.entry import Actor, Entry
from infinite_memory.core.values.memory import GLOBAL, Memory
from infinite_memory.core.values.scope import Scope
from infinite_memory.testing.embedders import HashingEmbedder

from .undo_model import NONE, Change, Fields, Refusal, Step, UndoModel

_START = datetime(2026, 5, 1, 12, tzinfo=UTC)
_SCOPES = ("Global", "apollo", "Apollo", "zeus", "Zeus", "health", "team")
_WORDS = ("red", "harbour", "ship", "train", "blue", "night", "walk", "tea", "letter", "song")
_KEYS = (None, None, "job", "city")
_REFUSALS = (Conflict, InvalidInput, NotFound)
_WHOLE_LOOK_EVERY = 25


@frozen(kw_only=True)
class Outcome:
    """What became of a sequence: operations that changed something, undos of the end, skips.

    `faults` say where the store and the model differ, or what is left that nothing explains.
    """

    changes: int
    undone: int
    skipped: int
    faults: tuple[str, ...]


class _Different(Exception):
    """The store is not as the model says."""


class Sequence:
    """One sequence: a store, one or two processes that work on it, and the model beside."""

    def __init__(self, random: Random, open_storage: Callable[[], Storage], *, free: bool) -> None:
        """Work on the storages that `open_storage` gives, one for each process.

        `free` has two processes, and undoes by number whatever comes; otherwise one process undoes
        in order.
        """
        self.random = random
        self.free = free
        self.model = UndoModel()
        self.now = _START
        self.numbered: set[str] = set()
        self.stored_at: dict[str, datetime] = {}
        self.erased: list[str] = []
        self.last_undo: int | None = None
        names = ("host 1-aaaaaaaa", "host 2-bbbbbbbb") if free else ("host 1-aaaaaaaa",)
        self.storages = [open_storage() for _ in names]
        self.handles = [
            self._open(name, store) for name, store in zip(names, self.storages, strict=True)
        ]
        self.storage = self.storages[0]

    def _open(self, process: str, storage: Storage) -> MemoryStore:
        store = MemoryStore.open(
            "memory://",
            config=Config(home=Path("/never/used")),
            storage=storage,
            embedder=HashingEmbedder(16),
            clock=self._clock,
            random_bytes=self.random.randbytes,
        )
        # Processes of one test differ by nothing but the name that each gives itself.
        services = evolve(store._services, actor=Actor(client="soak", process=process))
        store._lifetime._open_services = services
        return store

    def _clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def close(self) -> None:
        """Close every handle and storage."""
        for store in self.handles:
            store.close()
        for storage in self.storages:
            storage.close()

    def step(self) -> None:
        """Do one random operation and compare what it changed."""
        store = self.random.choice(self.handles)
        if self.random.random() < 0.05:
            self.now -= timedelta(hours=self.random.randrange(1, 48))
        name = self.random.choices(list(_OPERATIONS), list(_OPERATIONS.values()))[0]
        if name.startswith("undo"):
            self._undo_step(store, name)
            return
        operation: Callable[[MemoryStore], object] = getattr(self, f"_{name}")
        end = self.storage.journal_end().number
        try:
            operation(store)
        except _REFUSALS:
            if self.storage.journal_end().number != end:
                raise _Different(f"{name} was refused and changed something") from None
        for entry in reversed(self._entries_after(end)):
            self._note(entry)
            self.last_undo = None

    def _entries_after(self, number: int) -> list[Entry]:
        entries = self.storage.journal(limit=20)
        return [entry for entry in entries if entry.number > number]

    def _note(self, entry: Entry) -> None:
        """Take over from the store what an operation did that is no undo."""
        action, model = entry.action, self.model
        found = self._look([step.id for step in action.memories])
        steps = {
            step.id: (model.memories.get(step.id) if step.before else None, found.get(step.id))
            for step in action.memories
        }
        for memory_id, (_, after) in steps.items():
            if after is None:
                model.memories.pop(memory_id, None)
                self.stored_at.pop(memory_id, None)
                self.erased.append(memory_id)
            else:
                model.memories[memory_id] = after
        scopes = [(step.before, step.after) for step in action.scopes]
        model.scopes = dict(self.storage.scopes())
        self._append(entry, steps, scopes)

    def _append(
        self,
        entry: Entry,
        steps: dict[str, Step],
        scopes: list[tuple[Scope | None, Scope | None]],
    ) -> None:
        self.model.changes[entry.number] = Change(
            number=entry.number,
            process=entry.action.actor.process,
            operation=entry.action.operation,
            undoes=entry.action.undoes,
            memories=steps,
            scopes=scopes,
        )

    def _look(self, ids: list[str]) -> dict[str, Fields]:
        records = self.storage.get(ids, models=())
        for memory_id, record in records.items():
            stored_at = record.memory.stored_at
            if stored_at < self.stored_at.get(memory_id, stored_at):
                raise _Different(f"{memory_id} was stored earlier than before")
            self.stored_at[memory_id] = stored_at
        return {memory_id: _fields(record.memory) for memory_id, record in records.items()}

    # -- operations that are no undo -----------------------------------------------------------

    def _text(self) -> str:
        return " ".join(self.random.choices(_WORDS, k=self.random.randrange(1, 4)))

    def _some_id(self) -> str:
        return self.random.choice([*self.model.memories, "none"])

    def _draft(self) -> Fields:
        random = self.random
        draft: Fields = {"text": self._text(), "scope": random.choice(_SCOPES)}
        draft["kind"] = random.choice(["note", "fact", "message"])
        draft["key"] = random.choice(_KEYS)
        draft["tags"] = random.sample(["x", "y", "z"], random.randrange(3))
        if random.random() < 0.3:
            draft["id"] = random.choice([f"m{random.randrange(30)}", *self.erased])
        if random.random() < 0.3:
            draft["happened_at"] = _START + timedelta(days=random.randrange(-9, 9))
        if random.random() < 0.15:
            draft["supersedes"] = [self._some_id()]
        return draft

    def _remember(self, store: MemoryStore) -> None:
        store.remember(**self._draft())

    def _remember_many(self, store: MemoryStore) -> None:
        store.remember_many([self._draft() for _ in range(self.random.randrange(2, 8))])

    def _revise(self, store: MemoryStore) -> None:
        random, memory_id = self.random, self._some_id()
        changes: Fields = {}
        if random.random() < 0.5:
            changes["text"] = self._text()
        if random.random() < 0.4:
            changes["scope"] = random.choice(_SCOPES)
        if random.random() < 0.4:
            changes["status"] = random.choice(["current", "archived", "superseded", "forgotten"])
        if random.random() < 0.3:
            changes["tags"] = random.sample(["x", "y", "z"], random.randrange(3))
        store.revise(memory_id, revision=store.get(memory_id).revision, **changes)

    def _bring_back(self, store: MemoryStore) -> None:
        forgotten = [i for i, f in self.model.memories.items() if f["status"] == "forgotten"]
        memory_id = self.random.choice([*forgotten, "none"])
        store.revise(memory_id, revision=store.get(memory_id).revision, status="current")

    def _forget(self, store: MemoryStore) -> None:
        store.forget(self._some_id())

    def _erase(self, store: MemoryStore) -> None:
        store.forget(self._some_id(), hard=True)

    def _create_scope(self, store: MemoryStore) -> None:
        store.scopes.create(
            self.random.choice(_SCOPES[1:]),
            description=self.random.choice(["", "described"]),
            parent=self.random.choice([None, None, *self.model.scopes]),
            sensitivity=self.random.choice(["normal", "private"]),
        )

    def _update_scope(self, store: MemoryStore) -> None:
        changes: Fields = {"description": self._text()}
        if self.random.random() < 0.4:
            changes["parent"] = self.random.choice(["", *self.model.scopes])
        if self.random.random() < 0.4:
            changes["sensitivity"] = self.random.choice(["normal", "private"])
        if self.random.random() < 0.2:
            changes["active"] = self.random.random() < 0.5
        store.scopes.update(self.random.choice(list(self.model.scopes)), **changes)

    def _delete_scope(self, store: MemoryStore) -> None:
        store.scopes.delete(self.random.choice(list(self.model.scopes)))

    def _update_profile(self, store: MemoryStore) -> None:
        value = self.random.choice([None, "tea", "coffee"])
        part = self.random.choice(["name", "notes", "preferences"])
        changes = {part: {"drink": value} if part == "preferences" else value}
        store.profile.update(changes)

    # -- undo ----------------------------------------------------------------------------------

    def _undo_step(self, store: MemoryStore, name: str) -> None:
        if name == "undo_redo" and self.last_undo is not None:
            self.last_undo, number = None, self.last_undo
            self.undo(store, number)
        elif name == "undo_number" and self.free:
            numbers = [*self.model.changes, 10_000]
            self.undo(store, self.random.choice(numbers[-25:]))
        else:
            self.last_undo = self.undo(store)

    def undo(self, store: MemoryStore, number: int | None = None) -> int | None:
        """Undo in the store and in the model; return the number of the new entry, None if none."""
        process = store._services.actor.process
        expected, skipped = self._expected(process, number)
        dry = self.random.random() < 0.1
        try:
            shown = store.undo(number, dry_run=True) if dry else None
            undone = store.undo(number)
        except (Conflict, NotFound) as error:
            if expected is not None:
                raise _Different(f"undo {number} refused: {error}") from None
            return None
        if expected is None:
            raise _Different(f"undo {number} took back entry {undone.undone.number}")
        if shown is not None and shown != evolve(undone, entry=None, changes=shown.changes):
            raise _Different(f"undo {number} differs from its dry run")
        if (undone.undone.number, [entry.number for entry, _ in undone.skipped]) != (
            expected.number,
            skipped,
        ):
            raise _Different(f"undo took {undone.undone.number} and not {expected.number}")
        self._follow(expected, undone.entry)
        return undone.entry

    def _expected(self, process: str, number: int | None) -> tuple[Change | None, list[int]]:
        if number is None:
            return self.model.choose(process)
        change = self.model.changes.get(number)
        try:
            if change is not None:
                self.model.reverse(change)
        except Refusal:
            return None, []
        if change is not None and self.free:
            self.numbered |= {*change.memories, *(_name(step) for step in change.scopes)}
        return change, []

    def _follow(self, change: Change, number: int | None) -> None:
        """Carry out an undo in the model, and see that the store is the same."""
        model = self.model
        memories, scopes = model.reverse(change)
        entry = self.storage.journal(limit=1)[0]
        if entry.number != number:
            raise _Different(f"the undo says entry {number} and the journal {entry.number}")
        steps: dict[str, Step] = {
            each: (model.memories[each], fields)
            for each, fields in memories.items()
            if fields is not model.memories[each]
        }
        changed = [
            (model.scopes.get(name), scopes.get(name))
            for name in _in_order(entry, {*model.scopes, *scopes})
            if model.scopes.get(name) != scopes.get(name)
        ]
        if self._look(list(steps)) != {each: after for each, (_, after) in steps.items()}:
            raise _Different(f"undo of {change.number} left {sorted(steps)} otherwise")
        if self.storage.scopes() != scopes:
            raise _Different(f"undo of {change.number} left other scopes")
        model.memories, model.scopes = memories, scopes
        self._append(entry, steps, changed)

    # -- the end -------------------------------------------------------------------------------

    def compare_all(self) -> None:
        """Compare everything that there is."""
        if self._look(list(self.model.memories)) != self.model.memories:
            raise _Different("memories differ")
        if sum(self.storage.measure().memories.values()) != len(self.model.memories):
            raise _Different("there are other memories")
        if self.storage.scopes() != self.model.scopes:
            raise _Different("scopes differ")

    def undo_all(self) -> int:
        """Undo without a number, each process in turn, until nobody finds anything more."""
        undone = 0
        while True:
            before = undone
            for store in self.handles:
                while self.undo(store) is not None:
                    undone += 1
            if undone == before:
                return undone

    def list_leftovers(self) -> list[str]:
        """Return what is still visible although nothing explains it."""
        left = {i for i, fields in self.model.memories.items() if fields["status"] != "forgotten"}
        left |= {s.name for s in self.model.scopes.values() if s != Scope(name=GLOBAL)}
        if not self.free:
            return sorted(left)
        explained = set(self.numbered)
        for change in self.model.standing():
            explained |= {*change.memories, *(_name(step) for step in change.scopes)}
            explained |= {after["scope"] for _, after in change.memories.values() if after}
        # A scope that came with a memory stays if others use it when that memory is taken back.
        for change in self.model.changes.values():
            if change.memories:
                explained |= {_name(step) for step in change.scopes if step[0] is None}
        return sorted(left - explained)


def _in_order(entry: Entry, names: set[str]) -> list[str]:
    """Return names, first those of the entry, in its order."""
    steps = [_name((step.before, step.after)) for step in entry.action.scopes]
    return [*steps, *sorted(names.difference(steps))]


def _name(step: tuple[Scope | None, Scope | None]) -> str:
    return (step[1] or step[0] or NONE).name


def _fields(memory: Memory) -> Fields:
    """Return the fields that an undo brings back."""
    fields = asdict(memory, filter=lambda attribute, _: attribute.name not in _EVER_NEW)
    return {**fields, "status": str(memory.status)}


_EVER_NEW = {"revision", "stored_at"}
_OPERATIONS = {
    "remember": 30,
    "remember_many": 4,
    "revise": 20,
    "forget": 7,
    "bring_back": 5,
    "erase": 2,
    "create_scope": 5,
    "update_scope": 6,
    "delete_scope": 3,
    "update_profile": 5,
    "undo_default": 10,
    "undo_redo": 5,
    "undo_number": 4,
}


def run_sequence(
    seed: int, operations: int, open_storage: Callable[[], Storage], *, free: bool
) -> Outcome:
    """Run one sequence and undo it to nothing."""
    sequence = Sequence(Random(seed), open_storage, free=free)
    faults: list[str] = []
    undone = skipped = changes = 0
    try:
        for position in range(operations):
            sequence.step()
            if position % _WHOLE_LOOK_EVERY == 0:
                sequence.compare_all()
        changes = len(sequence.model.changes)
        undone = sequence.undo_all()
        sequence.compare_all()
        skipped = sum(1 for _ in sequence.model.standing())
        faults += [f"{name} is left" for name in sequence.list_leftovers()]
    except _Different as error:
        faults.append(str(error))
    finally:
        sequence.close()
    return Outcome(changes=changes, undone=undone, skipped=skipped, faults=tuple(faults))
