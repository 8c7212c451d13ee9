"""What a text states, so that two texts which state the same in nearly the same words are equal.

A statement is a canonical form. Being equal is an equivalence: it needs no threshold, no model and
no order of comparison. Whatever is not known to change nothing is kept: every word inside a text
and nearly every sign of it, since a comma, a capital or a space may be the fact.
"""

from __future__ import annotations

import re
import unicodedata

from infinite_memory.text.casing import is_about_writing
from infinite_memory.text.code import is_code
from infinite_memory.text.scripts import HAN

__all__ = ["is_listed", "statement", "without_end"]

# A longer text says so much that little of it is a small difference.
_MAX_CHARS = 1000
_PAIRED = re.compile('“([^“”"]*+)”')
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])’(?=[^\W\d_])")
# "Hello, world" is what a program prints, "FYI is" may be a bar, and a "BTW number" is one of
# taxes; "对了，就" means "if that is right, then".
_OPENING = re.compile(
    r"(?:(?:hi|hello|hey)(?: there)?[,.!:]+|(?:by the way|um+|uh+m?)[,:]"
    r"|(?:btw|fyi|ok(?:ay)? so)(?:[,:]|(?! (?:is|are|was|has|number|no|nr|id|rate)\b)))"
    r" +(?!world\b)"
    "|(?:你好|您好|大家好|嗨|对了|顺便说一下|顺便提一下)[，,！!：:。] *(?![就才则])",
    re.IGNORECASE,
)
# How each of them begins, in small letters: looking for that is far cheaper.
_OPENINGS = frozenset("hi he by um uh bt fy ok".split())
_LISTED = re.compile(r"[^\s,，]+(?: [^\s,，]+){0,2}, |[^\s,，]{1,4}，")
_LEAST_LEFT = re.compile(rf"(?:\S+ +){{2}}\S|[{HAN}]{{2}}")
# Kept before what says another thing without it: "the few", "the people", "the tests", "the WHO".
_THE = re.compile(
    r"[Tt]he (?!(?:few|little|many|most|more|less|people|men|women|children|only|same)\b)"
    r"(?=[a-z]+(?<!s) )"
)
_FIRST_WORD = re.compile(r"[A-Z][a-z]+(?=,? [^\W_]|: |'s )")
_LABEL = re.compile(
    r"([Dd]eadline|[Dd]ue date|[Rr]elease date|[Bb]irthday|[Aa]ddress|[Pp]hone(?: number)?"
    r"|[Vv]ersion|[Pp]ort|[Pp]rice|[Bb]udget|[Ss]tatus|[Oo]wner|[Ll]ocation)"
    r"(?::| is) (?=[A-Z0-9$€£¥])"
)
_QUOTED_OR_SPACES = re.compile(
    "(?P<quoted>\"[^\"]*+\"?|`[^`]*+`?|“[^”]*+”?|「[^」]*+」?|(?<!\\w)'[^']*+'?)"
    rf"|(?P<beside>(?<=[{HAN}]) ++(?=[A-Za-z0-9])|(?<=[A-Za-z0-9]) ++(?=[{HAN}]))| ++"
)
_NARROW_SIGNS, _WIDE_SIGNS = ",:;!?", "，：；！？"
_WIDE = str.maketrans(_NARROW_SIGNS, _WIDE_SIGNS)
_AFTER_HAN = re.compile(rf"(?<=[{HAN}])([{_NARROW_SIGNS}{_WIDE_SIGNS}]) *")
# Not after "]": "[a-z]." is a pattern.
_FULL_STOP = re.compile(r"(?<=[\w)\"'`%”」])[.。]$")
_EXCLAMATION = re.compile(rf"(?: [a-z]{{2,}}+|[{HAN}])([!！]++)$")
# What stands last may be a value, and the sign a part of it: "the password is sunshine!".
_VALUE = re.compile(
    r"\b(?:is|are|was|were|be|to|as|called|named|use|type|enter|try|chose|password|passphrase"
    r"|secret|token) [a-z]+!+$|[:=：是叫为]"
)


def statement(text: str) -> str:
    """Return what `text` states; two texts with the same statement are near-twins.

    Of a text of one line are left out: a greeting or a filler that it begins with, then "The", the
    case of the first word, a full stop or a plain "!" at the end, how many spaces stand between
    words, the shape of quotes, and whether a label of a closed list has a colon or "is". Of several
    lines, and of code, every sign counts but for spaces at the ends of lines, and of more than
    1,000 characters but for spaces at its end.
    """
    text = text.rstrip()
    if len(text) > _MAX_CHARS:
        return f"long\0{text}"
    if "\n" in text:
        text = "\n".join([line.rstrip() for line in text.split("\n")])
        return f"lines\0{unicodedata.normalize('NFC', text)}"
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = text.strip()
    return f"code\0{text}" if is_code(text) else f"say\0{_plain(text)}"


def _plain(text: str) -> str:
    """Return a text of one line in its canonical form."""
    if not text.isascii():
        text = _in_one_width(text)
    if "  " in text or (" " in text and not text.isascii()):
        text = _QUOTED_OR_SPACES.sub(_spaced, text)
    text = without_end(_without_opening(text))
    if text[1:4] == "he " and (the := _THE.match(text)):
        text = text[the.end() :]
    if (": " in text or " is " in text) and (label := _LABEL.match(text)):
        text = f"{label[1]}: {text[label.end() :]}"
    if first := _FIRST_WORD.match(text):
        text = first[0].lower() + text[first.end() :]
    return text


def _in_one_width(text: str) -> str:
    """Return `text` with one form of quotes and Chinese signs, unless it has two of them."""
    text = _APOSTROPHE.sub("'", text)
    if '"' not in text:
        text = _PAIRED.sub(r'"\1"', text)
    if {*_NARROW_SIGNS}.isdisjoint(text) or {*_WIDE_SIGNS}.isdisjoint(text):
        text = _AFTER_HAN.sub(lambda found: found[1].translate(_WIDE), text)
    return text


def _spaced(found: re.Match[str]) -> str:
    return found["quoted"] or ("" if found["beside"] else " ")


def _without_opening(text: str) -> str:
    if text.isascii() and text[:2].lower() not in _OPENINGS:
        return text
    while (opening := _OPENING.match(text)) and _LEAST_LEFT.match(text, opening.end()):
        if is_listed(opening, text):
            break
        text = text[opening.end() :]
    return text


def is_listed(opening: re.Match[str], text: str) -> bool:
    """Tell whether an opening may be the first of a list: "Yes, no, cancel are the buttons"."""
    comma = opening[0].rstrip().endswith((",", "，"))
    return comma and _LISTED.match(text, opening.end()) is not None


def without_end(text: str) -> str:
    """Return `text` without a full stop or a "!" at its end that is no part of a value."""
    if text.endswith(("!", "！")):
        shouted = _EXCLAMATION.search(text)
        if shouted is None or _VALUE.search(text) or is_about_writing(text):
            return text
        return text[: shouted.start(1)]
    ended = _FULL_STOP.search(text, len(text) - 1) if text else None
    return text[:-1] if ended else text
