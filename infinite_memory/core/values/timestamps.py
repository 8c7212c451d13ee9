"""Parse and format moments.

A time without an offset is read in the configured time zone. At a change of the clocks the offset
before the change applies: an ambiguous time is the earlier of the two, and a time that the clocks
skip is later by the length of the gap.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, tzinfo
from typing import TypeAlias

from infinite_memory.core.clock import find_zone
from infinite_memory.core.errors import InvalidInput

TimeLike: TypeAlias = datetime | date | str
"""A time as a caller gives it: an aware datetime, a date, ISO 8601, or words as "last week"."""

_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?",
    re.IGNORECASE,
)


def read_moment(text: str, zone: str | None) -> datetime:
    """Return the moment that `text` names in ISO 8601, as an aware datetime in UTC.

    A plain date is the beginning of that day. `zone` is the IANA name of the time zone for times
    without an offset, None for the zone of the machine. Digits after the microsecond are dropped.

    Raises:
        InvalidInput: `text` is not a date or time, or lies outside the years 1 to 9999.
    """
    text = text.strip()
    try:
        if not _ISO.fullmatch(text):
            raise ValueError("it is not in the form YYYY-MM-DD or YYYY-MM-DDThh:mm")
        moment = datetime.fromisoformat(text.upper())
        if moment.tzinfo is None and zone is not None:
            moment = moment.replace(tzinfo=find_zone(zone))
        return moment.astimezone(UTC)
    # The C library raises various errors for some years.
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(
            f"the time {text!r:.100} cannot be read ({error}): write it in ISO 8601, such as"
            " 2026-06-05, 2026-06-05T14:30 or 2026-06-05T14:30:00+02:00"
        ) from error


def in_zone(moment: datetime, zone: str | None) -> datetime:
    """Return `moment` with the offset of `zone`, None for the time zone of the machine.

    A moment that would leave the years 1 to 9999 stays in UTC.
    """
    place: tzinfo | None = None if zone is None else find_zone(zone)
    try:
        return moment.astimezone(place)
    except (ValueError, OverflowError, OSError):
        return moment.astimezone(UTC)


def show_moment(moment: datetime, zone: str | None) -> str:
    """Return `moment` to the minute with its offset, as `read_moment` reads it."""
    return in_zone(moment, zone).isoformat(sep=" ", timespec="minutes")
