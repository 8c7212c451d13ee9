"""The record of reads: who was shown which memories, and when; kept beside the journal."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Protocol

from attrs import frozen

from infinite_memory.core.config import Audit
from infinite_memory.core.observe.rotating_file import RotatingFile
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.entry import Actor

_log = logging.getLogger(__name__)
_MAX_IN_MEMORY = 10_000


@frozen(kw_only=True)
class Read(PlainData):
    """A call that showed memories to somebody; it holds neither texts nor the question.

    `operation` is the method of the store, such as "search". `memories` are the ids of the memories
    in the result, in its order; none if nothing was found.
    """

    at: datetime
    actor: Actor
    operation: str
    memories: tuple[str, ...]


class ReadLog(Protocol):
    """Keeps reads, newest first, in bounded space. Every method may be called from any thread."""

    @property
    def failure(self) -> str | None:
        """Why the last read could not be recorded, None if it was."""

    def append(self, read: Read) -> None:
        """Record a read. A failure is logged, and does not fail the read."""

    def read_backwards(self) -> Iterator[Read]:
        """Yield every read that is kept, the newest first."""


class MemoryReadLog:
    """Keeps the last 10,000 reads in memory, for a store that has no folder."""

    def __init__(self) -> None:
        self._reads: deque[Read] = deque(maxlen=_MAX_IN_MEMORY)

    @property
    def failure(self) -> str | None:
        """None: nothing can fail."""
        return None

    def append(self, read: Read) -> None:
        """Record a read."""
        self._reads.append(read)

    def read_backwards(self) -> Iterator[Read]:
        """Yield every read that is kept, the newest first."""
        yield from reversed(list(self._reads))


class FileReadLog:
    """Keeps reads in a rotating file, a JSON object a line, which several processes may share."""

    def __init__(self, path: Path, settings: Audit) -> None:
        """Keep the reads in the file `path`, which the first read creates."""
        self._file = RotatingFile(path, max_bytes=settings.max_bytes, backups=settings.backups)
        self._failure: str | None = None

    @property
    def failure(self) -> str | None:
        """Why the last read could not be recorded, None if it was."""
        return self._failure

    def append(self, read: Read) -> None:
        """Record a read. A failure is logged, and does not fail the read."""
        try:
            self._file.write(_write_line(read))
        except OSError as error:
            if self._failure is None:
                _log.warning("reads cannot be recorded: %s", error)
            self._failure = f"{self._file.path} cannot be written ({error.strerror})"
        else:
            self._failure = None

    def read_backwards(self) -> Iterator[Read]:
        """Yield every read that is kept, the newest first; a damaged line is left out."""
        for line in self._file.read_backwards():
            read = _read_line(line)
            if read is not None:
                yield read


def _write_line(read: Read) -> str:
    actor = read.actor
    return json.dumps(
        {
            "at": iso(read.at),
            "client": actor.client,
            "process": actor.process,
            **({"key": actor.key} if actor.key else {}),
            "operation": read.operation,
            "memories": list(read.memories),
        }
    )


def _read_line(line: str) -> Read | None:
    try:
        fields = json.loads(line)
        return Read(
            at=datetime.fromisoformat(fields["at"]),
            actor=Actor(
                client=str(fields["client"]),
                process=str(fields["process"]),
                key=str(fields.get("key", "")),
            ),
            operation=str(fields["operation"]),
            memories=tuple(map(str, fields["memories"])),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
