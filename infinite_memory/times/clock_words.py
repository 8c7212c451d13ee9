"""Times of the clock in English words: quarter past nine, ten o'clock, 9 this morning."""

from __future__ import annotations

from infinite_memory.times.calendar import Grain
from infinite_memory.times.english import english
from infinite_memory.times.english_words import NUMBERS
from infinite_memory.times.match import Doubt, Found, Source
from infinite_memory.times.numbers import number_at
from infinite_memory.times.recurring import Cycle, clock_time
from infinite_memory.times.twelve_hour import dial_time

__all__ = ["spoken"]

_PAST = frozenset({"past", "after"})
_TO = frozenset({"to", "till", "til"})
_JOINTS = _TO | {"until", "and"}
_MINUTES = frozenset({"minute", "minutes", "min", "mins"})
_BOUNDS = frozenset("since before after until till from between and to around about by".split())
_OTHER_HALF = {"a": "p", "p": "a"}
_BETWEEN = frozenset({"in", "the", "on", "at"})


def spoken(source: Source, place: int) -> Found | None:
    """Return the time of the clock whose words begin at `place`, None if none does."""
    shifted = _shift(source, place)
    if shifted is None:
        return _hour_alone(source, place)
    minutes, after = shifted
    found = _hour(source, after)
    if found is None:
        return None
    hour, half, end = found
    if minutes < 0:
        hour, minutes = (hour + 10) % 12 + 1, 60 + minutes
        # A quarter to 12 pm is in the morning.
        half = _OTHER_HALF[half.lower()] if half is not None and hour == 11 else half
    return Found(_time(hour, minutes, half), _after_clock(source, end), Doubt.PREPOSITION)


def _shift(source: Source, place: int) -> tuple[int, int] | None:
    """Return the minutes in "quarter to" and "ten past", and the place after them."""
    begin = place + 1 if source.word(place) == "a" else place
    word, joint = source.word(begin), source.word(begin + 1)
    if word == "half" and begin == place:
        return (30, begin + 2) if joint == "past" else None
    if word == "quarter":
        if joint in _PAST | _TO:
            return (15 if joint in _PAST else -15), begin + 2
        return None
    number = number_at(source, place)
    if number is None or not 1 <= number[0] < 30 or word == "couple" or begin != place:
        return None
    counted = source.word(number[1]) in _MINUTES
    joint_at = number[1] + 1 if counted else number[1]
    joint = source.word(joint_at)
    if joint == "past":
        return number[0], joint_at + 1
    # "Ten to twelve" may be two hours, but "twenty to three" is not.
    if joint in _TO and (counted or (number[0] > 12 and not _is_digits(source, place))):
        return -number[0], joint_at + 1
    return None


def _is_digits(source: Source, place: int) -> bool:
    token = source.at(place)
    return token is not None and token.kind == "number"


def _hour(source: Source, place: int) -> tuple[int, str | None, int] | None:
    """Return the hour that begins at `place`, "a" or "p" if it is said, and the place after it."""
    token = source.at(place)
    if token is not None and token.kind == "ampm":
        hour = int(token.groups[0] or "0")
        return (hour, token.groups[1], place + 1) if 1 <= hour <= 12 else None
    if token is None or (token.kind != "number" and token.value not in NUMBERS):
        return None
    if token.kind == "number" and (token.groups[1] is not None or len(token.value) > 2):
        return None
    hour = int(token.value) if token.kind == "number" else NUMBERS[token.value]
    half = source.word(place + 1)
    if half in ("am", "pm"):
        return (hour, half[0], place + 2) if 1 <= hour <= 12 else None
    return (hour, None, place + 1) if 1 <= hour <= 12 else None


def _time(hour: int, minute: int | None, half: str | None) -> Cycle:
    if half is None:
        return dial_time(hour, minute, said=True)
    return clock_time(hour % 12 + (12 if half.lower() == "p" else 0), minute)


def _after_clock(source: Source, place: int) -> int:
    """Return the place after "o'clock", if that is there."""
    sign = source.sign(place + 1)
    if source.word(place) == "o" and sign in ("'", "’") and source.word(place + 2) == "clock":
        return place + 3
    return place + 1 if source.word(place) == "oclock" else place


def _hour_alone(source: Source, place: int) -> Found | None:
    """Return the hour in "ten o'clock", in "9 this morning" and in "tonight at 8"."""
    found, token = _hour(source, place), source.at(place)
    if found is None or (token is not None and token.kind == "ampm"):
        return None
    hour, half, after = found
    if half is not None:
        return Found(_time(hour, None, half), after, Doubt.PREPOSITION)
    end = _after_clock(source, after)
    if end != after:
        return Found(dial_time(hour, None, said=True), end, Doubt.PREPOSITION)
    before = source.word(place - 1)
    led = before == "at" or source.sign(place - 1) == "@"
    if before in _JOINTS and _is_count(source, place - 2):
        return None  # Raised from five to ten this morning.
    if led or ((place == 0 or before in _BOUNDS) and _part_follows(source, after)):
        # A number is an hour only together with a part of the day.
        return Found(dial_time(hour, None, clear=False, said=True), after, Doubt.COMPANY)
    return None


def _is_count(source: Source, place: int) -> bool:
    """Tell whether a number is there that is not the hour in "half past nine"."""
    token = source.at(place)
    if token is None or source.word(place - 1) in _PAST | _TO:
        return False
    return token.value in NUMBERS or (token.kind == "number" and token.groups[1] is None)


def _part_follows(source: Source, place: int) -> bool:
    """Tell whether a part of a day comes next: this morning, in the evening, on Friday night."""
    for _ in range(2):
        for _ in range(2):
            place = place + 1 if source.word(place) in _BETWEEN else place
        found = english(source, place)
        if found is None or found.time.grain not in (Grain.PART, Grain.DAY):
            return False
        if found.time.grain is Grain.PART:
            return True
        place = found.end
    return False
