"""The time zone that stands beside a time of day: 14:00 UTC, 3 pm EST, noon in New York."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import available_timezones

from attrs import evolve

from infinite_memory.core.clock import find_zone
from infinite_memory.times.calendar import Calendar, Grain, Period
from infinite_memory.times.tokenizer import Cursor, Token

# Hours from UTC: the zones of RFC 5322, section 4.3, and others that one region alone has.
_HOURS = {
    **{"UTC": 0, "GMT": 0, "UT": 0, "Z": 0, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2},
    **{"MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9, "KST": 9},
    **{"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7},
    **{"AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13},
}
_PLACES = {
    **dict.fromkeys(("ET", "Eastern"), "America/New_York"),
    **dict.fromkeys(("CT", "Central"), "America/Chicago"),
    **dict.fromkeys(("MT", "Mountain"), "America/Denver"),
    **dict.fromkeys(("PT", "Pacific"), "America/Los_Angeles"),
    **dict.fromkeys(("北京时间", "北京時間"), "Asia/Shanghai"),
}
_AREAS = ("Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Pacific/")
# Every zone in letters that is none of these has its last letter from "time": IST, BST, SGT.
_ABBREVIATION = re.compile(r"[A-Z]{2,4}T\b", re.ASCII)
# A sign with one figure alone may add a guest: 14:00 +1.
_OFFSET = re.compile(
    r"(?:(?:UTC|GMT)\s?(?=[+\-−][0-9])|(?=.[0-9]{2}|.[0-9]:))([+\-−])([01]?[0-9])"
    r"(?::?([0-5][0-9]))?(?![\w:.-])"
)
_WORD = re.compile(r"北京时间|北京時間|[A-Za-z]+(?![\w/])")
_NAME = re.compile(r"[A-Za-z_]+/[A-Za-z_/]+")
_CITY = re.compile(
    r"(?P<led>in\s)?(?P<city>[A-Z]\w+(?:\s[A-Z]\w+){0,2}?)(?(led)(?![\w'’/]|\s[A-Z])|(?=\s[Tt]ime\b))"
)
_REST = re.compile(r"(?:\s(?:standard|daylight)(?=\stime))?(?:\stime\b)?", re.IGNORECASE)
_REMARK = re.compile(r"\s?[(（][A-Z]{1,5}[)）]")
_TIMED = frozenset({"clock", "ampm", "figures", "iso", "han"})
_HOUR_WORDS = frozenset("noon midday midnight clock oclock am pm uhr h heures horas hrs".split())


def take_zone(text: str, cursor: Cursor) -> tuple[Cursor, tzinfo | None]:
    """Return the tokens without the zone beside a time of day, and that zone.

    The token before the zone then spans its words too, and a clock with a zone counts 24 hours.
    The zone is None if no other than the user's own is named.

    Raises:
        ValueError: a word behind a time of day has the form of a zone, and no region for sure.
    """
    for number, token in enumerate(cursor.tokens):
        if not _may_name_zone(text, cursor.tokens, number):
            continue
        found = _read_zone(text, token.start, cursor.calendar)
        if found is not None:
            zone, end = found
            tokens = _without(text, cursor.tokens, number, end)
            return evolve(cursor, tokens=tokens), zone
    return cursor, None


def move_to_zone(period: Period, zone: tzinfo | None) -> Period:
    """Return a period of days or hours whose times on the clock are those of `zone`."""
    if zone is None or period.grain > Grain.DAY:
        return period
    start, end = (
        bound if bound is None or bound.tzinfo is not None else bound.replace(tzinfo=zone)
        for bound in (period.start, period.end)
    )
    return evolve(period, start=start, end=end)


def _may_name_zone(text: str, tokens: Sequence[Token], number: int) -> bool:
    """Return whether a time of day stands before a token, or what needs none."""
    if text.startswith("北京", tokens[number].start):
        return True
    if tokens[number].raw in ("UTC", "GMT") and 0 < number == len(tokens) - 1:
        return True  # The day in "yesterday UTC".
    before = number - 2 if number and tokens[number - 1].raw in ("(", "（") else number - 1
    return before >= 0 and (tokens[before].kind in _TIMED or tokens[before].value in _HOUR_WORDS)


def _read_zone(text: str, start: int, calendar: Calendar) -> tuple[tzinfo | None, int] | None:
    """Return the zone whose words begin at `start`, None for the user's, and their end."""
    offset = _OFFSET.match(text, start)
    if offset is not None:
        length = timedelta(hours=int(offset[2]), minutes=int(offset[3] or "0"))
        return timezone(length if offset[1] == "+" else -length), offset.end()
    word = _WORD.match(text, start)
    if word is not None:
        end = _REST.match(text, word.end()).end()  # type: ignore[union-attr]
        if word[0] in _list_own_names(calendar):
            return None, end
        if word[0] in _HOURS:
            return timezone(timedelta(hours=_HOURS[word[0]])), end
        if word[0] in _PLACES:
            return find_zone(_PLACES[word[0]]), end
    name = _NAME.match(text, start)
    if name is not None and name[0].casefold() in _list_zones():
        return find_zone(_list_zones()[name[0].casefold()]), name.end()
    city = _CITY.match(text, start)
    if city is not None and city["city"].casefold() in _list_zones():
        zone = find_zone(_list_zones()[city["city"].casefold()])
        return zone, _REST.match(text, city.end()).end()  # type: ignore[union-attr]
    if word is not None and _ABBREVIATION.fullmatch(word[0]):
        raise ValueError(f"{word[0]!r} is the zone of no region for sure: write UTC+2")
    return None


def _without(text: str, tokens: Sequence[Token], number: int, end: int) -> list[Token]:
    """Return the tokens without those of the zone, which are part of the time before them."""
    remark = _REMARK.match(text, end)
    end = end if remark is None else remark.end()
    kept, rest = list(tokens[:number]), [token for token in tokens if token.start >= end]
    if kept and kept[-1].raw in ("(", "（"):
        kept.pop()
        if rest and rest[0].raw in (")", "）"):
            end = rest.pop(0).end
    if kept:
        kept[-1] = evolve(kept[-1], end=end)
    return [*map(_count_24_hours, kept), *rest]


def _count_24_hours(token: Token) -> Token:
    """Return the time of a clock as one that is not half past nine in the evening."""
    if token.kind != "clock" or token.groups[3] is not None or token.value.startswith("0"):
        return token
    return evolve(token, value=f"0{token.value}")


def _list_own_names(calendar: Calendar) -> set[str | None]:
    """Return how the user's zone is abbreviated in summer and in winter."""
    year = calendar.now.year
    days = (datetime(year, month, 1) for month in (1, 7))  # noqa: DTZ001 - on the user's clock
    if calendar.zone is None:
        return {day.astimezone().tzname() for day in days}
    zone = find_zone(calendar.zone)
    return {day.replace(tzinfo=zone).tzname() for day in days}


@cache
def _list_zones() -> dict[str, str]:
    """Return the names of zones by what they are called: Europe/London, and its city."""
    names = available_timezones()
    cities = {
        name.rpartition("/")[2].replace("_", " ").casefold(): name
        for name in names
        if name.startswith(_AREAS)
    }
    return {**cities, **{name.casefold(): name for name in names if "/" in name}}
