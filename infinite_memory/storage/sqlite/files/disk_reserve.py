"""Disk space held in reserve, so that memories can be forgotten on a full disk."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage

RESERVE_BYTES = 8 << 20
"""Enough to forget a text of 1 MiB softly: its pages and their copy in the history, in the log and
then in the database."""

OPENING_BYTES = 256 << 10
"""Enough for the files that SQLite adds to a database when it opens it."""

_MARGIN_BYTES = 1 << 20

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
            if disk_usage(self._path.parent).free < RESERVE_BYTES - held_bytes + _MARGIN_BYTES:
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
        with open(descriptor, "r+b") as file:  # noqa: PTH123 -- a descriptor, for its mode
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
            else:  # pragma: no cover
                # Not zeros, which a file system may store as a hole.
                file.write(os.urandom(RESERVE_BYTES))
