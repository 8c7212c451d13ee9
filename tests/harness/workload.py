"""Writes by chance, and everything that a store then holds, to be compared as a whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
from attrs import field, frozen

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase, Put
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Change, Embedding
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.inmemory import InMemoryStorage

_START = datetime(2026, 1, 1, tzinfo=UTC)
_DIMENSIONS = 24
_MODELS = ("model-a", "model-b")


@frozen(kw_only=True)
class State:
    """All that a store holds: two states are equal when no reader can tell them apart."""

    position: int
    changes: tuple[Change, ...]
    histories: tuple[tuple[Memory, ...], ...]
    scopes: dict[str, Scope]
    pending: list[str] = field(factory=list)


def state_of(storage: Storage, *, step: int = 1000) -> State:
    """Read everything; the feed is read in steps of so many changes."""
    changes: list[Change] = []
    cursor = 0
    while True:
        news = storage.changes(cursor, limit=step)
        changes += news.items
        if news.cursor == cursor:
            break
        cursor = news.cursor
    return State(
        position=storage.position(),
        changes=tuple(changes),
        histories=tuple(tuple(storage.history(change.id)) for change in changes),
        scopes=dict(storage.scopes()),
        pending=storage.pending("model-a", limit=10_000),
    )


def replay(commits: list[Commit]) -> InMemoryStorage:
    """Return the reference after these commits."""
    storage = InMemoryStorage()
    for commit in commits:
        storage.commit(commit)
    return storage


class Workload:
    """Commits by chance: new memories, revisions, embeddings, erasures, scopes; no two texts equal.

    `model` is the reference that has carried out what was noted with `done`.
    """

    def __init__(self, random: Random, commits: list[Commit] | None = None) -> None:
        self._random = random
        self.commits: list[Commit] = list(commits or [])
        self.model = replay(self.commits)
        self._made = 0

    def done(self, commit: Commit) -> None:
        """Note that a commit took place."""
        self.model.commit(commit)
        self.commits.append(commit)

    def next(self) -> Commit:
        """Return another commit, which fits the state of `model`."""
        current = {
            change.id: change.record.memory
            for change in self.model.changes(0, limit=10_000).items
            if change.record is not None
        }
        way = self._random.random()
        if way < 0.45 or not current:
            count = self._random.choice((1, 1, 2, 5))
            return Commit(puts=[self._new() for _ in range(count)])
        memory = current[self._random.choice(sorted(current))]
        if way < 0.65:
            return Commit(puts=[self._put(memory.id, memory.revision)])
        if way < 0.68:
            return Commit(detaches=[Detach(id=memory.id, keep=self._random.choice(_MODELS))])
        if way < 0.8:
            embedding = self._embedding()
            return Commit(
                attaches=[Attach(id=memory.id, revision=memory.revision, embedding=embedding)]
            )
        if way < 0.95:
            puts = [self._new()] if way < 0.85 else []
            return Commit(erases=[Erase(id=memory.id)], puts=puts)
        return Commit(scopes=[Scope(name=self._random.choice("xyz"), description=self._text())])

    def _new(self) -> Put:
        self._made += 1
        return self._put(f"m{len(self.commits)}-{self._made}", 0)

    def _put(self, memory_id: str, expected: int) -> Put:
        at = _START + timedelta(seconds=self._random.randrange(10**6))
        details: dict[str, Any] = {"tags": ("tag",)} if self._random.random() < 0.3 else {}
        memory = Memory(
            id=memory_id,
            text=self._text(),
            happened_at=at,
            stored_at=at,
            revision=expected + 1,
            **details,
        )
        embeddings = (self._embedding(),) if self._random.random() < 0.5 else ()
        return Put(memory=memory, expected=expected, embeddings=embeddings)

    def _text(self) -> str:
        length = self._random.choice((1, 10, 60, 300))
        return f"secret {self._random.getrandbits(64):016x} " * length

    def _embedding(self) -> Embedding:
        numbers = np.frombuffer(self._random.randbytes(_DIMENSIONS * 2), dtype=np.int16)
        return Embedding(
            model=self._random.choice(_MODELS),
            spans=np.array([[0, 7]], dtype=np.int32),
            vectors=numbers.astype(np.float32).reshape(1, -1),
        )
