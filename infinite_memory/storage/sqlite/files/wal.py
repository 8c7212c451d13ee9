"""The write-ahead log as a file: what SQLite would pass over in it without a word.

SQLite reads nothing of a log whose header is damaged. That is right after a power cut in the middle
of writing that header, which is written anew only once all of the log is in the database and before
anything else is written behind it. If the log holds pages that the database does not, then the
header was damaged in another way, and what was acknowledged would be gone.

Format and checksum are those of "WAL File Format", https://sqlite.org/fileformat2.html#walformat.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw

__all__ = ["passed_over"]

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = (0x377F0682, 0x377F0683)
_VERSION = 3007000
_NATIVE = "<" if sys.byteorder == "little" else ">"
_32_BITS = 0xFFFFFFFF

_Sums = tuple[int, int]


def passed_over(database: Path, log: Path, page_bytes: int, vfs: str | None) -> int:
    """Return how many pages are in a log that SQLite will not read and not in the database.

    Both files are read through SQLite. The caller holds the writers' lock.
    """
    with_log = _Reader(log, apsw.SQLITE_OPEN_WAL, vfs)
    try:
        if with_log.size <= _HEADER.size or _is_sound(with_log.read(_HEADER.size, 0)):
            return 0
        committed = dict(_committed(with_log, page_bytes))
        if not committed:
            return 0
        main = _Reader(database, apsw.SQLITE_OPEN_MAIN_DB, vfs)
        try:
            return sum(
                with_log.read(page_bytes, offset) != main.read(page_bytes, (page - 1) * page_bytes)
                for page, offset in committed.items()
            )
        finally:
            main.close()
    finally:
        with_log.close()


class _Reader:
    """A file that is read through SQLite, whose locks on it would be lost otherwise."""

    def __init__(self, path: Path, kind: int, vfs: str | None) -> None:
        self._file = apsw.VFSFile(vfs or "", str(path), [kind | apsw.SQLITE_OPEN_READONLY, 0])
        self.size: int = self._file.xFileSize()

    def read(self, length: int, offset: int) -> bytes:
        """Return so many bytes, or as many as there are."""
        wanted = max(0, min(length, self.size - offset))
        return bytes(self._file.xRead(wanted, offset)) if wanted else b""

    def close(self) -> None:
        """Close the file."""
        self._file.xClose()


def _is_sound(header: bytes) -> bool:
    magic, version, *_, first, second = _HEADER.unpack(header)
    if magic not in _MAGIC or version != _VERSION:
        return False
    order = ">" if magic & 1 else "<"
    return _summed(header[:24], (0, 0), order) == (first, second)


def _committed(log: _Reader, page_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield the number of each page in the commits of the log, and where it is, oldest first.

    The first frame says how those behind it begin: its own checksum follows from the header.
    """
    waiting: list[tuple[int, int]] = []
    salts: tuple[int, int] | None = None
    sums: _Sums = (0, 0)
    step = _FRAME.size + page_bytes
    for offset in range(_HEADER.size, log.size - step + 1, step):
        frame = log.read(step, offset)
        page, pages_after, *pair, first, second = _FRAME.unpack_from(frame)
        if salts is None:
            salts, sums = (pair[0], pair[1]), (first, second)
        else:
            sums = _summed(frame[_FRAME.size :], _summed(frame[:8], sums, _NATIVE), _NATIVE)
        if not page or salts != (pair[0], pair[1]) or sums != (first, second):
            return
        waiting.append((page, offset + _FRAME.size))
        if pages_after:
            yield from waiting
            waiting = []


def _summed(content: bytes, sums: _Sums, order: str) -> _Sums:
    """Go on with the checksum of a log over whole pairs of 32 bits."""
    one, two = sums
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        one = (one + even + two) & _32_BITS
        two = (two + odd + one) & _32_BITS
    return one, two
