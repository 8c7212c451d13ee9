"""Numbers in words, and halves of a unit: twenty-two, 二十一, half an hour ago, 半年前."""

from __future__ import annotations

from collections.abc import Callable

from infinite_memory.times.calendar import HALVED, Grain
from infinite_memory.times.tokenizer import Cursor, Match
from infinite_memory.times.words import DIGITS_ZH, NUMBERS, ORDINALS, UNITS, UNITS_ZH

NumberReader = Callable[[Cursor, int], tuple[int, int] | None]
_HALVES_ZH = {"半年": Grain.YEAR, "半天": Grain.DAY}
_QUARTERS_ZH = {"一刻钟": 1, "三刻钟": 3}
_AGO_ZH = frozenset({"前", "之前", "以前"})


def read_number(cursor: Cursor, position: int) -> tuple[int, int] | None:
    """Return the English number that begins at `position`, and the next position."""
    token, word = cursor.at(position), cursor.word(position)
    if cursor.word(position + 1) == "hundred":
        hundreds = 1 if word == "a" else NUMBERS.get(word, 10)
        return (100 * hundreds, position + 2) if hundreds < 10 else None
    if token is not None and token.kind == "number" and token.groups[1] is None:
        return int(token.groups[0] or "0"), position + 1
    if word in ("a", "an"):
        if cursor.word(position + 1) == "couple":
            return read_number(cursor, position + 1)
        return 1, position + 1
    if word == "couple":
        return 2, position + (2 if cursor.word(position + 1) == "of" else 1)
    if word in NUMBERS:
        tens, units = NUMBERS[word], NUMBERS.get(cursor.word(position + 1), 10)
        if tens >= 20 and units < 10:
            return tens + units, position + 2
        return tens, position + 1
    joined = cursor.at(position)
    if joined is not None and joined.kind == "name" and joined.value.count("-") == 1:
        tens, units = (NUMBERS.get(part, 0) for part in joined.value.split("-"))
        if tens >= 20 and 0 < units < 10:
            return tens + units, position + 1
    return None


def read_ordinal(cursor: Cursor, position: int) -> tuple[int, int] | None:
    """Return the number of "first" or "twenty-first" at `position`, and the next position."""
    word, token = cursor.word(position), cursor.at(position)
    if word in ("twenty", "thirty") and ORDINALS.get(cursor.word(position + 1), 10) < 10:
        return NUMBERS[word] + ORDINALS[cursor.word(position + 1)], position + 2
    if token is not None and token.kind == "name" and token.value.count("-") == 1:
        tens, units = token.value.split("-")
        if tens in ("twenty", "thirty") and ORDINALS.get(units, 10) < 10:
            return NUMBERS[tens] + ORDINALS[units], position + 1
    if word == "thirtieth":
        return 30, position + 1
    return (ORDINALS[word], position + 1) if word in ORDINALS else None


def read_chinese_number(cursor: Cursor, position: int) -> tuple[int, int] | None:
    """Return the Chinese number, or digits, that begins at `position`, and the next position."""
    token = cursor.at(position)
    if token is not None and token.kind == "number" and token.groups[1] is None:
        return int(token.groups[0] or "0"), position + 1
    end = position
    while end - position < 4 and cursor.han(end) in DIGITS_ZH:
        end += 1
    if end == position or cursor.han(end) in DIGITS_ZH:
        return None
    value = _digits_to_number([DIGITS_ZH[cursor.han(at)] for at in range(position, end)])
    return None if value is None else (value, end)


def _digits_to_number(digits: list[int]) -> int | None:
    """Return the number that digits amount to: 二零二三 is 2023, 二十三 is 23."""
    if 10 not in digits:
        # "Two three" is not a number, but four digits are a year.
        return int("".join(map(str, digits))) if len(digits) in (1, 4) else None
    at = digits.index(10)
    if at > 1 or len(digits) - at > 2 or 10 in digits[at + 1 :]:
        return None
    tens = digits[0] if at else 1
    units = digits[at + 1] if len(digits) > at + 1 else 0
    return tens * 10 + units


def match_halves_ago(cursor: Cursor, position: int, read: NumberReader) -> Match | None:
    """Return the time that lies halves or quarters of a unit back; `read` reads a number.

    Raises:
        ValueError: the calendar has no such time.
    """
    calendar = cursor.calendar
    quarters = _read_quarters(cursor, position)
    if quarters is not None and _is_ago(cursor, quarters[1]):
        return Match(calendar.quarters_ago(quarters[0]), quarters[1] + 1)
    measured = _read_halves(cursor, position, read)
    if measured is None or not _is_ago(cursor, measured[2]):
        return None
    halves, grain, after = measured
    return Match(calendar.halves_ago(grain, halves), after + 1)


def match_past_halves(cursor: Cursor, position: int, read: NumberReader) -> Match | None:
    """Return the last halves of a unit, up to now: half year, 半个月."""
    measured = _read_halves(cursor, position, read)
    if measured is None or _is_ago(cursor, measured[2]):
        return None
    halves, grain, after = measured
    return Match(cursor.calendar.past_halves(grain, halves), after)


def _read_halves(
    cursor: Cursor, position: int, read: NumberReader
) -> tuple[int, Grain, int] | None:
    """Return a number of halves, their unit, and the next position."""
    english = _read_english_halves(cursor, position, read)
    return english or _read_chinese_halves(cursor, position, read)


def _is_ago(cursor: Cursor, position: int) -> bool:
    return cursor.word(position) == "ago" or cursor.han(position) in _AGO_ZH


def _read_quarters(cursor: Cursor, position: int) -> tuple[int, int] | None:
    words = [cursor.word(position + number) for number in range(5)]
    if words[:2] in (["a", "quarter"], ["three", "quarters"]) and words[2:] == ["of", "an", "hour"]:
        return (1 if words[0] == "a" else 3), position + 5
    quarters = _QUARTERS_ZH.get(cursor.han(position))
    return None if quarters is None else (quarters, position + 1)


def _read_english_halves(
    cursor: Cursor, position: int, read: NumberReader
) -> tuple[int, Grain, int] | None:
    begin = position + 1 if cursor.word(position) == "a" else position
    if cursor.word(begin) == "half":
        article = cursor.word(begin + 1) in ("a", "an")
        return _read_unit(cursor, begin + 2 if article and begin == position else begin + 1, 1)
    counted = read(cursor, position)
    if counted is None:
        # As in "the past year and a half".
        return _read_and_a_half(cursor, position, 1)
    count, after = counted
    if _three_words(cursor, after) == ("and", "a", "half"):
        return _read_unit(cursor, after + 3, 2 * count + 1)
    return _read_and_a_half(cursor, after, count)


def _read_and_a_half(cursor: Cursor, position: int, count: int) -> tuple[int, Grain, int] | None:
    if _three_words(cursor, position + 1) != ("and", "a", "half"):
        return None
    unit = _read_unit(cursor, position, 2 * count + 1)
    return None if unit is None else (*unit[:2], position + 4)


def _read_unit(cursor: Cursor, position: int, halves: int) -> tuple[int, Grain, int] | None:
    grain, length = UNITS.get(cursor.word(position), (Grain.MOMENT, 0))
    return (halves, grain, position + 1) if grain in HALVED and length == 1 else None


def _three_words(cursor: Cursor, position: int) -> tuple[str, str, str]:
    return cursor.word(position), cursor.word(position + 1), cursor.word(position + 2)


def _read_chinese_halves(
    cursor: Cursor, position: int, read: NumberReader
) -> tuple[int, Grain, int] | None:
    word = cursor.han(position)
    if word in _HALVES_ZH:
        return 1, _HALVES_ZH[word], position + 1
    if word in ("半", "半个"):
        return _read_chinese_unit(cursor, position + 1, 1, counted=word == "半个")
    counted = read(cursor, position)
    if counted is None:
        return None
    count, after = counted
    # 一个半小时, 一小时半, 两年半, 两个半月.
    if (cursor.han(after), cursor.han(after + 1)) == ("个", "半"):
        return _read_chinese_unit(cursor, after + 2, 2 * count + 1, counted=True)
    if cursor.han(after + 1) == "半" and cursor.han(after) not in ("月", "点", "点钟"):
        unit = _read_chinese_unit(cursor, after, 2 * count + 1, counted=False)
        return None if unit is None or count >= 1000 else (*unit[:2], after + 2)
    return None


def _read_chinese_unit(
    cursor: Cursor, position: int, halves: int, *, counted: bool
) -> tuple[int, Grain, int] | None:
    """Return the halves, their unit and the next position.

    A month needs 个 before it, as in 半个月: then it is `counted`.
    """
    word = cursor.han(position)
    grain = UNITS[UNITS_ZH[word]][0] if word in UNITS_ZH else Grain.MOMENT
    if grain not in HALVED or (word == "日") or (word == "月" and not counted):
        return None
    return halves, grain, position + 1
