"""Where a reminder stands: its state, and where its day lies."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """The state of a reminder."""

    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"


class When(StrEnum):
    """Where a day lies; `LATER` is behind the time asked for.

    `ANYTIME` is a reminder without a date, `DONE` one that a later memory probably ends.
    """

    OVERDUE = "overdue"
    TODAY = "today"
    AHEAD = "ahead"
    LATER = "later"
    ANYTIME = "anytime"
    DONE = "done"


DUE = frozenset({When.OVERDUE, When.TODAY, When.AHEAD})
"""Where an open reminder lies that is due within the time asked for."""
