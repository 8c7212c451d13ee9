"""Words of time read as a range or a moment, and why some cannot be read."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from infinite_memory.errors import InvalidInput
from infinite_memory.model.time_range import Reading
from infinite_memory.model.timestamps import read_moment
from infinite_memory.times.calendar import Period, WeekStart, calendar_at
from infinite_memory.times.grammar import match_expression, resolve_period
from infinite_memory.times.sentences import find_range, reading_of
from infinite_memory.times.tokenizer import Cursor, tokenize

__all__ = ["MAX_CHARS", "read_as_of", "read_range"]

MAX_CHARS = 200
"""The most characters that the words of one time may have."""

_LEADING = frozenset("in on at during for over within throughout of back all sometime".split())
_ENDINGS = frozenset(".?!,。？！，")
_EXAMPLES = '"last week", "March 2024", "since Monday", "2026-11-20 to 2026-11-22" or "上周"'


_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*", re.ASCII | re.IGNORECASE)
_LAST = timedelta(microseconds=1)
_NOW = frozenset({"now", "right now", "现在"})
_VAGUE = re.compile(
    r"\b(?:recent(?:ly)?|lately|soon|nowadays|these days|just now|the other (?:day|night|week)"
    r"|(?:a|past|last|next|these|the) (?:few|several)|few|several|a while|some time|sometime"
    r"|ages|long ago|this time|one day|now and then|earlier|later)\b"
    "|最近|这两|近来|近期|刚才|刚刚|前阵子|这阵子|前些|前几|这几|前两天|几[天周年个]|不久|很久|好久"
    "|同期|这个时候|大半年|有一天|以前$"
)
_MOVABLE = re.compile(
    r"\b(?:easter|good friday|thanksgiving|ramadan|eid|diwali|holi|hanukkah|passover|yom kippur"
    r"|pentecost|carnival|advent|black friday|(?:chinese|lunar) new year"
    r"|(?:labou?r|memorial|independence|veterans|presidents|mother|father)(?:'?s|’s|s['’])? day)\b"
    "|春节|中秋|清明|端午|除夕|元宵|感恩节|重阳|七夕|母亲节|父亲节|大年|新年|國慶"
)
_HOLIDAY = re.compile(
    r"\b(?:christmas|xmas|new years?|halloween|valentine|holidays?|vacation)\b"
    "|国庆|元旦|劳动节|五一|十一假|圣诞|情人节|万圣节|节假|寒假|暑假|假期|长假"
)
_HALF_DAY = re.compile(
    r"(?:\b(?:at|past|quarter to|quarter after|twenty to|minutes to)|@)"
    r" (?:1[0-2]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?= |$)"
    r"(?! [ap]\.?m)|\bo['’]?clock\b"
    r"|(?<![上下中]午|早上|晚上|凌晨|傍晚|半夜)(?<![0-9十晚夜里])[一二两三四五六1-6][点點]"
)
_REASONS = (
    (_MOVABLE, "movable holidays are not known, nor those that differ between countries"),
    (_HOLIDAY, "of holidays only the day is known, not the days around it"),
    (_VAGUE, "it is too vague to be looked up"),
    (_HALF_DAY, "it may be in either half of the day: say am or pm, or the part of the day"),
)


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
    cursor = Cursor(tokenize(words), calendar_at(now, zone, week_start))
    begin = 0
    # Not in "in three days", and not in "在三月和五月之间".
    while _expression_end(cursor, begin) is None and cursor.word(begin) in _LEADING:
        if cursor.word(begin) == "over" and cursor.word(len(cursor.tokens) - 1) == "ago":
            break  # "Over a year ago" is not a year ago.
        begin += 1
    try:
        period, end = _match_whole(cursor, begin)
        while cursor.sign(end) in _ENDINGS and cursor.sign(end):
            end += 1
        if end != len(cursor.tokens):
            left = cursor.tokens[end] if end < len(cursor.tokens) else cursor.tokens[-1]
            raise ValueError(f"{left.raw!r:.40} is not understood")
        return reading_of(words, 0, len(words), cursor.calendar, period)
    except (ValueError, OverflowError, OSError) as error:
        reason = _explain_refusal(words) or _describe_error(error)
        within = find_range(words, now=now, zone=zone, week_start=week_start)
        alone = "" if within is None else f"give {within.words!r} alone, or "
        way_out = f"{alone}write one such as {_EXAMPLES}"
        raise InvalidInput(
            f"the time {words!r:.100} cannot be read ({reason}): {way_out}"
        ) from error


def read_as_of(
    words: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> datetime:
    """Return the moment in UTC that "as of" these words means.

    A date with a time of day is that moment. Any other time is its last microsecond: "March 2024"
    is the end of that month. One that `now` lies in is now.

    Raises:
        InvalidInput: they cannot be read, or begin after now and never end.
    """
    if isinstance(words, str) and _INSTANT.fullmatch(words.strip()):
        return read_moment(words, zone)
    if isinstance(words, str) and " ".join(words.split()).casefold() in _NOW:
        return now
    stretch = read_range(words, now=now, zone=zone, week_start=week_start).range
    begun = stretch.start is None or stretch.start <= now
    if stretch.end is not None and (stretch.end <= now or not begun):
        return stretch.end - _LAST
    if begun:
        return now
    raise InvalidInput(
        f"as_of {words!r:.100} begins after now and never ends: name a moment, such as"
        ' "last March" or "2024-03-31"'
    )


def _expression_end(cursor: Cursor, position: int) -> int | None:
    try:
        match = match_expression(cursor, position)
    except (ValueError, OverflowError, OSError):
        return None
    return None if match is None else match.end


def _match_whole(cursor: Cursor, begin: int) -> tuple[Period, int]:
    if cursor.word(begin) == "always" and len(cursor.tokens) == 1:
        return Period(None, None), 1
    match = match_expression(cursor, begin)
    if match is None:
        raise ValueError("no time is recognised in it")
    return resolve_period(match, cursor.calendar), match.end


def _describe_error(error: Exception) -> str:
    message = str(error)
    if isinstance(error, OverflowError) or "range" in message:
        return "it lies outside the years 1 to 9999"
    return message


def _explain_refusal(words: str) -> str | None:
    """Return why `words`, which could not be read, are no time, None if that is not known."""
    plain = " ".join(words.lower().split())
    for pattern, reason in _REASONS:
        if pattern.search(plain):
            return reason
    return None
