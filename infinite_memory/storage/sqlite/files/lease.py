"""The lease of the upkeep: a lock on a file, and a file with its number and the notes of the jobs.

Both files may be lost: the next lease has a greater number all the same, and jobs begin at the
start.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.locks import FileLock, is_locked
from infinite_memory.core.files.regular import open_regular
from infinite_memory.storage.sqlite.files.paths import Places

_MAX_BYTES = 1 << 20


@frozen(kw_only=True)
class UpkeepFile:
    """The number and the holder of the last lease, and the notes of the jobs."""

    number: int = 0
    holder: str = ""
    notes: Mapping[str, str] = field(factory=dict)


class SqliteLease:
    """A lease that is held as long as its process holds the lock; see `Lease`."""

    def __init__(self, lock: FileLock, file: Path, number: int) -> None:
        self._lock = lock
        self._file = file
        self.number = number

    def renew(self) -> bool:
        """Return whether the lease is still held.

        It is not if the file with its number was lost or removed: no commit would be accepted.
        """
        return self._lock.is_open and read_upkeep(self._file).number == self.number

    def release(self) -> None:
        """Give the lease up; twice does nothing."""
        self._lock.release()


class Leases:
    """The lease of a store, and the notes of its jobs; `alone` is the lock of the writers."""

    def __init__(self, places: Places, alone: Callable[[], AbstractContextManager[object]]) -> None:
        self._lock = places.upkeep_lock
        self._file = places.upkeep
        self._alone = alone

    def take(self, holder: str) -> SqliteLease | None:
        """Return the lease if nobody holds it.

        Raises:
            StorageUnavailable: a file cannot be used.
        """
        lock = FileLock(self._lock)
        if not lock.try_acquire():
            return None
        try:
            with self._alone():
                known = read_upkeep(self._file)
                # Should the file have been lost: the time is later than at every earlier lease.
                number = max(known.number + 1, time.time_ns())
                _write_upkeep(self._file, evolve(known, number=number, holder=holder))
        except BaseException:  # whatever refuses or interrupts it
            lock.release()
            raise
        return SqliteLease(lock, self._file, number)

    def holder(self) -> str | None:
        """Return who holds the lease, None if nobody does.

        Raises:
            StorageUnavailable: a file cannot be used.
        """
        if not self._lock.exists() or not is_locked(self._lock):
            return None
        return read_upkeep(self._file).holder or "another process"

    def notes(self) -> dict[str, str]:
        """Return the notes of the jobs.

        Raises:
            StorageUnavailable: the file cannot be read.
        """
        return dict(read_upkeep(self._file).notes)

    def add_notes(self, notes: Mapping[str, str]) -> None:
        """Add notes, and remove notes with an empty text.

        Raises:
            StorageUnavailable: the file cannot be used.
        """
        with self._alone():
            known = read_upkeep(self._file)
            merged = {**known.notes, **notes}
            kept = {name: text for name, text in merged.items() if text}
            _write_upkeep(self._file, evolve(known, notes=kept))


def read_upkeep(file: Path) -> UpkeepFile:
    """Return the content of the file; that of none if it is damaged or missing.

    Raises:
        StorageUnavailable: the system refuses to read it.
    """
    try:
        with open_regular(file) as stream:
            content = stream.read(_MAX_BYTES)
    except FileNotFoundError:
        return UpkeepFile()
    except OSError as error:
        raise StorageUnavailable(
            f"{file} cannot be read: {error.strerror}: check its permissions"
        ) from error
    try:
        return _decode_file(json.loads(content))
    except (ValueError, TypeError, KeyError, RecursionError):
        return UpkeepFile()


def _decode_file(value: Any) -> UpkeepFile:
    number, holder, notes = value["number"], value["holder"], value["notes"]
    if not isinstance(notes, dict):
        raise TypeError("the notes have another type")
    texts = [holder, *notes, *notes.values()]
    if type(number) is not int or not all(isinstance(text, str) for text in texts):
        raise ValueError("a value has another type")
    return UpkeepFile(number=number, holder=holder, notes=notes)


def _write_upkeep(file: Path, content: UpkeepFile) -> None:
    """Replace the file; the caller holds the lock of the writers.

    Raises:
        StorageUnavailable: it cannot be written.
    """
    fields = {"number": content.number, "holder": content.holder, "notes": dict(content.notes)}
    try:
        write_atomically(file, json.dumps(fields, ensure_ascii=False).encode())
    except OSError as error:
        raise StorageUnavailable(
            f"{file} cannot be written: {error.strerror}: make room, or check the permissions"
        ) from error
