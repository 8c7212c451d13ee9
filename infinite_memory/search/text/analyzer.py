"""Text as index terms: English words, identifiers and paths, and scripts without spaces.

A plain word becomes its stem. A compound (`parse_url`, `HttpServer`, `src/app.py`, `v3.2.1`,
`well-known`) is split into its words, and its names are added: `parse_url`, `parse-url`, `parseUrl`
and `ParseURL` are the same name. A compound of several names is also kept whole and in pairs of
neighbours, with any sign between them: a search for `app/main` or `app.main` finds
`src/app/main.py`, and `1.2` finds `v1.2.3`. Chinese, Japanese, Thai and other scripts without
spaces become single characters and pairs of them. Chinese words of three characters and more are
also kept whole. Traditional and simplified characters become the same terms.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise

import Stemmer

from infinite_memory.search.text.languages import function_words, languages_of, stem_in
from infinite_memory.search.text.word_lists import simplify, standard_forms, stop_words

# The Chinese characters: unified ideographs, their extensions, and the compatible ones.
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA_AND_SOUTH_EAST_ASIA = "\u3040-\u30ff\u31f0-\u31ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = _HAN + _KANA_AND_SOUTH_EAST_ASIA
# `re` does not count the vowel signs of Indian scripts as letters.
_INDIAN = "\u0900-\u0963\u0966-\u0dff"
_WORD = rf"(?:(?![{_UNSPACED}])(?:[^\W_]|[{_INDIAN}]))+"
_ASCII_WORD = "[A-Za-z0-9]+"


def _compound_of(word: str) -> str:
    # Words joined by one or two of the signs that names, paths and versions use, or the name of a
    # language that ends in signs, such as C++.
    return (
        rf"(?P<compound>{word}(?:(?:['’]|[_./\\:@#+-]{{1,2}}|(?<=[A-Za-z])&(?=[A-Za-z])){word})*"
        r"(?:(?<=[CcFf])(?:\+\+|\#))?)"
    )


_CHUNK = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|{_compound_of(_WORD)}")
# The same for a text of only ASCII, several times as fast.
_ASCII_CHUNK = re.compile(_compound_of(_ASCII_WORD))
_PART = re.compile(_WORD)
_PART_OR_CHARACTER = re.compile(rf"[{_UNSPACED}]|{_WORD}")
# "URLs" is one word, "HTTPServer" two.
_CAMEL = re.compile(r"[A-Z]{2,}s(?![A-Za-z])|[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+|\d+|[^A-Za-z\d]+")
# The signs between names. "_" and "-" between words belong to a name, so that "parse_url" and
# "parseUrl" are the same; "-" between numbers separates them, as in a date.
_JOINT = re.compile(r"([./\\:@#+&]+|(?<=\d)-(?=\d))")
_PLACES = frozenset(":@")
_STEPS = frozenset(":@/\\")
# Possessive and anchored: a million digits in a row must not take quadratic time.
_DECIMAL = re.compile(r"(?<!\d)(\d++(?:\.\d++)+)")
_VERSION_SIGN = re.compile(r"(?<![A-Za-z])v(?=\d+\.\d)", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?<![A-Za-z])[CcFf](?:\+\+|#)")
# A hexadecimal number or the name of a commit: its letters are not words.
_HEXADECIMAL = re.compile(r"0[xX][0-9A-Fa-f]+|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}")
_SHORT_COMMIT = 7
_APOSTROPHE = re.compile(r"['’](?:s|re|ve|ll|d|m|t)?\b", re.IGNORECASE)
_GROUPED_DIGITS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_HAN_RUN = re.compile(rf"[{_HAN}]+")
_SPELLED = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?: ++[A-Za-z0-9]++)+")
# Marks that are not part of a letter, such as the vowels of Hebrew and Arabic, which most texts
# leave out.
_STRAY = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]+"
)
# The letters on which a mark is an accent, which a hurried writer leaves out. й is another letter
# than и, and what endings are told by.
_ACCENTED = re.compile("[\u0000-\u02af\u0370-\u04ff\u0590-\u06ff]")
_SHORT_I = "\u0438\u0306"
# The dot of an Indian letter, by its combining class.
_NUKTA = 7
# Letters without a base that Unicode names, as a keyboard without them writes them.
_TYPED_AS = {"ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
_MAX_TERM = 64
# Enough of a text to recognise its language.
_SAMPLE_CHARS = 1000

# The stemmer by the script of a word: that of the language with most texts in the script.
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
    """Replace the lock in a forked child, since a thread of the parent may have held it."""
    global _stemmer_lock
    _stemmer_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def fold(text: str) -> str:
    """Return `text` without differences of letter case, width and marks such as accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    kept: list[str] = []
    for character in decomposed:
        place = unicodedata.combining(character)
        is_accent = place and kept and _ACCENTED.match(kept[-1])
        if place == _NUKTA or (is_accent and kept[-1] + character != _SHORT_I):
            continue
        kept.append(character if character < "\u0080" else _without_mark(character))
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(maxsize=10_000)
def _without_mark(letter: str) -> str:
    """Return the letter that a joined mark changes: l for ł, o for ø, к for қ."""
    if letter in _TYPED_AS:
        return _TYPED_AS[letter]
    name, mark, _ = unicodedata.name(letter, "").partition(" WITH ")
    if not mark or not name.startswith(("LATIN SMALL LETTER", "CYRILLIC SMALL LETTER")):
        return letter
    with suppress(KeyError):  # Such as a lambda, which Latin has with a stroke alone.
        return unicodedata.lookup(name)
    return letter


def has_han(text: str) -> bool:
    """Return whether `text` holds a Chinese character."""
    return not text.isascii() and _HAN_RUN.search(text) is not None


def terms(text: str) -> list[str]:
    """Return the index terms of `text`, as often as they occur.

    Documents and questions use the same function, so that their terms agree.
    """
    pattern = _ASCII_CHUNK
    if not text.isascii():
        text, pattern = _compose(text), _CHUNK
    index_terms: list[str] = []
    for match in pattern.finditer(_GROUPED_DIGITS.sub("", text)):
        if match.lastgroup == "unspaced":
            index_terms.extend(_unspaced_terms(match.group()))
        else:
            chunk = match.group()
            index_terms.extend(
                _cached_compound_terms(chunk) if len(chunk) <= _MAX_TERM else _compound_terms(chunk)
            )
    for language in foreign_languages(text):
        index_terms.extend(_foreign_stems(language, text))
    return index_terms


def foreign_languages(text: str) -> tuple[str, ...]:
    """Return the languages in Latin letters of the beginning of `text`; see `languages_of`."""
    sample = text[:_SAMPLE_CHARS]
    return languages_of(sample, fold(sample))


def _foreign_stems(language: str, text: str) -> Iterator[str]:
    """Yield the stems in a language that differ from the English stems."""
    function_words_of_language = function_words(language)
    for match in _PART.finditer(text):
        word = match.group().lower()
        folded = fold(word)
        if word.isalpha() and folded not in function_words_of_language and len(word) <= _MAX_TERM:
            stem = fold(stem_in(language, word))
            if stem != _stem(folded):
                yield stem


def spelled_names(text: str) -> list[str]:
    """Return the names that two or three neighbouring words of `text` may mean, as index terms.

    A question for "read text" may mean `read_text`, a single name of a document. Stop words are not
    part of such names.
    """
    names: list[str] = []
    for clause in _SPELLED.findall(text):
        folded_words = fold(clause).split()
        for length in (2, 3):
            for start in range(len(folded_words) - length + 1):
                neighbours = folded_words[start : start + length]
                if stop_words().isdisjoint(neighbours):
                    names.append(_stem("".join(neighbours)))
    return [name for name in dict.fromkeys(names) if len(name) <= _MAX_TERM]


def words(text: str) -> list[str]:
    """Return the words of `text` in order, folded but neither stemmed nor filtered."""
    if not text.isascii():
        text = _compose(text)
    return [fold(match.group()) for match in _PART.finditer(text)]


def word_spans(text: str) -> list[tuple[str, int, int]]:
    """Return the words of `text`, folded, with their half-open ranges of characters.

    In a script without spaces every character is a word, in its simplified form.
    """
    return [
        (simplify(fold(match.group())), match.start(), match.end())
        for match in _PART_OR_CHARACTER.finditer(text)
    ]


def _compose(text: str) -> str:
    """Return `text` with letters and their marks composed to single characters if possible."""
    return _STRAY.sub("", unicodedata.normalize("NFKC", text))


def _compound_terms(chunk: str) -> tuple[str, ...]:
    """Return the terms of words that are joined by signs."""
    if chunk.isalpha() and (chunk.islower() or chunk.istitle() or chunk.isupper()):
        return tuple(_word_terms(chunk))
    bare = _VERSION_SIGN.sub("", _APOSTROPHE.sub("", chunk))
    index_terms: list[str] = []
    names = {*_LANGUAGE.findall(bare), *_names_of(bare)}
    for part in _PART.findall(bare):
        if _HEXADECIMAL.fullmatch(part):
            names |= {part, part[:_SHORT_COMMIT]}
            continue
        pieces = _CAMEL.findall(part)
        names |= {part, part.rstrip("0123456789")}
        names.difference_update(pieces)
        for piece in pieces:
            index_terms.extend(_word_terms(piece))
    # A name counts once: it only adds to its words that they stood together.
    index_terms.extend(sorted({_stem(fold(name)) for name in names if 0 < len(name) <= _MAX_TERM}))
    return tuple(index_terms)


def _names_of(bare: str) -> Iterator[str]:
    """Yield the names of a compound, their pairs, and the whole."""
    stretches = _DECIMAL.split(bare)
    for stretch in stretches:
        pieces = _JOINT.split(stretch.strip("_-"))
        if len(pieces) == 1:
            yield _join_names(pieces)
            continue
        yield from map(_join_names, ([name] for name in pieces[::2]))
        yield from _parts_of(pieces)
    if len(stretches) > 1:
        yield _join_names(_JOINT.split(bare))


def _parts_of(pieces: list[str]) -> Iterator[str]:
    """Yield the whole of a path, its parts and its pairs of names.

    `pieces` alternates names and signs. From "src/app.py:42" come the whole, "src/app.py" and
    "app.py".
    """
    yield _join_names(pieces)
    for index in range(0, len(pieces) - 2, 2):
        yield _join_names(pieces[index : index + 3])
    for ending_signs in (_PLACES, _STEPS):
        start = 0
        for index, sign in enumerate([*pieces[1::2], ":"]):
            if ending_signs.intersection(sign):
                yield _join_names(pieces[start : 2 * index + 1])
                start = 2 * index + 2


def _join_names(pieces: list[str]) -> str:
    """Return names joined to a single name; only signs between numbers are kept."""
    joined = ""
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            joined += "".join(_PART.findall(piece))
        elif joined[-1:].isdigit() and pieces[index + 1][:1].isdigit():
            joined += piece
    return joined


_cached_compound_terms = lru_cache(maxsize=200_000)(_compound_terms)


def _word_terms(word: str) -> Iterator[str]:
    folded = fold(word)[:_MAX_TERM]
    folded = standard_forms().get(folded, folded)
    if _HANGUL.fullmatch(folded):
        # Korean particles follow a word without a space.
        yield from map("".join, pairwise(folded))
        return
    if folded not in stop_words():
        yield _stem(folded)


def _stem(folded: str) -> str:
    # Only the first stemmer knows letters of ASCII; most words are of these.
    for letters, stemmer in _STEMMERS[:1] if folded.isascii() else _STEMMERS:
        if letters.fullmatch(folded):
            # Two threads must not use a Stemmer object at once.
            with _stemmer_lock:
                return str(stemmer.stemWord(folded))
    return folded


def _unspaced_terms(run: str) -> Iterator[str]:
    folded = simplify(fold(run))
    yield from folded
    for first, second in pairwise(folded):
        yield first + second
    for match in _HAN_RUN.finditer(folded):
        if len(match.group()) > 2:
            yield from (word for word in cut_chinese_for_search(match.group()) if len(word) > 2)


def cut_chinese_for_search(run: str) -> list[str]:
    """Return the words of a run of Chinese characters, and the shorter words in them."""
    # Imported at first use: loading its dictionary takes 70 ms, in vain for a text without Chinese.
    import rjieba  # noqa: PLC0415

    return list(rjieba.cut_for_search(run))


def cut_chinese(run: str) -> list[str]:
    """Return the words of a run of Chinese characters, in order and without overlaps."""
    import rjieba  # noqa: PLC0415

    return list(rjieba.cut(run))


def find_dictionary_words(run: str) -> list[str]:
    """Return all words of two characters and more that the dictionary has in a run of Chinese."""
    import rjieba  # noqa: PLC0415

    return [word for word in rjieba.cut_all(run) if len(word) > 1]
