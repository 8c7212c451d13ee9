"""A clock for a store, which goes on only when a test moves it."""

from __future__ import annotations

from infinite_memory.testing.pytest_plugin import StoppedClock

__all__ = ["StoppedClock"]
