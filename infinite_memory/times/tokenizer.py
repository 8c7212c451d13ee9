"""The parts of a text that words of time are put together from."""

from __future__ import annotations

import re
from functools import cache

from attrs import frozen

from infinite_memory.times.chinese_words import LONGEST, SIMPLIFIED, WORDS
from infinite_memory.times.english_words import COUNTED, MONTHS, WEEKDAYS

__all__ = ["Token", "tokens_of"]


@frozen
class Token:
    """A word, number, date, Chinese word or sign, and its half-open character range.

    `value` is in lower case, Chinese simplified. `groups` are the parts of a date, a time of day
    or a number. `raw` is the text as it stands.
    """

    kind: str
    value: str
    start: int
    end: int
    raw: str
    groups: tuple[str | None, ...] = ()


# Beside a digit that means a time stands nothing that makes it part of a name, version or amount.
_BEGIN = r"(?:(?<=\bmid-)|(?<=[\u3400-\u9fff][-~])|(?<![A-Za-z0-9_.:/+#$€£¥@&=%~^*\\-])(?<![0-9],))"
_END = r"(?![A-Za-z0-9_%°€$£=@#&*^~\\]|[.,:/+-][0-9]|[.:/+-][A-Za-z])"
_MONTH = f"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})"
_WEEKDAY = f"(?:{'|'.join(sorted(WEEKDAYS, key=len, reverse=True))})"
_AMPM = r"([ap])\.?m(?:\.(?=\s|$)|\b)"
_PATTERNS = {
    # Each is anchored and has no repetition within a repetition: reading is linear.
    "isospan": r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:/|\.\.)([0-9]{4}-[0-9]{2}-[0-9]{2})",
    "iso": r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"[ ]?(Z\b|[+-][0-9]{2}(?::?[0-9]{2}(?::[0-9]{2})?)?(?![0-9]))?)?",
    "isoweek": r"([0-9]{4})-?W([0-9]{2})(?:-([1-7]))?",
    "quarter": r"(?:([0-9]{4})[ /-]?)?Q([1-4])(?:[ ]?[/-]?[ ]?([0-9]{4}))?",
    "quarters": r"Q([1-4])[-–—]Q?([1-4])",
    "half": r"(?:([0-9]{4})[ /-]?)?H([12])(?:[ ]?[/-]?[ ]?([0-9]{4}))?",
    "slashed": r"([0-9]{1,4})([/.-])([0-9]{1,2})\2([0-9]{1,4})",
    "monthname": rf"([0-9]{{1,2}})-({_MONTH})-([0-9]{{4}})",
    "isomonth": r"([0-9]{4})[-/]([0-9]{2})",
    "monthyear": r"(0[1-9]|1[0-2])/([0-9]{4})",
    "years": r"([0-9]{4})[-–—]([0-9]{4})",
    # Not "20s", of which there are two by now.
    "decade": r"(?:([0-9]{3})0|['’]?([3-9])0)['’]?s",
    # 3-5, 2-4pm, 14:00-16:00
    "figures": rf"([0-9]{{1,2}})(?::([0-9]{{2}}))?(?:st|nd|rd|th|\s?{_AMPM})?[-–—]"
    rf"([0-9]{{1,2}})(?::([0-9]{{2}}))?(?:st|nd|rd|th|\s?{_AMPM})?",
    # Of '98 and '24 the century is known.
    "shortyear": r"['’]([0-9]{2})",
    "clock": rf"([0-9]{{1,2}})[:：]([0-9]{{2}})(?::([0-9]{{2}}))?(?:\s?{_AMPM})?",
    "dotted": rf"([0-9]{{1,2}})\.([0-9]{{2}})\s?{_AMPM}",
    "ampm": rf"([0-9]{{1,2}})\s?{_AMPM}",
    "amount": rf"([0-9]{{1,4}})({'|'.join(sorted(COUNTED, key=len, reverse=True))})",
    "number": r"([0-9]{1,9})(st|nd|rd|th)?",
}
_PARTS = [f"(?P<{kind}>{_BEGIN}(?:{pattern}){_END})" for kind, pattern in _PATTERNS.items()]
_WIDE = {ord("０") + digit: str(digit) for digit in range(10)} | {ord("："): ":", ord("，"): ","}


@cache
def _scanner() -> re.Pattern[str]:
    # Compiling takes longer than importing the rest, and most searches name no time.
    return re.compile(
        "|".join(
            [
                r"(?P<gap>\s+)",
                r"(?P<mid>\bmid-(?=[a-z0-9]))",
                *(
                    part.replace(r"\2", r"(?P=mark)").replace("([/.-])", "(?P<mark>[/.-])")
                    for part in _PARTS
                ),
                r"(?P<possessive>(?<=[A-Za-z])['’]s\b)",
                # Words joined by a sign, as in long-march or march.py, are names.
                rf"(?P<name>(?!(?:{_MONTH}-{_MONTH}|{_WEEKDAY}-{_WEEKDAY})(?:[^\w./@\\:+#=-]|$))"
                r"[^\W_\u3400-\u9fff]+(?:[-_./@\\:+#=]+[^\W_\u3400-\u9fff]+)+)",
                r"(?P<word>[A-Za-z]+(?![^\W\u3400-\u9fff]|\())",
                r"(?P<han>[\u3007\u3400-\u9fff])",
                r"(?P<other>[^\W_\u3400-\u9fff]+|[^\s])",
            ]
        ),
        re.IGNORECASE,
    )


@cache
def _matcher(kind: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[kind], re.IGNORECASE)


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of `text` in their order, without the white space between them."""
    # One character for one, so that places stay the same.
    plain = text.translate(_WIDE)
    found: list[Token] = []
    place = 0
    scanner = _scanner()
    while place < len(plain):
        match = scanner.match(plain, place)
        if match is None:  # Half a surrogate pair and the like.
            place += 1
            continue
        kind = match.lastgroup or "other"
        if kind == "han":
            token = _chinese(plain, place)
            found.append(token)
            place = token.end
            continue
        place = match.end()
        if kind == "amount":
            found += _amount(match)
        elif kind != "gap":
            found.append(_token(kind, match))
    return found


def _token(kind: str, match: re.Match[str]) -> Token:
    raw = match[kind]
    groups: tuple[str | None, ...] = ()
    if kind in _PATTERNS:
        inner = _matcher(kind).fullmatch(raw)
        groups = inner.groups() if inner is not None else ()
    if kind == "dotted":  # 9.30am is 9:30am.
        kind, groups = "clock", (groups[0], groups[1], None, groups[2])
    return Token(kind, raw.lower(), match.start(), match.end(), raw, groups)


def _amount(match: re.Match[str]) -> tuple[Token, Token]:
    """Return the number and the unit in 24h."""
    raw = match["amount"]
    figures = raw.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit, middle = raw[len(figures) :], match.start() + len(figures)
    return (
        Token("number", figures, match.start(), middle, figures, (figures, None)),
        Token("word", unit.lower(), middle, match.end(), unit),
    )


def _chinese(text: str, place: int) -> Token:
    """Return the longest Chinese word known here that begins at `place`, or one character."""
    plain = text[place : place + LONGEST].translate(SIMPLIFIED)
    for length in range(len(plain), 0, -1):
        if plain[:length] in WORDS:
            break
    else:
        length = 1
    end = place + length
    kind = "han" if plain[:length] in WORDS else "other"
    return Token(kind, plain[:length], place, end, text[place:end])
