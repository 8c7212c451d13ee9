"""A server process whose clock is a file, so that a year passes in minutes."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from attrs import frozen

_CLOCKED = """
import pathlib, runpy, sys
from datetime import datetime
from functools import partial
from infinite_memory import MemoryStore
place = pathlib.Path(sys.argv.pop(1))
MemoryStore.open = partial(
    MemoryStore.open, clock=lambda: datetime.fromisoformat(place.read_text(encoding="utf-8"))
)
runpy.run_module("infinite_memory_mcp", run_name="__main__", alter_sys=True)
"""


@frozen
class FileClock:
    """A clock that other processes read from a file."""

    path: Path

    def set(self, now: datetime) -> None:
        """Let it be `now`; a reader sees the moment before or this one, and nothing between."""
        written = self.path.with_suffix(".new")
        written.write_text(now.isoformat(), encoding="utf-8")
        written.replace(self.path)


def clocked_command(home: Path, clock: FileClock, *flags: str) -> list[str]:
    """Return the command of the product's server on the store in `home`, with another clock."""
    program = [sys.executable, "-c", _CLOCKED, str(clock.path)]
    return [*program, "--structured", "--home", str(home), *flags]
