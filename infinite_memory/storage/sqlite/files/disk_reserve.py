"""Disk space held in reserve, so that memories can be forgotten on a full disk."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

RESERVE_BYTES = 8 << 20
"""Enough to forget a text of 1 MiB softly: its pages and their copy in the history, in the log and
then in the database."""

OPENING_BYTES = 256 << 10
"""Enough for the files that SQLite adds to a database when it opens it."""

_MARGIN_BYTES = 1 << 20
_BLOCK = 1 << 16

_logger = logging.getLogger("infinite_memory.storage")


class Reserve:
    """A file that only occupies disk space. Used under the writers' lock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fill(self) -> bool:
        """Fill the reserve if the disk has room for it and a margin; return whether it is full.

        A failure is logged, since it must not prevent the operation of the caller.
        """
        try:
            held_bytes = self._count_held_bytes()
            if held_bytes >= RESERVE_BYTES:
                return True
            if _count_free_bytes(self._path.parent) < RESERVE_BYTES - held_bytes + _MARGIN_BYTES:
                return False
            self._allocate_bytes()
        except OSError as error:
            _logger.info("%s could not be reserved: %s", self._path, error)
            with suppress(OSError):
                self._path.unlink()
            return False
        return True

    def give(self, size_bytes: int) -> bool:
        """Give `size_bytes` of the reserve back to the disk; return whether it held any."""
        held_bytes = self._count_held_bytes()
        if not held_bytes:
            return False
        try:
            if held_bytes <= size_bytes:
                self._path.unlink()
            else:
                os.truncate(self._path, held_bytes - size_bytes)
        except OSError as error:
            _logger.warning("%s could not be deleted: %s", self._path, error)
            return False
        return True

    def _count_held_bytes(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def _allocate_bytes(self) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
            else:  # pragma: no cover
                # Not zeros, which a file system may store as a hole.
                for start in range(0, RESERVE_BYTES, _BLOCK):
                    os.lseek(descriptor, start, os.SEEK_SET)
                    os.write(descriptor, os.urandom(_BLOCK))
        finally:
            os.close(descriptor)


def _count_free_bytes(folder: Path) -> int:
    if not hasattr(os, "statvfs"):  # pragma: no cover
        return RESERVE_BYTES + _MARGIN_BYTES
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize
