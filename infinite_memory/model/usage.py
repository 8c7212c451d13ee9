"""Usage: how often a memory was recalled, and when last."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

__all__ = ["Usage"]


@frozen(kw_only=True)
class Usage:
    """How often a person or their assistant recalled a memory, and when they last did.

    To use a memory is no revision of it: this is kept beside it, and is no part of its history.
    """

    count: int
    last: datetime

    def plus(self, other: Usage) -> Usage:
        """Return both together."""
        return Usage(count=self.count + other.count, last=max(self.last, other.last))
