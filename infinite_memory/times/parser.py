"""Words of time read as a range or a moment, and the reasons for a refusal."""

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
_RESOLUTION = timedelta(microseconds=1)
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
    (
        _MOVABLE,
        "holidays that move from year to year or differ between countries are not supported",
    ),
    (_HOLIDAY, "only the day of a holiday is supported, not the days around it"),
    (_VAGUE, "it is too vague for a search"),
    (_HALF_DAY, "it may be in either half of the day: say am or pm, or the part of the day"),
)


def read_range(
    words: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> Reading:
    """Return the range that `words` mean, which are a single expression of time.

    `now` is aware; `zone` is an IANA name, None for the machine's time zone.

    Raises:
        InvalidInput: the words cannot be read, have two meanings, or name no time.
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
    # Skips a preposition that is not part of an expression, as it is in "in three days".
    while _expression_end(cursor, begin) is None and cursor.word(begin) in _LEADING:
        if cursor.word(begin) == "over" and cursor.word(len(cursor.tokens) - 1) == "ago":
            break  # "Over a year ago" is not a year ago.
        begin += 1
    try:
        period, end = _match_whole(cursor, begin)
        while cursor.sign(end) in _ENDINGS and cursor.sign(end):
            end += 1
        if end != len(cursor.tokens):
            rest = cursor.tokens[end] if end < len(cursor.tokens) else cursor.tokens[-1]
            raise ValueError(f"{rest.raw!r:.40} is not understood")
        return reading_of(words, 0, len(words), cursor.calendar, period)
    except (ValueError, OverflowError, OSError) as error:
        reason = _explain_refusal(words) or _describe_error(error)
        within = find_range(words, now=now, zone=zone, week_start=week_start)
        suggestion = "" if within is None else f"give {within.words!r} alone, or "
        way_out = f"{suggestion}write one such as {_EXAMPLES}"
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
    """Return the moment in UTC that `words` mean after "as of".

    A date with a time of day is that moment. Any other time means its last microsecond: "March
    2024" is the end of that month. A time that contains `now` means `now`.

    Raises:
        InvalidInput: the words cannot be read, or the time begins after `now` and never ends.
    """
    if isinstance(words, str) and _INSTANT.fullmatch(words.strip()):
        return read_moment(words, zone)
    if isinstance(words, str) and " ".join(words.split()).casefold() in _NOW:
        return now
    time_range = read_range(words, now=now, zone=zone, week_start=week_start).range
    has_begun = time_range.start is None or time_range.start <= now
    if time_range.end is not None and (time_range.end <= now or not has_begun):
        return time_range.end - _RESOLUTION
    if has_begun:
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
    """Return why `words` could not be read, None if no reason is known."""
    plain = " ".join(words.lower().split())
    for pattern, reason in _REASONS:
        if pattern.search(plain):
            return reason
    return None
