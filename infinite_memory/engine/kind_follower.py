"""Follow the memories of some kinds, as values that are made of them once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any, Generic, TypeVar

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Status

_PAGE = 1000
_CURRENT = frozenset({Status.CURRENT})

Value = TypeVar("Value")


class KindFollower(Generic[Value]):
    """The current memories of some kinds as values, as of the last commit of any process.

    `make` returns the value of a memory, None to leave it out. The first read finds the memories by
    their kinds; later reads follow the change feed. Every method may be called from any thread.
    """

    def __init__(
        self, storage: Storage, kinds: Collection[Kind], make: Callable[[Memory], Value | None]
    ) -> None:
        """Follow the memories of `kinds` in `storage`; nothing is read before the first call."""
        self._storage = storage
        self._kinds = frozenset(kinds)
        self._make = make
        self._lock = threading.Lock()
        self._values: dict[str, Value] = {}
        self._cursor: int | None = None
        self._version = 0

    def read(self) -> dict[str, Value]:
        """Return the values by the id of their memory; damaged memories are left out.

        Raises:
            StorageError: the storage cannot be read.
        """
        with self._lock:
            self._catch_up()
            return dict(self._values)

    def read_newer(self, version: int) -> tuple[int, dict[str, Value] | None]:
        """Return the version of the values, and the values, or None if `version` is theirs.

        The version grows when a value changes, and begins at 1.

        Raises:
            StorageError: the storage cannot be read.
        """
        with self._lock:
            self._catch_up()
            return self._version, None if version == self._version else dict(self._values)

    def _catch_up(self) -> None:
        position = self._storage.position()
        if self._cursor is None or self._cursor > position:
            # An older copy may have replaced the store.
            self._values = dict(self._load_values())
            self._cursor = position
            self._version += 1
        while self._cursor < self._storage.position():
            if not self._follow_changes(self._cursor):
                break

    def _load_values(self) -> Iterator[tuple[str, Value]]:
        criteria = Criteria(kinds=self._kinds, statuses=_CURRENT)
        after: str | None = None
        while True:
            page = self._storage.find(criteria, limit=_PAGE, after=after)
            for memory in page.memories:
                value = self._make(memory) if criteria.admit(memory) else None
                if value is not None:
                    yield memory.id, value
            after = page.next
            if after is None:
                return

    def _follow_changes(self, cursor: int) -> bool:
        """Apply the next changes, and return whether the cursor has moved."""
        changes = self._storage.changes(cursor, limit=_PAGE, models=())
        for change in changes.items:
            memory = None if change.record is None else change.record.memory
            is_followed = (
                memory is not None
                and memory.kind in self._kinds
                and memory.status is Status.CURRENT
            )
            value = self._make(memory) if memory is not None and is_followed else None
            if value is not None:
                self._values[change.id] = value
                self._version += 1
            elif self._values.pop(change.id, None) is not None:
                self._version += 1
        self._cursor = changes.cursor
        return changes.cursor > cursor


class Followers:
    """The followers of an open store, each made at its first use. Thread-safe."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._followers: dict[str, KindFollower[Any]] = {}

    def get(self, name: str, make: Callable[[], KindFollower[Value]]) -> KindFollower[Value]:
        """Return the follower of this name, which `make` returns at the first call."""
        with self._lock:
            if name not in self._followers:
                self._followers[name] = make()
            return self._followers[name]
