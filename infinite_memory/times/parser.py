"""Words of time, read as ranges: the whole of a text, or what of a sentence is about time."""

from __future__ import annotations

from datetime import datetime

from infinite_memory.errors import InvalidInput
from infinite_memory.model.time_range import Reading, TimeRange, format_range
from infinite_memory.times.calendar import Calendar, Period, WeekStart
from infinite_memory.times.english_words import MONTHS
from infinite_memory.times.grammar import expression, period_of
from infinite_memory.times.holidays import holiday
from infinite_memory.times.match import Doubt, Found, Source
from infinite_memory.times.messages import refusal
from infinite_memory.times.negative_context import changed
from infinite_memory.times.tokenizer import Token, tokens_of

__all__ = ["MAX_CHARS", "find_range", "read_range"]

MAX_CHARS = 200
"""The most characters that the words of one time may have."""

_LEADING = frozenset("in on at during for over within throughout of back all sometime".split())
_LEADS = frozenset({"in", "on", "at", "during", "throughout", "of", "over", "within"})
_LEADS_ZH = frozenset({"在", "于"})
_ENDINGS = frozenset(".?!,。？！，")
_VERBS = frozenset({"was", "is", "has", "does", "this", "its", "us", "as", "always", "his"})
_EXAMPLES = '"last week", "March 2024", "since Monday", "2026-11-20 to 2026-11-22" or "上周"'


class _SeveralTimes(Exception):
    """The sentence speaks of two times at once."""


def read_range(
    words: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> Reading:
    """Return what `words` mean, all of which are one expression of time.

    `now` is aware; `zone` is an IANA name, None for the machine's time zone.

    Raises:
        InvalidInput: they cannot be read, or only in two ways, or mean no time at all.
    """
    if not isinstance(words, str) or not words.strip():
        raise InvalidInput(f"the time {words!r:.100} is empty: write one such as {_EXAMPLES}")
    if len(words) > MAX_CHARS:
        raise InvalidInput(
            f"the time {words!r:.60} has {len(words):,} characters and the limit is {MAX_CHARS}:"
            f" write one such as {_EXAMPLES}"
        )
    source = Source(tokens_of(words), _calendar(now, zone, week_start))
    begin = 0
    # Not in "in three days", and not in "在三月和五月之间".
    while _expression_end(source, begin) is None and source.word(begin) in _LEADING:
        if source.word(begin) == "over" and source.word(len(source.tokens) - 1) == "ago":
            break  # "Over a year ago" is not a year ago.
        begin += 1
    try:
        period, end = _whole(source, begin)
        while source.sign(end) in _ENDINGS and source.sign(end):
            end += 1
        if end != len(source.tokens):
            left = source.tokens[end] if end < len(source.tokens) else source.tokens[-1]
            raise ValueError(f"{left.raw!r:.40} is not understood")
        return _reading(words, 0, len(words), source.calendar, period)
    except (ValueError, OverflowError, OSError) as error:
        reason = refusal(words) or _reason(error)
        within = find_range(words, now=now, zone=zone, week_start=week_start)
        alone = "" if within is None else f"give {within.words!r} alone, or "
        way_out = f"{alone}write one such as {_EXAMPLES}"
        raise InvalidInput(
            f"the time {words!r:.100} cannot be read ({reason}): {way_out}"
        ) from error


def find_range(
    sentence: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> Reading | None:
    """Return the time that a sentence speaks of, None if it names none, or several that differ.

    It takes less for a time than `read_range` does: "may" and "2024" alone are none.
    """
    source = Source(tokens_of(sentence), _calendar(now, zone, week_start))
    found: Reading | None = None
    place = 0
    while place < len(source.tokens):
        try:
            reading, after = _at(sentence, source, place)
        except _SeveralTimes:
            return None
        if reading is not None:
            if found is not None and found.range != reading.range:
                return None
            found = found or reading
        place = max(after, place + 1)
    return found


def _calendar(now: datetime, zone: str | None, week_start: WeekStart | str) -> Calendar:
    if not isinstance(now, datetime) or now.utcoffset() is None:
        raise InvalidInput(f"now {now!r:.100} has no time zone: give one, such as tzinfo=UTC")
    try:
        return Calendar(now=now, zone=zone, week_start=WeekStart(week_start))
    except (ValueError, OverflowError, OSError, LookupError) as error:
        raise InvalidInput(
            f"now {now.isoformat()}, zone {zone!r:.100}, week_start {week_start!r:.100}"
            f" cannot be used: {error}"
        ) from error


def _expression_end(source: Source, place: int) -> int | None:
    try:
        found = expression(source, place)
    except (ValueError, OverflowError, OSError):
        return None
    return None if found is None else found.end


def _whole(source: Source, begin: int) -> tuple[Period, int]:
    if source.word(begin) == "always" and len(source.tokens) == 1:
        return Period(None, None), 1
    found = expression(source, begin)
    if found is None:
        raise ValueError("no time is recognised in it")
    return period_of(found, source.calendar), found.end


def _at(sentence: str, source: Source, place: int) -> tuple[Reading | None, int]:
    """Return the reading that begins at a token, if one does, and the place after its words."""
    try:
        found = expression(source, place)
        if found is None:
            return None, place
        other = _another(source, found.end)
        if _too_doubtful(source, place, found):
            # The words within it that stand alone are no better, nor is April in "March and April".
            alike = other is not None and other.time.grain == found.time.grain
            return None, other.end if other is not None and alike else place
        if changed(sentence, source, place, found):
            return None, found.end
        if other is not None:
            raise _SeveralTimes
        first, last = source.tokens[place], source.tokens[found.end - 1]
        period = period_of(found, source.calendar)
        return _reading(sentence, first.start, last.end, source.calendar, period), found.end
    except (ValueError, OverflowError, OSError):
        # Such as 30 February, of which February would be left.
        return None, place + 2 if source.word(place + 1) in MONTHS else place


def _too_doubtful(source: Source, place: int, found: Found) -> bool:
    last, after = source.at(found.end - 1), source.at(found.end)
    # "Q3 2.0" is a version.
    if last is not None and after is not None and last.kind == "quarter":
        return after.value[0].isdigit()
    if found.doubt is Doubt.NONE:
        return False
    if found.doubt is Doubt.COMPANY:
        return True
    led = (
        source.word(place - 1) in _LEADS - _no_leads(source, place)
        or source.han(place - 1) in _LEADS_ZH
    )
    if source.word(place) == "the" and not led:
        return True
    return not led or _counts_things(source, place, found)


def _no_leads(source: Source, place: int) -> frozenset[str]:
    """Return the prepositions that make no time of what follows: a ratio of 4:30."""
    if holiday(source, place) is not None:
        return _LEADS - {"on", "at"}
    token = source.at(place)
    return _LEADS - {"at"} if token is not None and token.kind == "clock" else frozenset()


def _counts_things(source: Source, place: int, found: Found) -> bool:
    """Tell whether a year is rather a number of things: in 2024 files."""
    token = source.at(place)
    after: Token | None = source.at(found.end)
    return (
        token is not None
        and token.kind == "number"
        and after is not None
        and after.kind == "word"
        and len(after.value) > 3
        and after.value.endswith("s")
        and after.value not in _VERBS
    )


def _another(source: Source, place: int) -> Found | None:
    """Return a second time that is joined to the first: in March and May."""
    joined = source.word(place) in ("and", "or") or source.han(place) in ("和", "与")
    return expression(source, place + 1) if joined else None


def _reading(text: str, start: int, end: int, calendar: Calendar, period: Period) -> Reading:
    try:
        stretch: TimeRange = calendar.range_of(period)
    except InvalidInput as error:
        raise ValueError(
            "it ends before it begins, or is an hour that the clocks leap over"
        ) from error
    said = format_range(stretch, calendar.zone)
    words = " ".join(text[start:end].split())
    return Reading(words=words, range=stretch, span=(start, end), said=f"{words}: {said}")


def _reason(error: Exception) -> str:
    message = str(error)
    if isinstance(error, OverflowError) or "range" in message:
        return "it lies outside the years 1 to 9999"
    return message
