"""Whether two texts are near-twins: trivial rewordings of each other, which no fact tells apart.

A text is read as a list of words, each in one of the ways in which it may be written: its reading.
Two texts are alike if their readings are equal, or would be in small letters where case means
nothing: see `casing`. There is no measure of distance: a number, a name, a date or a "not" is a
word like any other, so one that differs, is missing or has moved makes another text. What may
differ is a closed list, as for `statement`, and longer: a statement decides what a search hides, a
likeness what is linked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import filterfalse

from infinite_memory.text.articles import LABELS, without_articles
from infinite_memory.text.canonical import statement
from infinite_memory.text.casing import is_about_writing, is_one_case, recased
from infinite_memory.text.chinese import is_traditional, with_one_kind_of_chinese
from infinite_memory.text.commas import without_commas
from infinite_memory.text.dates import with_one_kind_of_dates
from infinite_memory.text.dressing import undressed
from infinite_memory.text.particles import without_particles
from infinite_memory.text.plain import plain_words
from infinite_memory.text.relative_time import is_relative
from infinite_memory.text.scripts import HAN
from infinite_memory.text.spellings import SPELLINGS
from infinite_memory.text.variants import simplified
from infinite_memory.text.wording import measured, written_out

__all__ = ["alike", "fingerprint", "repeats", "trimmed"]

# A longer text says so much that little of it is a small difference.
_MAX_CHARS = 1000
_SAID = "say\0"
_LITERAL = re.compile(r"^\s|\t| {2}|`{3}|^\||[;{}:]$", re.MULTILINE)
# A sentence that a program broke into lines; what ends without a mark may be a list.
_WRAPPED = re.compile(r"[^\s`|](?:[^\n]{29,}[a-z,]\n(?=[a-z]))+[^\n]*[.!?]")
_DIGITS = {0xFF10 + digit: str(digit) for digit in range(10)}
_RANGE = re.compile(r"(?<=\d)–(?=\d)")
_EM_DASH = re.compile(r"(?<=\w)—(?=\w)")
_DIGIT = re.compile("[0-9]")
_DASHES = re.compile(r"(?<= )(?:—|–|--|-)(?= )")
_BEFORE_AMOUNT = re.compile(r"(?<=(?<!\S)[$€£¥]) (?=\d)")
_EURO = re.compile(r"(?<=\d)€(?!\w)")
_QUOTES = ('"', "`", " '", "“", "「")
_ENDS = (". ", "! ", "。", "！")
_SPOKEN_WORD = re.compile(r"[\u3400-\u9fff]|[^\s\u3000-\u9fff,;:!?，。；：！？]+")
_QUOTED_WORD = re.compile(r"`([\w./:@-]*\w(?:\(\))?)`")
_MARKED = re.compile(r"^([\"'(\[]*)(.*?)([\"')\],;:.!?]*)$")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_FIRST = re.compile(r"[A-Z][a-z]+(?:'[a-z]+)?")
_TITLES = frozenset("Dr Mr Mrs Ms Prof St Inc Ltd Corp Jr Sr Mt vs approx".split())
_NO_ENDS = frozenset(
    "dr mr mrs ms prof st inc ltd corp jr sr mt vs approx etc eg ca no nr min max incl resp dept"
    " fig vol ed est jan feb mar apr jun jul aug sept sep oct nov dec mon tue wed thu fri sat"
    " sun".split()
)
_NEXT = re.compile(r" (?:(?<=[a-z]{2}[.!] )|(?<=\d\. )) *(?=[A-Za-z])")
_NEXT_BESIDE_HAN = re.compile(rf"{_NEXT.pattern}|(?<=[{HAN}][。！]) *(?=[{HAN}])")
# "Second" may be a time.
_ORDINALS = {"first": "1st", "third": "3rd"} | {
    word: f"{n}th"
    for n, word in enumerate("fourth fifth sixth seventh eighth ninth tenth".split(), 4)
}
_ORDINAL = frozenset(_ORDINALS)
_INITIALS = re.compile(r"[A-Z](?:\.[A-Z])+")
_LIGHT = frozenset(("the", "a", "an", "that", "is", ":", ",", "."))
_SPELLINGS = frozenset((*SPELLINGS, *SPELLINGS.values()))


def trimmed(text: str) -> str:
    """Return `text` without white space at its end and at the ends of its lines."""
    text = text.rstrip()
    if "\n" not in text:
        return text
    return "\n".join([line.rstrip() for line in text.split("\n")]).lstrip("\n")


def repeats(one: str, other: str) -> bool:
    """Tell whether two texts are the same sign for sign, but for white space at the ends of lines.

    What may mean something else at another moment never repeats: see `is_relative`.
    """
    return trimmed(one) == trimmed(other) and not is_relative(one)


def fingerprint(text: str) -> int:
    """Return a number of 63 bits, the same for texts that are alike.

    It is taken from the reading in small letters without the words and signs that a reading of the
    same text in another case may have or not have.
    """
    return _digest(statement(text)) if len(text) > _MAX_CHARS else _fingerprint(text)


@lru_cache(maxsize=1024)
def _fingerprint(text: str) -> int:
    several = ". " in text or "! " in text
    words = None if several else plain_words(text)
    if words is None:
        words = _small_reading(text)
    return _digest("\n".join(filterfalse(_LIGHT.__contains__, words)))


def _small_reading(text: str) -> list[str]:
    """Return the reading of `text` in small letters."""
    if not text.isascii():
        text = simplified(text)
    reading = _reading(_in_small_letters(text), line=_line_in_short)
    return "\n".join(reading).lower().split("\n")


def _line_in_short(text: str) -> list[str]:
    """Return the reading of a line or a sentence, some of it in small letters."""
    words = plain_words(text)
    return _line(text) if words is None else words


def _digest(reading: str) -> int:
    digest = blake2b(reading.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def alike(one: str, other: str, *, together: bool = False) -> bool:
    """Tell whether two texts are near-twins; see the module.

    What may mean something else at another moment has a twin only if both were said `together`:
    see `is_relative`.
    """
    if not together and (is_relative(one) or is_relative(other)):
        return False
    if fingerprint(one) != fingerprint(other) or _exchanged(one, other):
        return False
    if _reading(one) == _reading(other):
        return True
    if recased(one, other) and _reading(one.lower()) == _reading(other.lower()):
        return _has_names_of(one, other) and _has_names_of(other, one)
    return _converted(one, other) and _reading(simplified(one)) == _reading(simplified(other))


def _exchanged(one: str, other: str) -> bool:
    """Tell whether two texts swap words: "write x, not y", or "a" where the other has "the"."""
    ones, others = _words_of(one), _words_of(other)
    if ones != others and sorted(ones) == sorted(others):
        return True
    more_the = ones.count("the") - others.count("the")
    more_a = sum(word in ("a", "an") for word in ones) - sum(word in ("a", "an") for word in others)
    return more_the * more_a < 0


def _words_of(text: str) -> list[str]:
    plain = with_one_kind_of_dates(undressed(text)).lower()
    return [word.rstrip(".") for word in _SPOKEN_WORD.findall(plain.rstrip(".。"))]


def _has_names_of(one: str, other: str) -> bool:
    """Tell whether `one` has what may be a name in `other` in the same spelling: "Ask Harbour"."""
    if is_one_case(other):
        return True
    words = frozenset(_WORD.findall(one.lower()))
    others = _WORD.findall(other)
    return all(
        word.islower() or word.lower() not in _SPELLINGS or word.lower() in words
        for word in (others if others[1:2] and others[1][0].isupper() else others[1:])
    )


def _converted(one: str, other: str) -> bool:
    """Tell whether just one of two texts is in traditional Chinese characters."""
    if one.isascii() or other.isascii():
        return False
    for converted, kept in ((one, other), (other, one)):
        if is_traditional(converted) and simplified(kept) == kept:
            return True
    return False


def _in_small_letters(text: str) -> str:
    """Return `text` in small letters if it is all capitals, or a headline."""
    return text.lower() if is_one_case(text) else text


def _reading(text: str, line: Callable[[str], list[str]] | None = None) -> list[str]:
    """Return the words of `text`, each in one way of writing it; `line` reads each line of it.

    Without one letter case is kept.
    """
    line = line or _line
    if len(text) > _MAX_CHARS:
        return [statement(text)]
    text = trimmed(text)
    if "\n" in text and _WRAPPED.fullmatch(text):
        text = text.replace("\n", " ")
    if "\n" not in text:
        parts = _sentences(text)
    else:
        lines = [each for each in text.split("\n") if each]
        if len(lines) > 1 and _LITERAL.search("\n".join(lines)):
            return line(text)
        parts = [part for each in lines for part in _sentences(each)]
    if len(parts) < 2:
        return line(text)
    return [word for part in parts for word in (*line(part), "\n")]


def _sentences(line: str) -> list[str]:
    """Return the sentences of a line: whether they stand in one line or in two tells nothing.

    What is quoted or in brackets is left as it is, and so is what a password may be about.
    """
    following = _NEXT if line.isascii() else _NEXT_BESIDE_HAN
    if not any(map(line.__contains__, _ENDS)) or following.search(line) is None:
        return [line]
    if _is_quoting(line) or "(" in line or is_about_writing(line):
        return [line]
    stated = statement(undressed(line))
    if not stated.startswith(_SAID):
        return [line]
    plain = stated.removeprefix(_SAID)
    parts: list[str] = []
    start = 0
    for end in following.finditer(plain):
        before = plain[start : end.start()]
        if before[:-1].rpartition(" ")[2].lower() not in _NO_ENDS:
            parts.append(before)
            start = end.end()
    return [*parts, plain[start:]]


def _is_quoting(text: str) -> bool:
    return any(map(text.__contains__, _QUOTES))


def _line(text: str) -> list[str]:
    stated = statement(undressed(text))
    if not stated.startswith(_SAID):
        return [statement(text)]
    plain = stated.removeprefix(_SAID)
    words = plain.split(" ")
    if plain.isascii() and "".join(words).isalpha():
        words = without_particles(plain).split(" ")  # no sign, no digit: nothing to look for
    else:
        if "`" in plain:
            plain = statement(_QUOTED_WORD.sub(r"\1", plain)).removeprefix(_SAID)
        if _is_quoting(stated):
            return plain.split(" ")  # what is quoted may be about how it is written
        words = _signs_apart(_signs_in_one_way(plain).split(" "))
    if _FIRST.fullmatch(words[0]):
        words[0] = words[0].lower()
    for step in _STEPS:
        words = step(words)
    return ["I", *words[1:]] if words[:1] == ["i"] else words


def _signs_in_one_way(text: str) -> str:
    """Return `text` with dashes, digits, dates and Chinese each in one way of writing."""
    if not text.isascii():
        if _DIGIT.search(text) is None:
            text = text.translate(_DIGITS)
        text = text.replace("…", "...")
        if "—" in text:
            text = _EM_DASH.sub(" – ", text)
        if "–" in text and "-" not in text:
            text = _RANGE.sub("-", text)
    if " -" in text or not text.isascii():
        text = _DASHES.sub("–", text)
    if "$" in text or "€" in text or "£" in text or "¥" in text:
        text = _EURO.sub(" €", _BEFORE_AMOUNT.sub("", text))
    text = with_one_kind_of_dates(text)
    if not text.isascii():
        text = with_one_kind_of_dates(with_one_kind_of_chinese(text))
    return without_particles(text)


def _signs_apart(words: list[str]) -> list[str]:
    """Return words with the signs around them as words of their own."""
    if "".join(words).isalnum():
        return words
    return [part for word in words for part in ((word,) if word.isalnum() else _marks_apart(word))]


def _marks_apart(word: str) -> Sequence[str]:
    """Return a word and the signs around it."""
    found = _MARKED.match(word)
    if found is None or not found[2]:
        return [word]
    before, inner, after = found.groups()
    if after.startswith("."):
        if inner in _TITLES:
            after = after[1:]
        elif "." in inner and _INITIALS.fullmatch(inner):
            inner, after = inner.replace(".", ""), after[1:]
    return [*before, inner, *after]


def _labelled(words: list[str]) -> list[str]:
    """Write a colon for the "is" behind a label such as "API limit" or "deadline of Apollo"."""
    first = words[:7]
    if ":" not in first and "is" not in first:
        return words
    for place, word in enumerate(first):
        if word not in (":", "is"):
            if not _WORD.fullmatch(word) and "_" not in word:
                break
            continue
        value = words[place + 1] if place + 1 < len(words) else ""
        telling = value[:1].isupper() or value[:1] in '$€£¥"-' or any(map(str.isdigit, value))
        label = any(each.lower() in LABELS or "_" in each for each in words[:place])
        if value and telling and label:
            return [*words[:place], ":", *words[place + 1 :]]
        break
    return words


def _counted(words: list[str]) -> list[str]:
    """Write "first" as "1st" and so on."""
    return words if _ORDINAL.isdisjoint(words) else [_ORDINALS.get(w, w) for w in words]


_STEPS: tuple[Callable[[list[str]], list[str]], ...] = (
    written_out,
    measured,
    without_articles,
    without_commas,
    _labelled,
    _counted,
)
