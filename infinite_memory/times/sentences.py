"""The time that a sentence names, unless the words around it change its meaning."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from attrs import evolve

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.time_range import Reading, TimeRange, format_range
from infinite_memory.times.calendar import Calendar, Grain, Period, WeekStart, calendar_at
from infinite_memory.times.english import DAYS
from infinite_memory.times.grammar import match_expression, resolve_period
from infinite_memory.times.holidays import HOLIDAY_NAMES, match_chinese_holiday, match_holiday
from infinite_memory.times.periods import TO_DATE
from infinite_memory.times.recurring import Cycle
from infinite_memory.times.tokenizer import Cursor, Doubt, Match, Token, tokenize
from infinite_memory.times.vague import widen_moment
from infinite_memory.times.words import (
    DIGITS_ZH,
    MONTHS,
    NUMBERS,
    PARTS,
    SEASONS,
    SHORT,
    UNITS,
    VAGUE,
    WEEKDAYS,
)
from infinite_memory.times.zones import move_to_zone, take_zone

_PREPOSITIONS = frozenset({"in", "on", "at", "during", "throughout", "of", "over", "within"})
_PREPOSITIONS_ZH = frozenset({"在", "于"})
_VERBS = frozenset({"was", "is", "has", "does", "this", "its", "us", "as", "always", "his"})
# Before a time they change its meaning: "more than a week ago", "not yesterday", "every Friday",
# "by March", "the first Monday of March", "Black Friday".
_BEFORE = frozenset(
    "than not except without every each by besides excluding version a an no any some other"
    " another one first second third fourth fifth last next past previous half black good ash"
    " casual".split()
)
# "Two, three days ago" (两三天前) is neither of them.
_BEFORE_ZH = frozenset({"每", "非", "除", "到", "至", *DIGITS_ZH})
_LARGE = frozenset("hundred thousand million".split())
_LARGE_ZH = frozenset("百千万")
_ENDINGS_ZH = (
    *("每年", "每年的", "每月", "每月的", "每个月", "每个月的", "每周", "每周的", "每星期"),
    *("每天", "每天的", "每日", "每个", "每逢", "每隔", "农历", "阴历", "旧历", "農曆"),
    *("除了", "截止", "超过", "超過", "不止", "至少", "最多", "将近", "將近"),
)
_BEGINNINGS_ZH = (
    *("前后", "前後", "以外", "之外", "为止", "同期", "前一", "前两", "后一", "后两"),
    *("的前一", "的前两", "的后一", "的后两", "的同期", "的这个时候", "这个时候"),
)
_NOT_QUITE = frozenset("over under almost nearly least most barely".split())
_DISTANT = frozenset("or shortly soon long right just immediately weekend night".split())
_ADVERBS = {
    **{"daily": Grain.DAY, "nightly": Grain.DAY, "weekly": Grain.WEEK, "monthly": Grain.MONTH},
    **{"quarterly": Grain.QUARTER, "yearly": Grain.YEAR, "annually": Grain.YEAR},
}
_NAMED = {
    **{name: grain for name, (grain, _) in UNITS.items()},
    **dict.fromkeys(WEEKDAYS, Grain.DAY),
    **dict.fromkeys(PARTS, Grain.PART),
    "weekend": Grain.WEEKEND,
}
_BOUNDS = frozenset({"before", "after", "until", "till"})
_BOUNDS_ZH = frozenset({"前", "之前", "以前", "后", "之后", "以后"})
_USUAL = frozenset("open opened opens work works working hours available closed runs".split())
_PLURALS = {f"{name}s": _NAMED[name] for name in (*WEEKDAYS, *PARTS, "weekend")}
_JOINTS = frozenset("at on in the of from between".split())
_ONE_FURTHER = (("before", "last"), ("after", "next"))
_JOINED = frozenset({"and", "or", "&", "/", ","})
# What a sentence in German, Spanish, French or Russian has, and hardly one in English.
_FOREIGN = re.compile(
    r"[\u00a1-\u024f\u0400-\u04ff]|(?i:\b(?:ich|wir|er|es|der|das|dem|den|im|vor|wer|wo|wie|wann|ende"
    r"|anfang|letzte[nrs]?|gestern|heute|morgen|las?|los|el|en|de|que|hace|ayer|hoy|les?|du|au|il"
    r"|nous|je|hier|demain)\b)|\b[Aa]m (?=[A-Z\d])"
)
_MAX_FOREIGN_CHARS = 4_000
# Every time in English has one of these words or a figure, and every time in Chinese a character.
_SINGULAR = {
    *(*UNITS, *WEEKDAYS, *MONTHS, *SEASONS, *PARTS, *DAYS, *TO_DATE, *NUMBERS),
    *("weekend", "tonight"),
    *(name.split()[-1] for name in (*VAGUE, *HOLIDAY_NAMES)),
}
_TELLING = frozenset({*_SINGULAR, *(f"{name}s" for name in _SINGULAR)})
_FIGURE = re.compile(r"[0-9０-９\u3007\u3400-\u9fff]")
_LETTERS = re.compile(r"[a-z]+")


class _SeveralTimes(Exception):
    """The sentence joins two times, as in "in March and May"."""


def find_range(
    sentence: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> Reading | None:
    """Return the time that a sentence names, None if it names none or several.

    `find_range` is stricter than `read_range`: within a sentence, "may" and "2024" need a
    preposition or another expression of time. Where the package `dateparser` is installed, a text
    of at most 4,000 characters may also be in German, Spanish, French or Russian.

    Raises:
        InvalidInput: `now` has no time zone, or the zone or the first day of the week is unknown.
    """
    calendar = calendar_at(now, zone, week_start)
    is_foreign = len(sentence) <= _MAX_FOREIGN_CHARS and _FOREIGN.search(sentence)
    if not is_foreign and not may_name_time(sentence):
        return None
    cursor = Cursor(tokenize(sentence), calendar)
    reading = find_in_sentence(sentence, cursor)
    if reading is None and is_foreign:
        translations = translate(cursor)
        if len(translations) == 1:
            return find_in_sentence(sentence, translations[0])
    return reading


def may_name_time(sentence: str) -> bool:
    """Return whether a sentence in English or Chinese has what every time has: see `_TELLING`."""
    if _FIGURE.search(sentence) is not None:
        return True
    return not _TELLING.isdisjoint(_LETTERS.findall(sentence.lower()))


def translate(cursor: Cursor) -> list[Cursor]:
    """Return the tokens with English words, once for each other language they may be in."""
    # Loaded late, since few texts need it.
    from infinite_memory.times.translation import translate_tokens  # noqa: PLC0415

    return [evolve(cursor, tokens=tokens) for tokens in translate_tokens(cursor.tokens)]


def find_in_sentence(sentence: str, cursor: Cursor) -> Reading | None:
    """Return the time that a sentence, whose tokens are those of `cursor`, names."""
    try:
        cursor, zone = take_zone(sentence, cursor)
    except ValueError:
        return None
    first_reading: Reading | None = None
    position = 0
    while position < len(cursor.tokens):
        try:
            reading, after = _read_at(sentence, cursor, position, zone)
        except _SeveralTimes:
            return None
        if reading is not None:
            if first_reading is not None and first_reading.range != reading.range:
                return None
            first_reading = first_reading or reading
        position = max(after, position + 1)
    return first_reading


def _read_at(
    sentence: str, cursor: Cursor, position: int, zone: tzinfo | None
) -> tuple[Reading | None, int]:
    """Return the reading that begins at a position, or None, and the next position."""
    try:
        match = match_expression(cursor, position)
        if match is None:
            return None, position
        second_match = _match_second(cursor, match.end)
        if _is_too_doubtful(cursor, position, match):
            # A shorter match within the words is not surer, nor is April in "March and April".
            is_alike = second_match is not None and second_match.time.grain == match.time.grain
            return None, second_match.end if second_match is not None and is_alike else position
        if _is_changed_by_context(sentence, cursor, position, match):
            return None, match.end
        if second_match is not None:
            raise _SeveralTimes
        first, last = cursor.tokens[position], cursor.tokens[match.end - 1]
        period = move_to_zone(resolve_period(match, cursor.calendar), zone)
        calendar = cursor.calendar
        reading = reading_of(sentence, first.start, last.end, calendar, period, widen=True)
        return reading, match.end
    except (ValueError, OverflowError, OSError):
        # Skips the month of a day that does not exist, such as 30 February.
        return None, position + 2 if cursor.word(position + 1) in MONTHS else position


def changes_meaning(sentence: str, cursor: Cursor, position: int, match: Match) -> bool:
    """Return whether the words around `match` leave open that it is a time, or change which."""
    return _is_too_doubtful(cursor, position, match) or _is_changed_by_context(
        sentence, cursor, position, match
    )


def _is_too_doubtful(cursor: Cursor, position: int, match: Match) -> bool:
    last, after = cursor.at(match.end - 1), cursor.at(match.end)
    # "Q3 2.0" is a version.
    if last is not None and after is not None and last.kind == "quarter":
        return after.value[0].isdigit()
    if match.doubt is Doubt.NONE:
        return False
    if match.doubt is Doubt.COMPANY:
        return True
    is_led = (
        cursor.word(position - 1) in _PREPOSITIONS - _weak_prepositions(cursor, position)
        or cursor.han(position - 1) in _PREPOSITIONS_ZH
    )
    if cursor.word(position) == "the" and not is_led:
        return True
    return not is_led or _counts_things(cursor, position, match)


def _weak_prepositions(cursor: Cursor, position: int) -> frozenset[str]:
    """Return the prepositions that do not make a time of the token: a ratio of 4:30."""
    if match_holiday(cursor, position) is not None:
        return _PREPOSITIONS - {"on", "at"}
    token = cursor.at(position)
    return _PREPOSITIONS - {"at"} if token is not None and token.kind == "clock" else frozenset()


def _counts_things(cursor: Cursor, position: int, match: Match) -> bool:
    """Return whether a year may be a number of things: in 2024 files."""
    token = cursor.at(position)
    after: Token | None = cursor.at(match.end)
    return (
        token is not None
        and token.kind == "number"
        and after is not None
        and after.kind == "word"
        and len(after.value) > 3
        and after.value.endswith("s")
        and after.value not in _VERBS
    )


def _match_second(cursor: Cursor, position: int) -> Match | None:
    """Return a second time that is joined to the first: in March and May."""
    is_joined = cursor.word(position) in ("and", "or") or cursor.han(position) in ("和", "与")
    return match_expression(cursor, position + 1) if is_joined else None


def reading_of(
    text: str, start: int, end: int, calendar: Calendar, period: Period, *, widen: bool
) -> Reading:
    """Return the reading of `text[start:end]`, which means `period`; `widen` makes moments hours.

    Raises:
        ValueError: the period is empty, or ends before it begins.
    """
    try:
        stretch: TimeRange = calendar.range_of(period)
    except InvalidInput as error:
        raise ValueError(
            "it ends before it begins, or is an hour that the clocks leap over"
        ) from error
    stretch = widen_moment(stretch, period.grain) if widen else stretch
    text_of_range = format_range(stretch, calendar.zone)
    words = " ".join(text[start:end].split())
    return Reading(words=words, range=stretch, span=(start, end), said=f"{words}: {text_of_range}")


def _is_changed_by_context(sentence: str, cursor: Cursor, position: int, match: Match) -> bool:
    """Return whether the words around `match`, which begins at `position`, change its meaning."""
    before = cursor.at(position - 1)
    if _is_code(sentence, cursor, position, match.end):
        return True
    # "The winter before last" is another winter.
    if (cursor.word(match.end), cursor.word(match.end + 1)) in _ONE_FURTHER:
        return True
    if before is not None and (before.value in _BEFORE or before.value in _BEFORE_ZH):
        return True
    return (
        _is_changed_in_chinese(sentence, cursor, position, match.end)
        or _is_at_a_distance(cursor, position, match.end)
        or _is_rest_of_number(cursor, position)
        or _is_one_of_several(cursor, position, match)
        or _is_usual(cursor, position, match.end)
        or _is_any_holiday(cursor, position, match.end)
        or (isinstance(match.time, Cycle) and _is_repeated(cursor, position, match.time.grain))
    )


def _is_code(sentence: str, cursor: Cursor, position: int, end: int) -> bool:
    """Return whether the words are a handle or a name in code: @yesterday, today = 1."""
    start = cursor.tokens[position].start
    return sentence[max(start - 1, 0) : start] in ("@", "#", "$") or cursor.sign(end) == "="


def _is_changed_in_chinese(sentence: str, cursor: Cursor, position: int, end: int) -> bool:
    before = sentence[: cursor.tokens[position].start].rstrip()[-4:]
    after = sentence[cursor.tokens[end - 1].end :][:6].lstrip()
    # 是不是昨天 asks whether it was.
    is_denied = before.endswith("不是") and not before.endswith("是不是")
    return is_denied or before.endswith(_ENDINGS_ZH) or after.startswith(_BEGINNINGS_ZH)


def _is_at_a_distance(cursor: Cursor, position: int, end: int) -> bool:
    """Return whether the time lies at a distance: two days before March 5, over a year ago."""
    word = cursor.word(position - 1)
    if cursor.word(position) in ("before", "after"):
        return word in UNITS or word in _DISTANT
    if (cursor.word(position - 2), word) == ("eve", "of"):
        return True
    return cursor.word(end - 1) == "ago" and word in _NOT_QUITE


def _is_rest_of_number(cursor: Cursor, position: int) -> bool:
    """Return whether the match begins within a number: a hundred and twenty days, 一百二十天."""
    before = cursor.at(position - 1)
    if before is None:
        return False
    if cursor.han(position) in DIGITS_ZH:
        return before.value in _LARGE_ZH
    word = cursor.word(position - 2) if before.value == "and" else before.value
    return word in _LARGE


def _is_one_of_several(cursor: Cursor, position: int, match: Match) -> bool:
    """Return whether more days of the month are listed: 5, 6 and 7 March, March 5/6."""
    end, last = match.end, cursor.at(match.end - 1)
    if _is_figure(cursor, position) and _is_figure(cursor, position - 2):
        return _is_joint(cursor, position - 1)
    token = cursor.at(end)
    if cursor.word(end - 1) in MONTHS and token is not None and token.kind in ("name", "figures"):
        return token.value[0].isdigit()
    is_day = last is not None and last.kind == "number" and match.time.grain is Grain.DAY
    return (
        is_day
        and cursor.sign(end) != ","
        and _is_joint(cursor, end)
        and _is_figure(cursor, end + 1)
    )


def _is_any_holiday(cursor: Cursor, position: int, end: int) -> bool:
    """Return whether a holiday may be that of any year: before Christmas we always argue."""
    if cursor.word(position) in _BOUNDS:
        holiday = match_holiday(cursor, position + 1)
        return holiday is not None and holiday.end == end
    if cursor.han(end - 1) not in _BOUNDS_ZH:
        return False
    holiday = match_chinese_holiday(cursor, position)
    return holiday is not None and holiday.end == end - 1


def _is_usual(cursor: Cursor, position: int, end: int) -> bool:
    """Return whether the days recur in every week: open Monday to Friday, Mon-Fri."""
    word, last = cursor.word(position), cursor.word(end - 1)
    if word not in WEEKDAYS:
        return False
    if last in WEEKDAYS and end - position == 3:
        are_short = word in SHORT and last in SHORT
        return are_short or cursor.word(position - 1) in _USUAL
    # "A week ago Friday" is not the last one.
    return cursor.word(position - 1) in ("ago", "back")


def _is_joint(cursor: Cursor, position: int) -> bool:
    return cursor.word(position) in _JOINED or cursor.sign(position) in _JOINED


def _is_figure(cursor: Cursor, position: int) -> bool:
    token = cursor.at(position)
    return token is not None and token.kind == "number" and len(token.groups[0] or "") <= 2


def _is_repeated(cursor: Cursor, position: int, grain: Grain) -> bool:
    """Return whether the time recurs within a longer time: every day at 3 pm, on Mondays at 9 am.

    "Every day in March" does not recur, as it names a single March.
    """
    index = position - 1
    for _ in range(2):
        index = index - 1 if cursor.word(index) in _JOINTS else index
    word, before = cursor.word(index), cursor.word(index - 1)
    adverb_grain = _ADVERBS.get(word, _PLURALS.get(word))
    if adverb_grain is not None:
        return adverb_grain > grain
    is_frequency = cursor.word(index - 2) in ("once", "twice", "times") and before in ("a", "per")
    grain_of_name = _NAMED.get(word)
    return (
        grain_of_name is not None
        and grain_of_name > grain
        and (is_frequency or before in ("every", "each"))
    )
