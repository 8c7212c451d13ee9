"""The marker of a store, a small file beside the database."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from infinite_memory.core.errors import StorageUnavailable, StoreDamaged
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.regular import read_regular

_LINE = re.compile(r"Infinite Memory store ([0-9a-f-]{36})\n")
_EARLIER_LINE = re.compile(rb"infinite-memory store [0-9a-f-]{36}\n")


def read_marker(path: Path) -> str | None:
    """Return the identity of the store that `path` marks, or None if there is no marker.

    Raises:
        StoreDamaged: the file does not read as a marker.
        StorageUnavailable: the file cannot be read.
    """
    content = _read_marker(path)
    if content is None:
        return None
    match = _LINE.fullmatch(content.decode("ascii", errors="replace"))
    if match is None:
        raise StoreDamaged(
            f"{path} is not a readable marker of a store, so the database beside it is suspect "
            "too and was left alone: restore a backup, or, if you know that the database is good, "
            "remove the marker"
        )
    return match[1]


def is_earlier_marker(path: Path) -> bool:
    """Return whether `path` marks the store of a development version before schema 1."""
    content = _read_marker(path)
    return content is not None and _EARLIER_LINE.fullmatch(content) is not None


def _read_marker(path: Path) -> bytes | None:
    """Return the content of the file `path`, None if there is no file."""
    try:
        mode = path.lstat().st_mode
        # Reading a pipe would block for ever.
        return read_regular(path) if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else b""
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageUnavailable(
            f"{path} cannot be read: {error.strerror}: check the folder and its permissions"
        ) from error


def write_marker(path: Path, identity: str) -> None:
    """Write the marker of the store `identity`, whole or not at all, durably."""
    write_atomically(path, f"Infinite Memory store {identity}\n".encode("ascii"))
