"""Dates and times of day in one way of writing, for `likeness`; what is doubtful stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

__all__ = ["BEGINNINGS_OF_MONTHS", "with_one_kind_of_dates"]

_MONTHS = (
    "january february march april may june july august september october november december".split()
)
# In small letters "may" and "march" are verbs, but for "on march 3"; "mar" or "dec" anything.
_SAFE = "|".join(name for name in _MONTHS if name not in ("may", "march"))
_SHORT = "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec"
_SURELY = r"(?:(?<=on )|(?<=by )|(?<=since )|(?<=until )|(?<=due )|(?<=is ))(?:may|march)"
_MONTH = rf"(?P<month>(?i:{_SAFE})|May|March|MAY|MARCH|(?:{_SHORT})\.?|{_SURELY})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,? (?P<year>(?:19|20)\d\d))?"
_ALONE = r"(?<![\w/.:$-])"
# "Give Jan 20 euros."
_END = r"(?![\w/$€%]|[-–:.,]\d| (?:euros?|dollars?|pounds?|francs?|bucks|cents?|percent|times)\b)"
_MONTH_FIRST = re.compile(rf"{_ALONE}{_MONTH} (?:the )?{_DAY}{_YEAR}{_END}")
# "5 June invoices" may be five.
_DAY_FIRST = re.compile(rf"{_ALONE}(?:the )?{_DAY} (?:of )?{_MONTH}{_YEAR}{_END}(?! [a-z]+s\b)")
_CLOCK = re.compile(
    rf"{_ALONE}(?P<hour>1[0-2]|0?[1-9])(?::(?P<minute>[0-5]\d))? ?(?P<half>[ap])(?:m|\.m\.?)(?!\w)",
    re.IGNORECASE,
)
_IS_ON = re.compile(r"\b(is|was) on (?=(?:\d{4}|-)-\d\d-\d\d\b)")
_DIGIT = re.compile(r"\d")
BEGINNINGS_OF_MONTHS = frozenset(name[:3] for name in _MONTHS)
"""The first three letters of each month, in small letters."""
_HALVES = ("am", "pm", "a.m", "p.m")
_SLASHED = re.compile(r"(?<![\w/.:-])((?:19|20)\d\d)/([01]\d)/([0-3]\d)(?![\w/-])")
_EARLY = re.compile(r"(?<![\w:.,/$-])(\d:[0-5]\d)(?![\w:/-]|[.,]\d| ?[apAP]\.?[mM])")
_HAN_DATE = re.compile(r"(\d{1,2}) ?月 ?(\d{1,2}) ?[日号號]")


def with_one_kind_of_dates(text: str) -> str:
    """Return `text` with "June 5th, 2026" and "5 June 2026" as 2026-06-05, and "5 pm" as 17:00."""
    if _DIGIT.search(text) is None:
        return text
    for sign, pattern, form in (("/", _SLASHED, r"\1-\2-\3"), (":", _EARLY, r"0\1")):
        if sign in text and all(found.expand(form) not in text for found in pattern.finditer(text)):
            text = pattern.sub(form, text)
    lowered = text.lower()
    for signs, pattern, written in _SPOKEN:
        if not any(map(lowered.__contains__, signs)):
            continue
        # "Write 5 pm as 17:00" is about the writing.
        forms = {written(found) for found in pattern.finditer(text)}
        if any(form in text for form in forms):
            return text
        if forms:
            text = pattern.sub(written, text)
    if "月" in text:
        text = _HAN_DATE.sub(r"\1月\2日", text)
    return _IS_ON.sub(r"\1 ", text) if "-" in text else text


def _date(found: re.Match[str]) -> str:
    day = int(found["day"])
    month = next(
        n for n, name in enumerate(_MONTHS, 1) if name.startswith(found["month"].lower()[:3])
    )
    if not 1 <= day <= 31:
        return found[0]
    # Two hyphens or none: a day without a year is no range of numbers.
    return f"{found['year'] or '-'}-{month:02}-{day:02}"


def _clock(found: re.Match[str]) -> str:
    hour = int(found["hour"]) % 12 + (12 if found["half"] in "pP" else 0)
    return f"{hour:02}:{found['minute'] or '00'}"


# What a text has, in small letters, that the pattern may fit: looking for it is far cheaper.
_SPOKEN: tuple[tuple[Collection[str], re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (BEGINNINGS_OF_MONTHS, _DAY_FIRST, _date),
    (BEGINNINGS_OF_MONTHS, _MONTH_FIRST, _date),
    (_HALVES, _CLOCK, _clock),
)
