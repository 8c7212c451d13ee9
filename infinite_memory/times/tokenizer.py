"""The tokens of a text, and a cursor to read them with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import cache

from attrs import frozen

from infinite_memory.times.calendar import Calendar
from infinite_memory.times.recurring import Time
from infinite_memory.times.words import (
    COUNTED,
    LONGEST_ZH,
    MONTHS,
    SIMPLIFIED_ZH,
    WEEKDAYS,
    WORDS_ZH,
)

# What may stand before and after the digits of a time: nothing that makes them part of a name, a
# version or an amount. `(?-i:` spares the compiler the letter case of 27,000 Chinese characters.
_HAN = r"(?-i:[\u3400-\u9fff])"
_LETTER = r"(?-i:[^\W_\u3400-\u9fff])"
_BEGIN = rf"(?:(?<=\bmid-)|(?<={_HAN}[-~])|(?<![A-Za-z0-9_.:/+#$€£¥@&=%~^*\\-])(?<![0-9],))"
_END = r"(?![A-Za-z0-9_%°€$£=@#&*^~\\]|[.,:/+-][0-9]|[.:/+-][A-Za-z])"
_MONTH = f"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})"
_WEEKDAY = f"(?:{'|'.join(sorted(WEEKDAYS, key=len, reverse=True))})"
_AMPM = r"([ap])\.?m(?:\.(?=\s|$)|\b)"
_PATTERNS = {
    # All are anchored, and no repetition contains another: the reading is linear.
    "isospan": r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:/|\.\.)([0-9]{4}-[0-9]{2}-[0-9]{2})",
    "iso": r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"[ ]?(Z\b|[+-][0-9]{2}(?::?[0-9]{2}(?::[0-9]{2})?)?(?![0-9]))?)?",
    "isoweek": r"([0-9]{4})-?W([0-9]{2})(?:-([1-7]))?",
    "weeknumber": r"(?:W|KW)[ ]?([0-9]{1,2})",
    "quarter": r"(?:([0-9]{4})[ /-]?)?Q([1-4])(?:[ ]?[/-]?[ ]?([0-9]{4}))?",
    "quarters": r"Q([1-4])[-–—]Q?([1-4])",
    "half": r"(?:([0-9]{4})[ /-]?)?H([12])(?:[ ]?[/-]?[ ]?([0-9]{4}))?",
    "slashed": r"([0-9]{1,4})([/.-])([0-9]{1,2})\2([0-9]{1,4})",
    "daymonth": r"(0?[1-9]|[12][0-9]|3[01])\.\s?(0?[1-9]|1[0-2])\.",
    "monthname": rf"([0-9]{{1,2}})-({_MONTH})-([0-9]{{4}})",
    "isomonth": r"([0-9]{4})[-/]([0-9]{2})",
    "monthyear": r"(0[1-9]|1[0-2])/([0-9]{4})",
    "years": r"([0-9]{4})[-–—]([0-9]{4})",
    # Not "20s", which may be the 1920s or the 2020s.
    "decade": r"(?:([0-9]{3})0|['’]?([3-9])0)['’]?s",
    # 3-5, 2-4pm, 14:00-16:00
    "figures": rf"([0-9]{{1,2}})(?::([0-9]{{2}}))?(?:st|nd|rd|th|\s?{_AMPM})?[-–—]"
    rf"([0-9]{{1,2}})(?::([0-9]{{2}}))?(?:st|nd|rd|th|\s?{_AMPM})?",
    # The century of '98 and '24 is known.
    "shortyear": r"['’]([0-9]{2})",
    "clock": rf"([0-9]{{1,2}})[:：]([0-9]{{2}})(?::([0-9]{{2}}))?(?:\s?{_AMPM})?",
    "uhr": r"([0-9]{1,2})(?:[.:]([0-9]{2}))?\s?Uhr(?:\s?([0-5][0-9]))?",
    "heure": r"([0-9]{1,2})\s?h\s?([0-5][0-9])",
    "dotted": rf"([0-9]{{1,2}})\.([0-9]{{2}})\s?{_AMPM}",
    "ampm": rf"([0-9]{{1,2}})\s?{_AMPM}",
    "amount": rf"([0-9]{{1,4}})({'|'.join(sorted(COUNTED, key=len, reverse=True))})",
    "number": r"([0-9]{1,9})(st|nd|rd|th)?",
}
_FIGURES = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items())
_WIDE = {ord("０") + digit: str(digit) for digit in range(10)} | {ord("："): ":", ord("，"): ","}


@frozen
class Token:
    """A word, number, date, Chinese word or sign, with its half-open range of characters.

    `value` is in lower case, Chinese simplified. `groups` are the parts of a date, a time of day
    or a number. `raw` is the text as it stands.
    """

    kind: str
    value: str
    start: int
    end: int
    raw: str
    groups: tuple[str | None, ...] = ()


class Doubt(IntEnum):
    """The words that a sentence must add to a match to make it a time.

    `NONE`: nothing else. `PREPOSITION`: a preposition before the match, as in "in May". `COMPANY`:
    another expression of time beside it.
    """

    NONE = 0
    PREPOSITION = 1
    COMPANY = 2


@frozen
class Match:
    """A time, and the position of the first token after its words."""

    time: Time
    end: int
    doubt: Doubt = Doubt.NONE


@frozen
class Cursor:
    """The tokens of a text and the calendar of its reader.

    Positions are indexes of tokens. A position outside the text is allowed and holds nothing. If
    the reader is `lenient`, the text is known to be a time, and vague words are read as one.
    """

    tokens: Sequence[Token]
    calendar: Calendar
    lenient: bool = False

    def at(self, position: int) -> Token | None:
        """Return the token at `position`, None outside the text."""
        return self.tokens[position] if 0 <= position < len(self.tokens) else None

    def word(self, position: int) -> str:
        """Return the English word at `position`, in lower case; empty if there is none."""
        token = self.at(position)
        return token.value if token is not None and token.kind in ("word", "mid") else ""

    def han(self, position: int) -> str:
        """Return the Chinese word of time at `position`; empty if there is none."""
        token = self.at(position)
        return token.value if token is not None and token.kind == "han" else ""

    def sign(self, position: int) -> str:
        """Return the sign or unknown word at `position`; empty if there is none."""
        token = self.at(position)
        return token.value if token is not None and token.kind in ("other", "possessive") else ""


@cache
def _compile_scanner() -> re.Pattern[str]:
    # Compiled at first use: it takes longer than importing the rest.
    figures = _FIGURES.replace(r"\2", "(?P=mark)").replace("([/.-])", "(?P<mark>[/.-])")
    return re.compile(
        "|".join(
            [
                r"(?P<gap>\s+)",
                r"(?P<mid>\bmid-(?=[a-z0-9]))",
                # Around all of them at once: each set of characters takes a millisecond to compile.
                rf"{_BEGIN}(?:{figures}){_END}",
                r"(?P<possessive>(?<=[A-Za-z])['’]s\b)",
                # Words joined by a sign, as in long-march or march.py, are names.
                rf"(?P<name>(?!(?:{_MONTH}-{_MONTH}|{_WEEKDAY}-{_WEEKDAY})(?:[^\w./@\\:+#=-]|$))"
                rf"{_LETTER}+(?:[-_./@\\:+#=]+{_LETTER}+)+)",
                rf"(?P<word>[A-Za-z]+(?!_|{_LETTER}|\())",
                rf"(?P<han>\u3007|{_HAN})",
                rf"(?P<other>{_LETTER}+|[^\s])",
            ]
        ),
        re.IGNORECASE,
    )


@cache
def _compile_pattern(kind: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[kind], re.IGNORECASE)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of `text` in their order, without the white space between them."""
    # Replaces single characters by single characters, so that positions stay the same.
    plain = text.translate(_WIDE)
    tokens: list[Token] = []
    position = 0
    scanner = _compile_scanner()
    while position < len(plain):
        match = scanner.match(plain, position)
        if match is None:  # Such as half a surrogate pair.
            position += 1
            continue
        kind = match.lastgroup or "other"
        if kind == "han":
            token = _read_chinese_word(plain, position)
            tokens.append(token)
            position = token.end
            continue
        position = match.end()
        if kind == "amount":
            tokens += _split_amount(match)
        elif kind != "gap":
            tokens.append(_make_token(kind, match))
    return tokens


def _make_token(kind: str, match: re.Match[str]) -> Token:
    raw = match[kind]
    groups: tuple[str | None, ...] = ()
    if kind in _PATTERNS:
        inner = _compile_pattern(kind).fullmatch(raw)
        groups = inner.groups() if inner is not None else ()
    if kind == "dotted":  # 9.30am is 9:30am.
        kind, groups = "clock", (groups[0], groups[1], None, groups[2])
    elif kind in ("uhr", "heure"):  # 15 Uhr 30, 15h30
        kind, groups = "clock", (groups[0], next(filter(None, groups[1:]), "00"), None, None)
    return Token(kind, raw.lower(), match.start(), match.end(), raw, groups)


def _split_amount(match: re.Match[str]) -> tuple[Token, Token]:
    """Return the number and the unit of an amount such as "24h"."""
    raw = match["amount"]
    figures = raw.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit, middle = raw[len(figures) :], match.start() + len(figures)
    return (
        Token("number", figures, match.start(), middle, figures, (figures, None)),
        Token("word", unit.lower(), middle, match.end(), unit),
    )


def _read_chinese_word(text: str, position: int) -> Token:
    """Return the longest known Chinese word that begins at `position`, else a character."""
    plain = text[position : position + LONGEST_ZH].translate(SIMPLIFIED_ZH)
    for length in range(len(plain), 0, -1):
        if plain[:length] in WORDS_ZH:
            break
    else:
        length = 1
    end = position + length
    kind = "han" if plain[:length] in WORDS_ZH else "other"
    return Token(kind, plain[:length], position, end, text[position:end])
