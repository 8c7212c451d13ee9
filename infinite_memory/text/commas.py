"""Commas that set nothing apart."""

from __future__ import annotations

import re

__all__ = ["DENIAL", "without_commas"]

DENIAL = re.compile(
    r"\b(?:not|never|no|none|nor|neither|without|hardly|barely|scarcely|rarely|seldom|few|little|only"
    r"|cannot|\w+n't|(?:do|does|did|is|are|was|were|have|has|had|should|could|would|wo|ca)nt)\b",
    re.IGNORECASE,
)
"""Words that deny, or nearly do: a sentence with one of them may turn on little."""

# "All but Bob came", "the last but one".
_ALL = frozenset(
    "all everyone everybody everything everywhere anyone anything anywhere any no nobody none"
    " nothing nowhere not never last next little few help one".split()
)
# "Bob is, not Anna" and "wait, not here" are the opposite without the comma.
_DENIED = frozenset(
    "is are was were am be been has have had do does did will would can could may might must shall"
    " should need dare ought say says said no yes please wait stop come go".split()
)
_VERBS = frozenset("is are was were has have will must should".split())
_WEEKDAYS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri".split()
)
_INTRODUCING = frozenset("in on at by since after before during for from".split())


def without_commas(words: list[str]) -> list[str]:
    """Leave out commas that set nothing apart; all others count."""
    if "," not in words:
        return words
    last = len(words) - 1 - words[::-1].index(",")
    first = words.index(",")
    return [
        word
        for place, word in enumerate(words)
        if word != "," or not _idle(words, place, first=place == first, last=place == last)
    ]


def _idle(words: list[str], place: int, *, first: bool, last: bool) -> bool:
    before = words[place - 1] if place else ""
    after = words[place + 1] if place + 1 < len(words) else ""
    if after in ("and", "or"):
        return last and (not first or (after == "and" and _joins_clauses(words, place)))
    if after == "not":
        return place > 1 and before.isalpha() and before.lower() not in _DENIED
    if after in ("but", "so"):
        return before.isalpha() and before.lower() not in _ALL
    if before.lower() in _WEEKDAYS:
        return after.count("-") >= 2 and after[-1].isdigit()
    introduces = first and place <= 4 and words[0].lower() in _INTRODUCING
    return introduces and not (before[-1:].isdigit() and after[:1].isdigit())


def _joins_clauses(words: list[str], place: int) -> bool:
    """Tell whether a whole clause stands on either side of an "and", and nothing is denied."""
    if not _VERBS.isdisjoint(words[:place]) and not _VERBS.isdisjoint(words[place + 3 : place + 7]):
        return DENIAL.search(" ".join(words)) is None and _ALL.isdisjoint(words)
    return False
