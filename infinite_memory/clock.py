"""The time, passed in so that a test can set it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "system_clock"]

Clock = Callable[[], datetime]
"""Returns the present moment as an aware datetime in UTC."""


def system_clock() -> datetime:
    """Return the present moment of the operating system's clock, in UTC."""
    return datetime.now(UTC)
