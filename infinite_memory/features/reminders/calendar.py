"""What comes as a calendar that other programs read: iCalendar, RFC 5545."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, timedelta

from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.reminders.coming import Coming, ComingDay
from infinite_memory.features.reminders.states import DUE

_LINE_BYTES = 75
_ESCAPED = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n", "\r": None})


def write_calendar(coming: Coming, zone: str | None) -> tuple[str, int]:
    """Return the calendar of the open reminders with a date and of the days that texts name.

    Also the number of its events. Each has the id of its memory, so that a calendar that is read
    again has it once; a day without a time lies in the `zone`.
    """
    days = [day for day in coming.days if day.when in DUE]
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Infinite Memory//EN"]
    for day in days:
        lines += _write_event(day, coming, zone)
    lines.append("END:VCALENDAR")
    return "".join(f"{piece}\r\n" for line in lines for piece in _fold(line)), len(days)


def _write_event(day: ComingDay, coming: Coming, zone: str | None) -> Iterator[str]:
    memory, local = day.memory, in_zone(day.at, zone).date()
    yield "BEGIN:VEVENT"
    yield f"UID:{memory.id.translate(_ESCAPED)}@infinite-memory"
    yield f"DTSTAMP:{coming.at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    if day.is_timed:
        yield f"DTSTART:{day.at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    else:
        yield f"DTSTART;VALUE=DATE:{local:%Y%m%d}"
        yield f"DTEND;VALUE=DATE:{local + timedelta(days=1):%Y%m%d}"
    yield f"SUMMARY:{memory.heading.translate(_ESCAPED)}"
    yield f"DESCRIPTION:{memory.text.translate(_ESCAPED)}"
    kind = "REMINDER" if memory.kind is Kind.REMINDER else "DATE"
    yield f"CATEGORIES:{kind},{memory.scope.translate(_ESCAPED)}"
    yield "END:VEVENT"


def _fold(line: str) -> Iterator[str]:
    """Yield a line in pieces of at most 75 bytes, the later ones after a space."""
    piece = ""
    for character in line:
        if len(piece.encode()) + len(character.encode()) > _LINE_BYTES:
            yield piece
            piece = " "
        piece += character
    yield piece
