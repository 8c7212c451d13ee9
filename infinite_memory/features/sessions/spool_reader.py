"""The spool as its reader sees it: lines are claimed, read, and removed once they are taken in.

A reader renames the file before it reads it, and deletes it afterwards, so what a process that died
has claimed is read by the next one. Only one reader works at a time, under `READER_LOCK`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import field, frozen

from infinite_memory.core.errors import InvalidInput, StorageUnavailable
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.values.timestamps import read_moment
from infinite_memory.features.sessions.spool import FOLDER, LOCK, PAUSES, SPOOL
from infinite_memory.features.sessions.withheld import Pauses

READER_LOCK = "reader.lock"

_CLAIMED = "claimed-"
_FAILED = "failed.jsonl"
_MAX_SPOOL_BYTES = 32 << 20  # a hook appends no line to more than half of that
_LOCK_SECONDS = 5.0


@frozen(kw_only=True)
class SpoolLine:
    """A transcript to read, as a hook noted it; `reason` says why an earlier reading failed.

    `stamp` is that of the file before it was read; see `stamp_file`. It is not kept.
    """

    client: str
    transcript: str
    folder: str
    reason: str = ""
    stamp: str = ""


@frozen
class Spool:
    """The spool in the folder `home`. Its methods may raise OSError."""

    home: Path
    folder: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "folder", self.home / FOLDER)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing new to read; this takes two calls of the system."""
        return not (self.folder / SPOOL).exists() and not any(self._list_claimed_files())

    def claim(self) -> list[Path]:
        """Rename the spool, so that no hook writes to it any more; return all claimed files.

        Raises:
            StorageUnavailable: a process has held the lock of the spool for too long.
        """
        lock = FileLock(self.folder / LOCK)
        if not lock.acquire(_LOCK_SECONDS):
            raise StorageUnavailable(
                f"{lock.path} was held for {_LOCK_SECONDS:.0f} s: the spool is read the next time"
            )
        try:
            with suppress(FileNotFoundError):
                name = f"{_CLAIMED}{time.time_ns():020d}-{os.getpid()}.jsonl"
                (self.folder / SPOOL).rename(self.folder / name)
        finally:
            lock.release()
        return sorted(self._list_claimed_files())

    def read(self, files: Iterable[Path]) -> list[SpoolLine]:
        """Return the transcripts that the files name or that failed before, without repeats."""
        lines = [*self.failures(), *(line for path in files for line in _read_lines(path))]
        # The last line of a transcript counts: its session may have moved to another folder.
        return list({(line.client, line.transcript): line for line in lines}.values())

    def finish(self, files: Iterable[Path], failures: Iterable[SpoolLine]) -> None:
        """Keep the lines that failed, and then remove the files."""
        document = "".join(f"{json.dumps(_list_values(line))}\n" for line in failures)
        path = self.folder / _FAILED
        if document:
            write_atomically(path, document.encode())
        else:
            path.unlink(missing_ok=True)
        for claimed in files:
            claimed.unlink(missing_ok=True)

    def failures(self) -> list[SpoolLine]:
        """Return the lines whose transcripts could not be read the last time."""
        return list(_read_lines(self.folder / _FAILED))

    def count_waiting(self) -> int:
        """Return how many transcripts wait to be read."""
        files = [self.folder / SPOOL, *self._list_claimed_files()]
        return len({line.transcript for path in files for line in _read_lines(path)})

    def _list_claimed_files(self) -> Iterator[Path]:
        return self.folder.glob(f"{_CLAIMED}*.jsonl")


def load_pauses(home: Path) -> Pauses:
    """Return the pauses that were noted in the spool of `home`.

    Raises:
        OSError: their file cannot be read.
    """
    spans: dict[str, list[tuple[datetime, datetime | None]]] = {}
    for values in _read_objects(home / FOLDER / PAUSES):
        try:
            at = read_moment(_read_text(values, "at"), "UTC")
        except InvalidInput:
            continue
        session = _read_text(values, "session")
        listed = spans.setdefault(session, [])
        if values.get("paused") is True and not (listed and listed[-1][1] is None):
            listed.append((at, None))
        elif values.get("paused") is False:
            # Without a session it ends every pause.
            for each in [listed] if session else spans.values():
                if each and each[-1][1] is None:
                    each[-1] = (each[-1][0], at)
    return Pauses({session: tuple(listed) for session, listed in spans.items()})


def _read_lines(path: Path) -> Iterator[SpoolLine]:
    """Yield the lines of a file that name a transcript; none if there is no file."""
    for values in _read_objects(path):
        if _read_text(values, "transcript"):
            yield SpoolLine(
                client=_read_text(values, "client"),
                transcript=_read_text(values, "transcript"),
                folder=_read_text(values, "folder"),
                reason=_read_text(values, "reason"),
            )


def _read_objects(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with open_regular(path) as file:
            content = file.read(_MAX_SPOOL_BYTES)
    except FileNotFoundError:
        return
    for line in content.splitlines():
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a full disk has cut it
        if isinstance(values, dict):
            yield values


def _read_text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _list_values(line: SpoolLine) -> dict[str, str]:
    return {
        "client": line.client,
        "transcript": line.transcript,
        "folder": line.folder,
        "reason": line.reason,
    }
