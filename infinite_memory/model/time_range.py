"""A stretch of time, and how words came to mean it."""

from __future__ import annotations

from datetime import UTC, datetime

from attrs import field, frozen

from infinite_memory.errors import InvalidInput
from infinite_memory.model.timestamps import in_zone

__all__ = ["Reading", "TimeRange", "format_range"]


def _in_utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    if moment.utcoffset() is None:
        raise InvalidInput(f"{moment.isoformat()} has no time zone: give one, such as tzinfo=UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(f"{moment.isoformat()} lies outside the years 1 to 9999") from error


@frozen
class TimeRange:
    """All moments from `start` up to, but without, `end`; both in UTC, None for without bound.

    Raises:
        InvalidInput: a moment has no time zone, or the end is not later than the start.
    """

    start: datetime | None = field(converter=_in_utc)
    end: datetime | None = field(converter=_in_utc)

    def __attrs_post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise InvalidInput(
                f"the end {self.end.isoformat()} must be later than the start"
                f" {self.start.isoformat()}"
            )


@frozen(kw_only=True)
class Reading:
    """What words of time were taken to mean.

    `words` are the words themselves, `span` their half-open character range in the text that they
    were read from; `said` repeats them with the range in the time zone that they were read in.
    """

    words: str
    range: TimeRange
    span: tuple[int, int]
    said: str


def format_range(stretch: TimeRange, zone: str | None) -> str:
    """Return `stretch` with the offsets of `zone`, None for the machine's time zone.

    `infinite_memory.times.read_range` reads the same range from it, whatever its own time zone.
    """
    start, end = stretch.start, stretch.end
    if start is None:
        return "always" if end is None else f"before {_shown(end, zone)}"
    if end is None:
        return f"since {_shown(start, zone)}"
    return f"{_shown(start, zone)} to {_shown(end, zone)}"


def _shown(moment: datetime, zone: str | None) -> str:
    # The offset of a zone may have seconds: long ago it was that of the sun.
    shown = in_zone(moment, zone)
    spec = "microseconds" if shown.microsecond else "seconds" if shown.second else "minutes"
    return shown.isoformat(sep=" ", timespec=spec)
