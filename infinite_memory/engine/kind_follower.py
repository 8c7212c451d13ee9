"""Follow the memories of some kinds, as values that are made of them once, and usage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any, Generic, TypeVar

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.record import Usage
from infinite_memory.storage.keys import usage_changes

_PAGE = 1000
_MOST_FOLLOWERS = 32
_CURRENT = frozenset({Status.CURRENT})
_END = 2**63 - 1

Value = TypeVar("Value")


class KindFollower(Generic[Value]):
    """The memories that meet criteria as values, as of the last commit of any process.

    Of kinds alone these are the current ones. `make` returns the value of a memory, None to leave
    it out. The first read finds the memories by the criteria; later reads follow the change feed.
    Every method may be called from any thread.
    """

    def __init__(
        self,
        storage: Storage,
        followed: Collection[Kind] | Criteria,
        make: Callable[[Memory], Value | None],
    ) -> None:
        """Follow the memories in `storage`; nothing is read before the first call."""
        self._storage = storage
        if not isinstance(followed, Criteria):
            followed = Criteria(kinds=frozenset(followed), statuses=_CURRENT)
        self._criteria = followed
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
        criteria = self._criteria
        after: str | None = None
        while True:
            page = self._storage.find(criteria, limit=_PAGE, after=after)
            for memory in page.memories:
                value = self._make(memory)
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
            is_followed = memory is not None and self._criteria.admit(memory)
            value = self._make(memory) if memory is not None and is_followed else None
            if value is not None:
                self._values[change.id] = value
                self._version += 1
            elif self._values.pop(change.id, None) is not None:
                self._version += 1
        self._cursor = changes.cursor
        return changes.cursor > cursor


class UsageFollower:
    """The usage of the memories that were asked for, as of the last commit of any process.

    Each is read once, and again when it has changed, where the storage has a feed of usage.
    """

    def __init__(self, storage: Storage) -> None:
        """Follow the usage in `storage`; nothing is read before the first call."""
        self._storage = storage
        self._lock = threading.Lock()
        self._read: dict[str, Usage | None] = {}
        self._cursor = _END

    def read(self, ids: Collection[str]) -> dict[str, Usage]:
        """Return the usage of the memories `ids`, without memories that were never used.

        Raises:
            StorageError: the storage cannot be read.
        """
        with self._lock:
            if not self._catch_up():
                return self._storage.usage(ids)
            new = [memory_id for memory_id in ids if memory_id not in self._read]
            if new:
                self._read |= {**dict.fromkeys(new), **self._storage.usage(new)}
            return {name: usage for name in ids if (usage := self._read[name]) is not None}

    def _catch_up(self) -> bool:
        """Forget what has changed; return False if the storage cannot tell."""
        while (changes := usage_changes(self._storage, self._cursor, limit=_PAGE)) is not None:
            ids, cursor = changes
            if cursor < self._cursor or "" in ids:  # another content has replaced the store
                self._read.clear()
            for memory_id in ids:
                self._read.pop(memory_id, None)
            self._cursor = cursor
            if len(ids) < _PAGE:
                return True
        return False


class Followers:
    """The followers of an open store, each made at its first use. Thread-safe."""

    def __init__(self, storage: Storage) -> None:
        """Start with none, on `storage`."""
        self.usage = UsageFollower(storage)
        self._lock = threading.Lock()
        self._followers: dict[str, KindFollower[Any]] = {}

    def get(self, name: str, make: Callable[[], KindFollower[Value]]) -> KindFollower[Value]:
        """Return the follower of this name, which `make` returns at the first call.

        The one that was not asked for the longest is dropped where there are too many.
        """
        with self._lock:
            follower = self._followers.pop(name, None) or make()
            self._followers[name] = follower
            if len(self._followers) > _MOST_FOLLOWERS:
                del self._followers[next(iter(self._followers))]
            return follower
