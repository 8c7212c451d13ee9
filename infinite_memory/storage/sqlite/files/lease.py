"""The lease of the upkeep: a lock on a file, and a file with its number and the notes of the jobs.

Both files are derived: without them the next lease begins, and the jobs begin at the start.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from infinite_memory.errors import StorageUnavailable
from infinite_memory.files.atomic import write_atomically
from infinite_memory.files.locks import FileLock, is_locked

__all__ = ["SqliteLease", "UpkeepFile", "begin_lease", "find_holder", "read_upkeep", "write_upkeep"]

_MAX_BYTES = 1 << 20


@frozen(kw_only=True)
class UpkeepFile:
    """The number and the holder of the last lease, and the notes of the jobs."""

    number: int = 0
    holder: str = ""
    notes: Mapping[str, str] = field(factory=dict)


class SqliteLease:
    """A lease that is held as long as its process holds the lock; see `Lease`."""

    def __init__(self, lock: FileLock, number: int) -> None:
        self._lock = lock
        self.number = number

    def renew(self) -> bool:
        """Return whether the lease is still held."""
        return self._lock.is_open

    def release(self) -> None:
        """Give the lease up; twice does nothing."""
        self._lock.release()


def begin_lease(lock: FileLock, file: Path, holder: str) -> SqliteLease:
    """Return a new lease; the caller holds `lock`, and the lock of the writers.

    Raises:
        StorageUnavailable: the file cannot be used.
    """
    known = read_upkeep(file)
    number = known.number + 1
    write_upkeep(file, evolve(known, number=number, holder=holder))
    return SqliteLease(lock, number)


def find_holder(lock: Path, file: Path) -> str | None:
    """Return who holds the lease, None if nobody does.

    Raises:
        StorageUnavailable: a file cannot be used.
    """
    if not lock.exists() or not is_locked(lock):
        return None
    return read_upkeep(file).holder or "another process"


def read_upkeep(file: Path) -> UpkeepFile:
    """Return the content of the file; if it cannot be read, a number that nobody has yet.

    Raises:
        StorageUnavailable: the system refuses to read it.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_BYTES)
    except FileNotFoundError:
        return UpkeepFile()
    except OSError as error:
        raise StorageUnavailable(
            f"{file} cannot be read: {error.strerror}: check its permissions"
        ) from error
    try:
        return _decode(json.loads(content))
    except (ValueError, TypeError, KeyError, RecursionError):
        # The seconds since 1970 are more than all the leases there ever were.
        return UpkeepFile(number=int(time.time()))


def _decode(value: Any) -> UpkeepFile:
    number, holder, notes = value["number"], value["holder"], value["notes"]
    texts = [holder, *notes, *notes.values()]
    if type(number) is not int or not all(isinstance(text, str) for text in texts):
        raise ValueError("a value has another type")
    return UpkeepFile(number=number, holder=holder, notes=notes)


def write_upkeep(file: Path, content: UpkeepFile) -> None:
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
