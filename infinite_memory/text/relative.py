"""Words of time whose meaning depends on the day on which they were said."""

from __future__ import annotations

import re
from enum import Enum

__all__ = ["Span", "relative_to"]


class Span(Enum):
    """How long a text means the same, wherever it is said again."""

    DAY = "day"
    WEEK = "week"
    EVER = "ever"


_DAY = re.compile(
    r"\b(?:today|tonight|yesterday|tomm?orr?ow|ago|just now|right now|so far|currently"
    r"|(?:this|last|next|past|coming) (?:morning|afternoon|evening|night|day|week|weekend|month"
    r"|quarter|spring|summer|autumn|fall|winter|year|time"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|in (?:an?|\d+|two|three|four|five|six|ten) (?:minute|hour|day|week|month|year)s?)\b"
    r"|[今明昨后前]天|[今明昨]晚|今早|明早|[今明去前后]年|[上下本这]个?(?:周|星期|月|季度)|刚才|刚刚|目前|现在",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|周[一二三四五六日末天]|星期[一二三四五六日天]|礼拜[一二三四五六日天]",
    re.IGNORECASE,
)
_REPEATED = re.compile(r"\b(?:every|each|weekly|always|usually)\b|每", re.IGNORECASE)


# Looked for first, since that is ten times as quick and most texts have none of them.
_HINTS = tuple(
    "day night tom ago now far current morning afternoon evening week month quarter spring summer"
    " autumn fall winter year time minute hour".split()
)


def relative_to(text: str) -> Span:
    """Return for how long `text` means the same: "tomorrow" is another day tomorrow.

    A day of the week means one within its week, unless it is said to come back ("every Monday").
    """
    if text.isascii() and not _hinted(text.lower()):
        return Span.EVER
    if _DAY.search(text):
        return Span.DAY
    if _WEEKDAY.search(text) and not _REPEATED.search(text):
        return Span.WEEK
    return Span.EVER


def _hinted(text: str) -> bool:
    return any(hint in text for hint in _HINTS)
