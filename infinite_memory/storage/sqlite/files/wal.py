"""Finds pages in a write-ahead log that SQLite would skip silently.

SQLite ignores a log whose header is damaged. That is correct after a power cut during a write of
the header, because SQLite rewrites the header only after all of the log is in the database, and
before it appends to the log. If the log holds pages that the database lacks, the header was damaged
differently, and acknowledged commits would be lost.

Format and checksum follow "WAL File Format", https://sqlite.org/fileformat2.html#walformat.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = (0x377F0682, 0x377F0683)
_VERSION = 3007000
_NATIVE = "<" if sys.byteorder == "little" else ">"
_32_BITS = 0xFFFFFFFF

_Sums = tuple[int, int]


def count_skipped_pages(database: Path, log: Path, page_bytes: int, vfs: str | None) -> int:
    """Return how many pages of a log that SQLite ignores are missing from the database.

    Both files are read through SQLite. The caller holds the writers' lock.
    """
    with_log = _Reader(log, apsw.SQLITE_OPEN_WAL, vfs)
    try:
        if with_log.size <= _HEADER.size or _is_sound(with_log.read(_HEADER.size, 0)):
            return 0
        committed = dict(_list_committed_pages(with_log, page_bytes))
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
    """Reads a file through SQLite; an ordinary `open` and `close` would drop its locks."""

    def __init__(self, path: Path, kind: int, vfs: str | None) -> None:
        self._file = apsw.VFSFile(vfs or "", str(path), [kind | apsw.SQLITE_OPEN_READONLY, 0])
        self.size: int = self._file.xFileSize()

    def read(self, length: int, offset: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer at the end of the file."""
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
    return _update_checksum(header[:24], (0, 0), order) == (first, second)


def _list_committed_pages(log: _Reader, page_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield the number and the offset of every committed page in the log, oldest first.

    The salts and the checksum of the first frame are taken as correct, since its checksum depends
    on the damaged header; all later frames are checked against them.
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
            head_sums = _update_checksum(frame[:8], sums, _NATIVE)
            sums = _update_checksum(frame[_FRAME.size :], head_sums, _NATIVE)
        if not page or salts != (pair[0], pair[1]) or sums != (first, second):
            return
        waiting.append((page, offset + _FRAME.size))
        if pages_after:
            yield from waiting
            waiting = []


def _update_checksum(content: bytes, sums: _Sums, order: str) -> _Sums:
    """Return the checksum of a log after `content`, a whole number of pairs of 32-bit words."""
    first, second = sums
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _32_BITS
        second = (second + odd + first) & _32_BITS
    return first, second
