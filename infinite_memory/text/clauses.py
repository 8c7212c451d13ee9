"""One clause of an English text in a canonical form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from attrs import evolve, frozen

from infinite_memory.text.equivalents import (
    DEFINITE,
    FILLERS,
    HESITATIONS,
    INTRODUCTIONS,
    LABELS_OF_A,
    MONTHS,
    NEGATIONS,
    NOT_PLURAL,
    OPENERS,
    PARTICIPLES,
    PRONOUNS,
    REPORTING,
    SPELLED_UNITS,
    SUBORDINATE,
    UNITS,
    WEEKDAYS,
)

__all__ = ["Token", "plain_clause"]

_BREAKS = re.compile(r"[.;!?\u3002]")
_COMMAS = re.compile(r"[,\u3001]")
_NUMBER = re.compile(r"[-+$€£¥]?\d+(?:[.:]\d+)*")
_DAY = re.compile(r"(0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")
_ISO = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_INTRODUCED_BY = {
    words[0]: tuple(other for other in INTRODUCTIONS if other[0] == words[0])
    for words in INTRODUCTIONS
}
_NOT_PLAIN = frozenset({"the", "a", "an", "&"})
_PERHAPS_LEFT_OUT = FILLERS | {"just", "too", "that"}
_SUBJECTS = PRONOUNS | DEFINITE
_IS = frozenset({"is", "are"})
_EQUALS = "="
_DATE = "@"
_HALVES = ("am", "pm")
_DAYS = frozenset({"today", "tomorrow", "yesterday", "tonight"})
_LEAST_LEFT = 3
_LONGEST_LABEL = 5
_LONGEST_SUBJECT = 3
_LEAST_PLURAL = 4


@frozen(kw_only=True, slots=False)
class Token:
    """A word as it counts, as it was written, and the punctuation that followed it.

    `first` tells that it begins a clause, where a capital letter says nothing. The same word is the
    same object (`statements` keeps them), so what follows from it is worked out once.
    """

    text: str
    raw: str
    first: bool = False
    after: str = ""

    @cached_property
    def breaks(self) -> bool:
        """Whether a clause ends here."""
        return bool(self.after) and _BREAKS.search(self.after) is not None

    @cached_property
    def comma(self) -> bool:
        """Whether a comma follows, or a Chinese list mark."""
        return bool(self.after) and _COMMAS.search(self.after) is not None

    @cached_property
    def colon(self) -> bool:
        """Whether a colon follows."""
        return ":" in self.after

    @cached_property
    def soft(self) -> bool:
        """Whether it is a plain word in small letters, and so no name."""
        return self.raw.islower() and self.text.isalpha()

    @cached_property
    def numeric(self) -> bool:
        """Whether it begins or ends with a digit."""
        return self.text[:1].isdigit() or self.text[-1:].isdigit()

    @cached_property
    def plain(self) -> bool:
        """Whether it is said as it is, whatever stands beside it."""
        return self.text not in _NOT_PLAIN and not self.colon and not self.comma

    @cached_property
    def singular(self) -> str:
        """The word in the singular, if it is a plain word in the plural."""
        return _singular(self)

    def followed_by(self, signs: str, *, replace: bool = False) -> Token:
        """Return the token with these signs after it, in place of its own or behind them."""
        return evolve(self, after=signs if replace else self.after + signs)


def plain_clause(tokens: Sequence[Token]) -> list[str]:
    """Return the words that count, in an order that does not depend on how it was put."""
    clause = _without_opening(list(tokens))
    if any(token.numeric for token in clause):
        clause = _with_units(_with_dates(clause))
    if not _PERHAPS_LEFT_OUT.isdisjoint(token.text for token in clause):
        clause = _without_fillers(clause)
    clause = _time_last(clause)
    before, after = _halves(clause)
    if after is None:
        return _said(before)
    if not _definite(before) and _definite(after) and _may_swap(before, after):
        before, after = after, before
    if after and after[0].text == "on" and len(after) > 1 and _is_day(after[1]):
        after = after[1:]
    return [*_said(before), _EQUALS, *_said(after)]


def _without_opening(clause: list[Token]) -> list[Token]:
    while True:
        length = _opening(clause)
        # What little is left may be all that it says: "Thanks, Caroline!" is not "Hey, Caroline!".
        if not length or 0 < len(clause) - length < _LEAST_LEFT:
            return clause
        if _text(clause, length) == "that":
            length += 1
        clause = clause[length:]


def _opening(clause: list[Token]) -> int:
    """Return how many words the greeting or introduction has that the clause begins with."""
    begin = _text(clause, 0)
    for words in _INTRODUCED_BY.get(begin, ()):
        if _introduces(clause, words):
            return len(words)
    if begin in HESITATIONS or (begin in OPENERS and (clause[0].after or len(clause) == 1)):
        return 1
    return int(begin == "so" and _text(clause, 1) in _SUBJECTS)


def _introduces(clause: list[Token], words: tuple[str, ...]) -> bool:
    length = len(words)
    if tuple(token.text for token in clause[:length]) != words:
        return False
    follows = length < len(clause) and clause[length].text == "that"
    return bool(clause[length - 1].after) or (follows and len(clause) > length + 2)


def _with_dates(clause: list[Token]) -> list[Token]:
    """Join a day and its month, with the year if it is told, however they are written."""
    joined: list[Token] = []
    place = 0
    while place < len(clause):
        length, date = _date_at(clause, place)
        if length:
            last = clause[place + length - 1]
            joined.append(evolve(last, text=date, raw=date, first=clause[place].first))
        else:
            joined.append(clause[place])
        place += length or 1
    return joined


def _date_at(clause: list[Token], place: int) -> tuple[int, str]:
    if iso := _ISO.fullmatch(clause[place].text):
        return 1, f"{_DATE}{iso[1]}-{int(iso[2])}-{int(iso[3])}"
    length, month, day = 0, _month(clause, place), _day(clause, place + 1)
    if month and day:
        length = 2
    elif day := _day(clause, place):
        skip = 1 + (_text(clause, place + 1) == "of")
        month = _month(clause, place + skip)
        length = skip + 1 if month else 0
    if not length or any(token.breaks for token in clause[place : place + length - 1]):
        return 0, ""
    year = _text(clause, place + length)
    if _YEAR.fullmatch(year):
        return length + 1, f"{_DATE}{year}-{month}-{day}"
    return length, f"{_DATE}{month}-{day}"


def _text(clause: list[Token], place: int) -> str:
    return clause[place].text if place < len(clause) else ""


def _month(clause: list[Token], place: int) -> int:
    name = _text(clause, place)
    # "may" and "march" in small letters are verbs.
    if name in ("may", "march", "mar") and clause[place].raw.islower():
        return 0
    return MONTHS.get(name, 0)


def _day(clause: list[Token], place: int) -> int:
    found = _DAY.fullmatch(_text(clause, place))
    return int(found[1]) if found else 0


def _with_units(clause: list[Token]) -> list[Token]:
    joined: list[Token] = []
    for token in clause:
        half = token.text.lower() if token.text.lower() in _HALVES else ""
        unit = half or SPELLED_UNITS.get(token.text) or (token.text in UNITS and token.text)
        if unit and joined and _is_number(joined[-1]):
            number = joined.pop()
            together = number.text + unit
            joined.append(evolve(token, text=together, raw=together, first=number.first))
        else:
            joined.append(_in_small_letters(token))
    return joined


def _is_number(token: Token) -> bool:
    return not token.after and _NUMBER.fullmatch(token.text) is not None


def _in_small_letters(token: Token) -> Token:
    """Return "5PM" as "5pm"."""
    text = token.text
    if text[-2:].lower() in _HALVES and _NUMBER.fullmatch(text[:-2]):
        return evolve(token, text=text.lower(), raw=text.lower())
    return token


def _without_fillers(clause: list[Token]) -> list[Token]:
    kept: list[Token] = []
    for place, token in enumerate(clause):
        before = kept[-1].text if kept else ""
        last = place + 1 == len(clause)
        following = _text(clause, place + 1)
        left_out = (
            (token.text in FILLERS and before not in NEGATIONS and before != "but" and token.soft)
            or (token.text == "just" and before in PRONOUNS and not last)
            or (token.text == "too" and last and len(kept) > 1 and before not in NEGATIONS)
            or (token.text == "that" and before in REPORTING and not last and not token.after)
        )
        if left_out and not (following in ("few", "little") and token.text != "really"):
            if kept and token.after:
                kept[-1] = kept[-1].followed_by(token.after)
            continue
        kept.append(token)
    return kept


def _time_last(clause: list[Token]) -> list[Token]:
    """Move the time that a clause begins with to its end: "On Monday we meet"."""
    length = _time_at_start(clause)
    rest = clause[length:]
    if not length or len(rest) < 2 or any(token.colon for token in clause):
        return clause
    words = {token.text for token in rest}
    to_verb = any(one.text == "to" and other.soft for one, other in pairwise(rest))
    if words & SUBORDINATE or words & NEGATIONS or to_verb or rest[0].text in ("is", "are", "was"):
        return clause
    if any(_is_day(token) for token in rest) or any(token.comma for token in rest[:-1]):
        return clause
    return [*rest, *(token.followed_by("", replace=True) for token in clause[:length])]


def _time_at_start(clause: list[Token]) -> int:
    start = 1 if _text(clause, 0) in ("on", "every") else 0
    if start >= len(clause) or not _is_day(clause[start]):
        return 0
    start += 1
    if _text(clause, start) == "at" and _text(clause, start + 1)[:1].isdigit():
        start += 2
    return start


def _is_day(token: Token) -> bool:
    return token.text in WEEKDAYS or token.text in _DAYS or token.text.startswith(_DATE)


def _halves(clause: list[Token]) -> tuple[list[Token], list[Token] | None]:
    """Return what stands before and after the first "is" or ":" that says what something is."""
    if not any(token.text in _IS or token.colon for token in clause):
        return clause, None
    for place, token in enumerate(clause[:-1]):
        if token.text in _IS and place and not token.after:
            return clause[:place], clause[place + 1 :]
        if token.colon:
            return _labelled(clause, place + 1)
    return clause, None


def _labelled(clause: list[Token], place: int) -> tuple[list[Token], list[Token] | None]:
    label, after = clause[:place], clause[place:]
    participle = after[0].text in PARTICIPLES or after[0].text.endswith("ed")
    if place > _LONGEST_LABEL or participle or {t.text for t in label} & SUBORDINATE:
        # A colon that says something else counts as a word.
        return [*label, Token(text=":", raw=":"), *after], None
    return label, after


def _definite(tokens: Sequence[Token]) -> bool:
    return any(
        (token.text in DEFINITE and not place) or token.text.endswith("'s")
        for place, token in enumerate(tokens)
    )


def _may_swap(before: Sequence[Token], after: Sequence[Token]) -> bool:
    inner = {token.text for token in (*before, *after)}
    return (
        0 < len(before) <= _LONGEST_SUBJECT
        and before[0].text not in ("a", "an")
        and not inner & (SUBORDINATE | NEGATIONS | {"is", "are"} | {"this", "here", "there"})
        and not any(token.comma or token.colon for token in (*before, *after[:-1]))
    )


def _said(tokens: Sequence[Token]) -> list[str]:
    said: list[str] = []
    for place, token in enumerate(tokens):
        if token.plain:
            said.append(token.singular)
            continue
        before = said[-1] if said else ""
        following = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if token.text == "the":
            continue
        if token.text in ("a", "an") and _is_article(token, before, following):
            continue
        if token.text == "&":
            said.append("and")
        elif token.colon and place + 1 < len(tokens) and tokens[place + 1].text != ":":
            said.extend((token.singular, ":"))
        else:
            said.append(token.singular)
        if token.comma and token.text in ("no", "yes", "not") and place + 1 < len(tokens):
            said.append(",")
    return said


def _is_article(token: Token, before: str, following: str) -> bool:
    return (
        bool(following)
        and not token.after
        and before not in LABELS_OF_A
        and following not in ("few", "little", "lot", "bit", "to", "and", "or")
    )


def _singular(token: Token) -> str:
    word = token.text
    if (
        not word.endswith("s")
        or len(word) < _LEAST_PLURAL
        or not token.soft
        or word.endswith(("ss", "us", "is"))
        or word in NOT_PLURAL
    ):
        return word
    if word.endswith("ies") and len(word) > _LEAST_PLURAL:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zzes")):
        return word[:-2]
    return word[:-1]
