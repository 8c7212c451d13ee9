"""What was shown to a session unasked: the ids of memories, in a file of the session.

The file is in `run/shown` of the home folder, so that whichever server answers the next hook of the
session knows of it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import frozen

from infinite_memory.core.files.regular import open_regular

_FOLDER = ("run", "shown")
_KEPT_SECONDS = 30 * 24 * 3600
_MAX_BYTES = 1 << 20


@frozen
class ShownMemories:
    """The memories that the session with an id was shown unasked; without an id none are kept."""

    home: Path
    session: str

    @property
    def _path(self) -> Path:
        name = sha256(self.session.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.home.joinpath(*_FOLDER, f"{name}.jsonl")

    def read(self) -> frozenset[str]:
        """Return the ids of the memories that were shown."""
        return frozenset(memory_id for line in self._read_lines() for memory_id in line["ids"])

    def read_begin(self, now: datetime) -> datetime:
        """Return when the session began as far as is known: `now`, which is noted, if it is new."""
        for line in self._read_lines():
            with suppress(OverflowError, OSError):
                return datetime.fromtimestamp(line["at"], UTC)
        self.add("start", (), tokens=0, at=now)
        return now

    def _read_lines(self) -> Iterator[dict[str, Any]]:
        if not self.session:
            return
        lines: list[bytes] = []
        with suppress(OSError), open_regular(self._path) as file:
            lines = file.read(_MAX_BYTES).splitlines()
        for text in lines:
            # A line that a full disk has cut, or that somebody else wrote, tells nothing.
            with suppress(ValueError, RecursionError):
                line = json.loads(text)
                if (
                    isinstance(line, dict)
                    and isinstance(line.get("at"), int)
                    and isinstance(line.get("ids"), list)
                    and all(isinstance(memory_id, str) for memory_id in line["ids"])
                ):
                    yield line

    def add(self, moment: str, ids: Iterable[str], *, tokens: int, at: datetime) -> None:
        """Note what was shown at a moment of the session; a failure leaves it out."""
        line = {"moment": moment, "at": int(at.timestamp()), "ids": [*ids], "tokens": tokens}
        if self.session:
            with suppress(OSError):
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(line)}\n")

    def forget(self) -> None:
        """Forget what was shown, since the session begins anew; and every file of a month ago."""
        before = time.time() - _KEPT_SECONDS
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
            for path in self._path.parent.iterdir():
                if path.stat().st_mtime < before:
                    path.unlink(missing_ok=True)
