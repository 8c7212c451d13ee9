"""Text as index terms: English words, identifiers and paths, and scripts without spaces.

A plain word becomes its stem. A compound (`parse_url`, `HttpServer`, `src/app.py`, `v3.2.1`,
`well-known`) is split into its words, and its names stand beside them: `parse_url`, `parse-url`,
`parseUrl` and `ParseURL` are one name. What is joined of several names is kept whole and in pairs
of neighbours, whichever sign joins them: `app/main` and `app.main` are found in `src/app/main.py`,
and `1.2` in `v1.2.3`. Chinese, Japanese, Thai and other scripts that are written without spaces
become single characters and pairs of them, and Chinese words of three characters and more are kept
whole as well; traditional characters and the simplified ones that stand for them are the same.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import Stemmer

from infinite_memory.text.inflections import BASES
from infinite_memory.text.languages import function_words, languages_of, stem_in
from infinite_memory.text.scripts import HAN
from infinite_memory.text.spellings import NUMBERS, SPELLINGS
from infinite_memory.text.stopwords import STOP_WORDS
from infinite_memory.text.variants import simplified

__all__ = ["fold", "foreign_languages", "has_han", "spelled_names", "terms", "word_spans", "words"]

_KANA_AND_SOUTH_EAST_ASIA = "\u3040-\u30ff\u31f0-\u31ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = HAN + _KANA_AND_SOUTH_EAST_ASIA
# The vowel signs of Indian scripts are no letters to `re`.
_INDIAN = "\u0900-\u0963\u0966-\u0dff"
_WORD = rf"(?:(?![{_UNSPACED}])(?:[^\W_]|[{_INDIAN}]))+"
_ASCII_WORD = "[A-Za-z0-9]+"


def _compound_of(word: str) -> str:
    # Word characters joined inside by one or two of the signs that names, paths and versions use,
    # and the two languages whose names end in signs.
    return (
        rf"(?P<compound>{word}(?:(?:['’]|[_./\\:@#+-]{{1,2}}|(?<=[A-Za-z])&(?=[A-Za-z])){word})*"
        r"(?:(?<=[CcFf])(?:\+\+|\#))?)"
    )


_CHUNK = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|{_compound_of(_WORD)}")
# The same for a text of ASCII alone, several times as quick.
_ASCII_CHUNK = re.compile(_compound_of(_ASCII_WORD))
_PART = re.compile(_WORD)
_PART_OR_CHARACTER = re.compile(rf"[{_UNSPACED}]|{_WORD}")
# "URLs" is one word, "HTTPServer" two.
_CAMEL = re.compile(r"[A-Z]{2,}s(?![A-Za-z])|[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+|\d+|[^A-Za-z\d]+")
# The signs that join names. Between words "_" and "-" join those of one name, so that "parse_url"
# and "parseUrl" are the same; between numbers "-" joins what is counted apart, as in a date.
_JOINT = re.compile(r"([./\\:@#+&]+|(?<=\d)-(?=\d))")
_PLACES = frozenset(":@")
_STEPS = frozenset(":@/\\")
# Possessive, and begun nowhere else: a million digits in a row must not take quadratic time.
_DECIMAL = re.compile(r"(?<!\d)(\d++(?:\.\d++)+)")
_VERSION_SIGN = re.compile(r"(?<![A-Za-z])v(?=\d+\.\d)", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?<![A-Za-z])[CcFf](?:\+\+|#)")
# A number in hexadecimal or the name of a commit: its letters are no words.
_HEXADECIMAL = re.compile(r"0[xX][0-9A-Fa-f]+|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}")
_SHORT_COMMIT = 7
_APOSTROPHE = re.compile(r"['’](?:s|re|ve|ll|d|m|t)?\b", re.IGNORECASE)
_GROUPED_DIGITS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_HAN_RUN = re.compile(rf"[{HAN}]+")
_SPELLED = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?: ++[A-Za-z0-9]++)+")
# Of every word one spelling, and of irregular ones one form: the stemmer sees to the others.
_ONE_FORM = {**SPELLINGS, **NUMBERS, **BASES}
# Marks that make no letter, among them the vowels of Hebrew and Arabic, which most texts are
# written without.
_STRAY = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]+"
)
# Over these a mark is an accent, which whoever is in a hurry leaves out.
_ACCENTED = re.compile("[\u0000-\u024f\u0370-\u03ff\u0590-\u06ff]")
_MAX_TERM = 64
# So much of a text tells its language.
_SAMPLE_CHARS = 1000

# By the script of a word: each is that of the language in which most is written in that script.
_STEMMERS = tuple(
    (re.compile(f"[{letters}]+"), Stemmer.Stemmer(language, 0))
    for language, letters in (
        ("english", "a-z"),
        ("russian", "\u0400-\u04ff"),
        ("arabic", "\u0620-\u06ff"),
        ("greek", "\u0370-\u03ff"),
        ("hindi", "\u0900-\u097f"),
        ("tamil", "\u0b80-\u0bff"),
        ("armenian", "\u0530-\u058f"),
    )
)
_HANGUL = re.compile("[\uac00-\ud7a3]{2,}")
_stemmer_lock = threading.Lock()


def _renew_lock() -> None:
    """Replace the lock in a forked child: another thread may have held it at the fork."""
    global _stemmer_lock
    _stemmer_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def fold(text: str) -> str:
    """Return `text` without differences of letter case, width and accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    kept: list[str] = []
    for character in decomposed:
        if unicodedata.combining(character) and kept and _ACCENTED.match(kept[-1]):
            continue
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def has_han(text: str) -> bool:
    """Tell whether `text` holds a Chinese character."""
    return not text.isascii() and _HAN_RUN.search(text) is not None


def terms(text: str) -> list[str]:
    """Return the index terms of `text`, each as often as it occurs.

    The same function serves documents and questions, so that both meet in the same terms.
    """
    pattern = _ASCII_CHUNK
    if not text.isascii():
        text, pattern = _composed(text), _CHUNK
    found: list[str] = []
    for match in pattern.finditer(_GROUPED_DIGITS.sub("", text)):
        if match.lastgroup == "unspaced":
            found.extend(_unspaced(match.group()))
        else:
            chunk = match.group()
            found.extend(_cached(chunk) if len(chunk) <= _MAX_TERM else _compound(chunk))
    for language in foreign_languages(text):
        found.extend(_stems_in(language, text))
    return found


def foreign_languages(text: str) -> tuple[str, ...]:
    """Return the language of Latin letters that `text` begins in; see `languages_of`."""
    sample = text[:_SAMPLE_CHARS]
    return languages_of(sample, fold(sample))


def _stems_in(language: str, text: str) -> Iterator[str]:
    """Yield the stems in a language of Latin letters that differ from those in English."""
    idle = function_words(language)
    for match in _PART.finditer(text):
        word = match.group().lower()
        folded = fold(word)
        if word.isalpha() and folded not in idle and len(word) <= _MAX_TERM:
            stem = fold(stem_in(language, word))
            if stem != _stem(folded):
                yield stem


def spelled_names(text: str) -> list[str]:
    """Return the names that two or three words of `text` in a row may spell, as index terms.

    Who asks for "read text" may mean `read_text`, which a document has as one name. Words without
    content spell nothing.
    """
    found: list[str] = []
    for clause in _SPELLED.findall(text):
        row = fold(clause).split()
        for length in (2, 3):
            for start in range(len(row) - length + 1):
                spelled = row[start : start + length]
                if STOP_WORDS.isdisjoint(spelled):
                    found.append(_stem("".join(spelled)))
    return [name for name in dict.fromkeys(found) if len(name) <= _MAX_TERM]


def words(text: str) -> list[str]:
    """Return the words of `text` in order, folded but neither stemmed nor filtered."""
    if not text.isascii():
        text = _composed(text)
    return [fold(match.group()) for match in _PART.finditer(text)]


def word_spans(text: str) -> list[tuple[str, int, int]]:
    """Return each word of `text`, folded, with the half-open range of characters where it stands.

    Of a script without spaces each character is a word; it comes in its simplified form.
    """
    return [
        (simplified(fold(match.group())), match.start(), match.end())
        for match in _PART_OR_CHARACTER.finditer(text)
    ]


def _composed(text: str) -> str:
    """Return `text` with each letter and its marks as one character, as far as there is one."""
    return _STRAY.sub("", unicodedata.normalize("NFKC", text))


def _compound(chunk: str) -> tuple[str, ...]:
    """Return the terms of word characters joined by signs."""
    if chunk.isalpha() and (chunk.islower() or chunk.istitle() or chunk.isupper()):
        return tuple(_word(chunk))
    bare = _VERSION_SIGN.sub("", _APOSTROPHE.sub("", chunk))
    found: list[str] = []
    names = {*_LANGUAGE.findall(bare), *_joined(bare)}
    for part in _PART.findall(bare):
        if _HEXADECIMAL.fullmatch(part):
            names |= {part, part[:_SHORT_COMMIT]}
            continue
        pieces = _CAMEL.findall(part)
        names |= {part, part.rstrip("0123456789")}
        names.difference_update(pieces)
        for piece in pieces:
            found.extend(_word(piece))
    # Each once: a name says that its words stood together, which the words alone do not.
    found.extend(sorted({_stem(fold(name)) for name in names if 0 < len(name) <= _MAX_TERM}))
    return tuple(found)


def _joined(bare: str) -> Iterator[str]:
    """Yield the names of a compound, with what stands in pairs and as a whole."""
    stretches = _DECIMAL.split(bare)
    for stretch in stretches:
        joined = _JOINT.split(stretch.strip("_-"))
        yield from map(_whole, ([name] for name in joined[::2]))
        yield from _ranges(joined)
    if len(stretches) > 1:
        yield _whole(_JOINT.split(bare))


def _ranges(joined: list[str]) -> Iterator[str]:
    """Yield whole paths, parts of them, and pairs of names; the signs stand at the odd places.

    "src/app.py:42" is found as it stands, as "src/app.py" and as "app.py".
    """
    yield _whole(joined)
    for place in range(0, len(joined) - 2, 2):
        yield _whole(joined[place : place + 3])
    for stops in (_PLACES, _STEPS):
        start = 0
        for place, sign in enumerate([*joined[1::2], ":"]):
            if stops.intersection(sign):
                yield _whole(joined[start : 2 * place + 1])
                start = 2 * place + 2


def _whole(joined: list[str]) -> str:
    """Return names as one; only between numbers does the sign that joins them count."""
    whole = ""
    for place, piece in enumerate(joined):
        if place % 2 == 0:
            whole += "".join(_PART.findall(piece))
        elif whole[-1:].isdigit() and joined[place + 1][:1].isdigit():
            whole += piece
    return whole


_cached = lru_cache(maxsize=200_000)(_compound)


def _word(word: str) -> Iterator[str]:
    folded = fold(word)[:_MAX_TERM]
    folded = _ONE_FORM.get(folded, folded)
    if _HANGUL.fullmatch(folded):
        # Korean writes its particles without a space behind the word.
        yield from map("".join, pairwise(folded))
        return
    if folded not in STOP_WORDS:
        yield _stem(folded)


def _stem(folded: str) -> str:
    for letters, stemmer in _STEMMERS:
        if letters.fullmatch(folded):
            # A Stemmer object may not be used by two threads at once.
            with _stemmer_lock:
                return str(stemmer.stemWord(folded.replace("ё", "е")))
    return folded


def _unspaced(run: str) -> Iterator[str]:
    folded = simplified(fold(run))
    yield from folded
    for first, second in pairwise(folded):
        yield first + second
    for match in _HAN_RUN.finditer(folded):
        if len(match.group()) > 2:
            yield from (word for word in _cut(match.group()) if len(word) > 2)


def _cut(run: str) -> list[str]:
    # Imported at first use: its dictionary takes 70 ms, which a text without Chinese need not pay.
    import rjieba  # noqa: PLC0415

    return list(rjieba.cut_for_search(run))
