"""The spool: the file in which hooks note the sessions whose transcripts are to be read.

Only the standard library is imported, because a client waits for the hook. A line is one JSON
object. Any number of processes append at once; a reader that holds `LOCK` exclusively may rename
the file, since every append holds the same lock shared.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
else:
    import fcntl

FOLDER = "spool"
"""The folder of the spool in the home folder."""

SPOOL = "spool.jsonl"
PAUSES = "pauses.jsonl"
LOCK = "append.lock"

_MAX_BYTES = 16 << 20
_LOCK_SECONDS = 1.0
_STEP_SECONDS = 0.001


def append_line(home: Path, values: Mapping[str, object], *, name: str = SPOOL) -> None:
    """Append `values` as one line to a file of the spool in `home`, created if it does not exist.

    Raises:
        OSError: the line could not be written, or the file is full because nothing reads it.
    """
    folder = home / FOLDER
    # The line feed before it ends a line that a full disk has cut.
    line = f"\n{json.dumps(values)}\n".encode()
    try:
        _append_bytes(folder, name, line)
    except FileNotFoundError:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        _append_bytes(folder, name, line)


def note_pause(home: Path, session: str, *, paused: bool) -> None:
    """Note that a session, "" for all sessions, is paused or goes on from now on.

    Raises:
        OSError: it could not be written.
    """
    now = time.time()
    at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1e6):06d}Z"
    append_line(home, {"at": at, "session": session, "paused": paused}, name=PAUSES)


def _append_bytes(folder: Path, name: str, line: bytes) -> None:
    with _hold_shared_lock(folder / LOCK):
        # A pipe that nobody reads would keep the client waiting.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(folder / name, flags, 0o600)
        try:
            if os.fstat(descriptor).st_size > _MAX_BYTES:
                raise OSError(f"{folder / name} is full: no server or command has read it")
            written = os.write(descriptor, line)
        finally:
            os.close(descriptor)
    if written < len(line):
        raise OSError(f"{folder / name}: only {written} of {len(line)} bytes were written")


@contextmanager
def _hold_shared_lock(path: Path) -> Iterator[None]:
    """Hold the lock of the spool for a moment, or go on without it after a second.

    A reader holds the lock only to rename a file. If a stopped process holds it, an append without
    it is better than none.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        while not _try_lock(descriptor) and time.monotonic() < deadline:
            time.sleep(_STEP_SECONDS)
        yield
    finally:
        os.close(descriptor)  # which also unlocks it


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":  # pragma: no cover
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
