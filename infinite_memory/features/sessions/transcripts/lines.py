"""Reads the JSON objects of a file, line by line, as long as the lines are whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import IO, Any

from infinite_memory.core.files.regular import open_regular

_MAX_LINE_BYTES = 8 << 20
_CHUNK_BYTES = 1 << 20


def read_objects(path: Path, position: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the objects from `position` on, with the position behind their line.

    A last line without a line feed is still being written, so it is left for a later reading. A
    line of more than 8 MiB, or without a JSON object, is skipped. Bytes that are no UTF-8 become
    U+FFFD. If the file is shorter than `position`, it is another one, and is read from its start.

    Raises:
        OSError: the file cannot be read.
    """
    for _, value, end in _read(path, position):
        yield value, end


def read_numbered(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file with the number of their line, from 1; see `read_objects`.

    Raises:
        OSError: the file cannot be read.
    """
    for number, value, _ in _read(path, 0):
        yield number, value


def _read(path: Path, position: int) -> Iterator[tuple[int, dict[str, Any], int]]:
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(position if position <= size else 0)
        for number in count(1):
            line = file.readline(_MAX_LINE_BYTES)
            if not line:
                return
            if not line.endswith(b"\n"):
                if not _skip_line(file):
                    return
                continue
            value = _parse(line)
            if value is not None:
                yield number, value, file.tell()


def _skip_line(file: IO[bytes]) -> bool:
    """Skip the rest of a long line; return whether it has an end."""
    while chunk := file.readline(_CHUNK_BYTES):
        if chunk.endswith(b"\n"):
            return True
    return False


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
