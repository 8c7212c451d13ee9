"""Which scheduled backups are kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

_Name = TypeVar("_Name")


def choose_outdated(
    backups: Sequence[tuple[_Name, datetime]], *, daily: int, weekly: int
) -> list[_Name]:
    """Return the scheduled backups to delete, given with the times at which they were made.

    The newest backup is kept of each of the last `daily` days, and of the last `weekly` weeks, that
    have a backup. Days and weeks are in UTC, and weeks begin on Monday.
    """
    newest_first = sorted(backups, key=lambda backup: backup[1], reverse=True)
    days: dict[object, _Name] = {}
    weeks: dict[object, _Name] = {}
    for name, made_at in newest_first:
        day = made_at.astimezone(UTC).date()
        days.setdefault(day, name)
        weeks.setdefault(day.isocalendar()[:2], name)
    kept = [*list(days.values())[:daily], *list(weeks.values())[:weekly]]
    return [name for name, _ in newest_first if name not in kept]
