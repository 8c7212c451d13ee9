"""Ranges of time, and readings of words as ranges."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from attrs import field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import PlainData, to_plain
from infinite_memory.core.values.timestamps import in_zone


def _convert_to_utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    if moment.utcoffset() is None:
        raise InvalidInput(f"{moment.isoformat()} has no time zone: give one, such as tzinfo=UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(f"{moment.isoformat()} lies outside the years 1 to 9999") from error


@frozen
class TimeRange(PlainData):
    """All moments from `start` up to but excluding `end`, in UTC; None means unbounded.

    Raises:
        InvalidInput: a moment has no time zone, or the end is not later than the start.
    """

    start: datetime | None = field(converter=_convert_to_utc)
    end: datetime | None = field(converter=_convert_to_utc)

    def __attrs_post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise InvalidInput(
                f"the end {self.end.isoformat()} must be later than the start"
                f" {self.start.isoformat()}"
            )

    def contains(self, moment: datetime) -> bool:
        """Return whether a moment with a time zone lies in it."""
        is_over = self.end is not None and moment >= self.end
        return not is_over and (self.start is None or moment >= self.start)

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds as `since` and `until`, for `json.dumps`."""
        return {"since": to_plain(self.start), "until": to_plain(self.end)}


@frozen(kw_only=True)
class Reading(PlainData):
    """Words of time with the range that they mean.

    `span` is the half-open character range of `words` in the text. `said` shows the words and the
    range in the time zone of the reading.
    """

    words: str
    range: TimeRange
    span: tuple[int, int]
    said: str

    def to_dict(self) -> dict[str, Any]:
        """Return the `words`, how they were `read_as`, and the range, for `json.dumps`."""
        return {"words": self.words, "read_as": self.said, **self.range.to_dict()}


def format_range(stretch: TimeRange, zone: str | None) -> str:
    """Return `stretch` as text with the offsets of `zone`, None for the zone of the machine.

    `infinite_memory.times.read_range` reads the same range from the text in any time zone.
    """
    start, end = stretch.start, stretch.end
    if start is None:
        return "always" if end is None else f"before {_format_moment(end, zone)}"
    if end is None:
        return f"since {_format_moment(start, zone)}"
    return f"{_format_moment(start, zone)} to {_format_moment(end, zone)}"


def _format_moment(moment: datetime, zone: str | None) -> str:
    # Historical offsets, by local mean time, have seconds.
    local = in_zone(moment, zone)
    spec = "microseconds" if local.microsecond else "seconds" if local.second else "minutes"
    return local.isoformat(sep=" ", timespec=spec)
