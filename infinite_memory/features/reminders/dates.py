"""Dated reminders: when they are due."""

from __future__ import annotations

from datetime import datetime

from infinite_memory.core.values.memory import Memory


def due_at(reminder: Memory) -> datetime | None:
    """Return the time of a reminder, None if it was stored without a time."""
    if reminder.valid_from is not None or reminder.valid_to is not None:
        return reminder.valid_from or reminder.valid_to
    # Without a time of its own it happened when it was stored.
    return reminder.happened_at if reminder.happened_at > reminder.stored_at else None
