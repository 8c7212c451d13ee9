"""How far a search looks, how much it shows, and at which time a memory must hold."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import frozen

__all__ = ["Depth", "Mode", "Tense"]


class Depth(StrEnum):
    """How far a search looks, and how much of each memory it shows.

    `NORMAL`: current memories, whole. `OVERVIEW`: current memories; summaries first, then the
    sentences of each that answer best. `EXHAUSTIVE`: current, superseded and archived ones, by
    their headings.
    """

    NORMAL = "normal"
    OVERVIEW = "overview"
    EXHAUSTIVE = "exhaustive"


class Mode(StrEnum):
    """Which memories are meant, by when they hold.

    `CURRENT`: current ones that have not ended, also those that begin later; of a search they
    bring along what they superseded. `STRICT`: only current ones that hold at this moment,
    and those that had begun when they were stored, by a clock that was ahead of this one.
    `HISTORY`: current and superseded ones, ended or not.
    """

    CURRENT = "current"
    STRICT = "strict"
    HISTORY = "history"


@frozen(kw_only=True)
class Tense:
    """When the memories that a caller means must have held.

    `as_of` is the moment that was asked about, None without; `now` is when it was asked.
    """

    mode: Mode = Mode.CURRENT
    as_of: datetime | None = None
    now: datetime
