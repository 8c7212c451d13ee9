"""Words of time read as a range or a moment, and the reasons for a refusal."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta

from attrs import evolve

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.time_range import Reading, TimeRange, format_range
from infinite_memory.core.values.timestamps import read_moment
from infinite_memory.times.calendar import Calendar, Period, WeekStart, calendar_at
from infinite_memory.times.grammar import match_expression, resolve_period
from infinite_memory.times.sentences import find_in_sentence, reading_of, translate
from infinite_memory.times.tokenizer import Cursor, tokenize
from infinite_memory.times.zones import move_to_zone, take_zone

MAX_CHARS = 200
"""The most characters that the words of one time may have."""

_LEADING = frozenset(
    "in on at during for over within throughout of back all sometime just only".split()
)
_ENDINGS = frozenset(".?!,。？！，")
_BOUNDS = frozenset("until till to through before after than".split())
_BOUNDS_ZH = frozenset({"到", "至", "之前", "以前", "之后", "以后", "前", "后"})
_EXAMPLES = '"last week", "March 2024", "since Monday", "2026-11-20 to 2026-11-22" or "上周"'


_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*", re.ASCII | re.IGNORECASE)
_RESOLUTION = timedelta(microseconds=1)
_STARTS = frozenset({"since", "after"})
_BOUND = re.compile(r"\b(?:since|after|before|until|till)\b", re.IGNORECASE)
_NOW = frozenset({"now", "right now", "现在"})
_MOVABLE = re.compile(
    r"\b(?:ramadan|eid|diwali|holi|hanukkah|passover|yom kippur|carnival|advent"
    r"|(?:labour|veterans|presidents|mother|father)(?:'?s|’s|s['’])? day)\b"
    "|重阳|七夕|母亲节|父亲节|大年|國慶"
)
_LAST_TIME = re.compile(
    r"\b(?:last|previous|prior) (?:time|chat|talk|conversation|session|meeting)\b|上(?:一)?[次回]"
)
_REASONS = (
    (
        _LAST_TIME,
        'it is the last conversation and no date: search for "What did we talk about last time?"'
        " without a time, or give the conversation_id",
    ),
    (
        _MOVABLE,
        "a holiday that differs between countries, or whose calendar is not known: give its date",
    ),
)


class _NotUnderstood(ValueError):
    """The words are no single expression of time, and may hold one."""


def read_range(
    words: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> Reading:
    """Return the smallest range that holds every sensible meaning of `words`.

    `words` are an expression of time, or a sentence that names one. A moment is read as the hour
    around it. `now` is aware; `zone` is an IANA name, None for the machine's time zone.

    Raises:
        InvalidInput: the words name no time, several, or one without such a range.
    """
    return _read(words, calendar_at(now, zone, week_start), lenient=True, widen=True)


def read_exactly(
    words: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
    vague: bool = True,
    plans: bool = False,
) -> TimeRange:
    """Return the range of `read_range`, with moments as short as they are said.

    With `plans` a name of several days, such as "Friday", means the next one.

    Raises:
        InvalidInput: the words cannot be read or, unless `vague`, are a sentence or as vague as
            "recently".
    """
    calendar = evolve(calendar_at(now, zone, week_start), plans=plans)
    return _read(words, calendar, lenient=vague, widen=False).range


def _read(words: str, calendar: Calendar, *, lenient: bool, widen: bool) -> Reading:
    """Return the reading of `words`, which may be vague or a sentence to a `lenient` reader."""
    if not isinstance(words, str) or not words.strip():
        raise InvalidInput(f"the time {words!r:.100} is empty: write one such as {_EXAMPLES}")
    if len(words) > MAX_CHARS:
        raise InvalidInput(
            f"the time {words!r:.60} has {len(words):,} characters and the limit is {MAX_CHARS}:"
            f" write one such as {_EXAMPLES}"
        )
    cursor = Cursor(tokenize(words), calendar, lenient=lenient)
    try:
        return _read_tokens(words, cursor, widen=widen)
    except (ValueError, OverflowError, OSError) as error:
        for translation in translate(cursor):
            with suppress(ValueError, OverflowError, OSError):
                return _read_tokens(words, translation, widen=widen)
        raise _refusal(words, error) from error


def _read_tokens(words: str, cursor: Cursor, *, widen: bool) -> Reading:
    """Return the reading of `words`, whose tokens are those of `cursor`.

    Raises:
        ValueError: they cannot be read.
    """
    cursor, zone = take_zone(words, cursor)
    try:
        period = move_to_zone(_read_expression(cursor), zone)
        return reading_of(words, 0, len(words), cursor.calendar, period, widen=widen)
    except _NotUnderstood:
        within = find_in_sentence(words, cursor) if cursor.lenient else None
        if within is None or _is_qualified(cursor, within):
            raise
        return _open_at_bound(words, within, cursor.calendar.zone)


def _open_at_bound(words: str, within: Reading, zone: str | None) -> Reading:
    """Return the reading of a sentence, without its end after "since", or its start after "until".

    "Since I came back on Monday" names Monday, and means the days after it too.
    """
    led_by = words[: within.span[0]]
    bound = _BOUND.search(led_by)
    if bound is None:
        return within
    is_start = bound[0].casefold() in _STARTS
    stretch = evolve(within.range, end=None) if is_start else evolve(within.range, start=None)
    return evolve(within, range=stretch, said=f"{within.words}: {format_range(stretch, zone)}")


def _read_expression(cursor: Cursor) -> Period:
    """Return the period that all words together mean.

    Raises:
        ValueError: they mean none.
    """
    begin = 0
    # Skips a preposition that is not part of an expression, as it is in "in three days".
    while _expression_end(cursor, begin) is None and cursor.word(begin) in _LEADING:
        if cursor.word(begin) == "over" and cursor.word(len(cursor.tokens) - 1) == "ago":
            break  # "Over a year ago" is not a year ago.
        begin += 1
    period, end = _match_whole(cursor, begin)
    while cursor.sign(end) in _ENDINGS and cursor.sign(end):
        end += 1
    if end != len(cursor.tokens):
        rest = cursor.tokens[end] if end < len(cursor.tokens) else cursor.tokens[-1]
        raise _NotUnderstood(f"{rest.raw!r:.40} is not understood")
    return period


def _is_qualified(cursor: Cursor, within: Reading) -> bool:
    """Return whether a bound or another time stands beside a time within a sentence."""
    start, end = within.span
    before = [number for number, token in enumerate(cursor.tokens) if token.end <= start]
    after = [number for number, token in enumerate(cursor.tokens) if token.start >= end]
    for number in (*reversed(before[-2:]), *after[:2]):
        if cursor.sign(number) == ",":
            continue
        is_bound = cursor.word(number) in _BOUNDS or cursor.han(number) in _BOUNDS_ZH
        # 昨天9点20 leaves the minutes out, and the hour holds them.
        is_figure = cursor.tokens[number].raw[0].isdigit() and not cursor.han(number - 1)
        if is_bound or is_figure or _expression_end(cursor, number) is not None:
            return True
        if not cursor.sign(number):
            continue
    return False


def _refusal(words: str, error: Exception) -> InvalidInput:
    reason = _explain_refusal(words) or _describe_error(error)
    return InvalidInput(
        f"the time {words!r:.100} cannot be read ({reason}): write one such as {_EXAMPLES}"
    )


def is_now(words: str) -> bool:
    """Return whether `words` name this very moment."""
    return " ".join(words.split()).casefold() in _NOW


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
    is_instant = isinstance(words, str) and _INSTANT.fullmatch(words.strip()) is not None
    if is_instant:
        with suppress(InvalidInput):
            return read_moment(words, zone)
    if isinstance(words, str) and is_now(words):
        return now
    time_range = read_exactly(words, now=now, zone=zone, week_start=week_start)
    if is_instant and time_range.start is not None:
        return time_range.start  # 2026-11-25 14:00 PST
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
        raise _NotUnderstood("no time is recognised in it")
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
