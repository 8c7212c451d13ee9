"""Memories in the order of time: a table on a terminal, a line each into a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime

from infinite_memory.cli.output import emit_table, terminal
from infinite_memory.cli.render import one_line, standing
from infinite_memory.clock import system_clock
from infinite_memory.model.memory import Memory, Status
from infinite_memory.model.timestamps import show_moment

__all__ = ["emit_rows"]

# On a terminal enough to recognise a memory, in a pipe enough to search in.
_TABLE_CHARS, _PIPE_CHARS = 120, 2000
# A time takes two lines, the date and the time of day.
_WIDTHS = {"When": 11, "Scope": 16}


def emit_rows(memories: Iterable[Memory], zone: str | None) -> None:
    """Write time, scope, kind, text and id of each to standard output."""
    now = system_clock()
    max_chars = _TABLE_CHARS if terminal(sys.stdout) else _PIPE_CHARS
    emit_table(
        ("When", "Scope", "Kind", "Memory"),
        [
            (
                show_moment(memory.happened_at, zone),
                memory.scope,
                _kind(memory, now),
                f"{one_line(memory.text, max_chars=max_chars)}\n{memory.id}",
            )
            for memory in memories
        ],
        widths=_WIDTHS,
    )


def _kind(memory: Memory, now: datetime) -> str:
    """Return the kind of a memory, and where it stands if that is not among the current ones."""
    stands = standing(memory, now)
    return str(memory.kind) if stands == Status.CURRENT else f"{memory.kind}, {stands}"
