"""Options of a search: its depth, what it inherits, and the time at which a memory must hold."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import frozen

__all__ = ["Depth", "Inherited", "Mode", "Tense"]


class Depth(StrEnum):
    """Which memories a search covers, and how much of their text it shows.

    `NORMAL`: current memories, whole. `OVERVIEW`: current memories, summaries first, with the
    sentences that answer best. `EXHAUSTIVE`: current, superseded and archived memories, by heading.
    """

    NORMAL = "normal"
    OVERVIEW = "overview"
    EXHAUSTIVE = "exhaustive"


class Mode(StrEnum):
    """Which memories a search covers, by the time at which they hold.

    `CURRENT`: current memories that have not ended, even if they begin later; hits carry the
    memories that they superseded. `STRICT`: only current memories that hold now; a memory that had
    begun when it was stored counts, even if the clock that stored it was ahead. `HISTORY`: current
    and superseded memories, ended or not.
    """

    CURRENT = "current"
    STRICT = "strict"
    HISTORY = "history"


class Inherited(StrEnum):
    """The place of memories that a scope inherits from its parents and from `Global`.

    `MIXED`: in one order with the memories of the scope. `LAST`: behind all memories of the scope.
    `NONE`: left out.
    """

    MIXED = "mixed"
    LAST = "last"
    NONE = "none"


@frozen(kw_only=True)
class Tense:
    """The time at which memories must hold.

    `as_of` is a moment of the past to search, None for none; `now` is the time of the search.
    """

    mode: Mode = Mode.CURRENT
    as_of: datetime | None = None
    now: datetime
