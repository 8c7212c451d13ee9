"""A clock for a store, which goes on only when a test moves it."""

from __future__ import annotations

from datetime import datetime


class StoppedClock:
    """Stands still at `now`, which a test may set."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now
