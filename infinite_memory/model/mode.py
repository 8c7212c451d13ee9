"""Which truth is asked for: what holds now, what held then, or all that ever did."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import frozen

__all__ = ["Mode", "Tense"]


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
