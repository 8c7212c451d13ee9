"""The phrases of a text that may stand in a title."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from attrs import frozen

from infinite_memory.search.text.analyzer import cut_chinese, fold, foreign_languages
from infinite_memory.search.text.languages import foreign_function_words, function_words
from infinite_memory.search.text.word_lists import (
    acknowledgements,
    chinese_stop_words,
    light_words,
    simplify,
    stop_words,
)

_MOST_WORDS = 4
_MAX_CHARS = 20_000
_MAX_PHRASE_CHARS = 40
_FEWEST_LETTERS = 3
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_KATAKANA = "\u30a1-\u30fa\u30fc"
_HIRAGANA = "\u3041-\u309f"
# `re` does not count the vowel signs of Indian scripts as letters.
_LETTER = r"(?:[^\W_]|[\u0300-\u036f\u0900-\u0963\u0966-\u0dff])"
_INNER = r"(?<=[^\W_])['’_./@&+#-](?=[^\W_])"
# A clause ends at any sign but a single space or a sign within a word.
_CLAUSE = re.compile(rf"{_LETTER}(?:{_LETTER}|{_INNER}| (?=[^\W_]))*")
_WORD = re.compile(
    rf"(?P<han>[{_HAN}]+)|(?P<katakana>[{_KATAKANA}]+)|(?P<hiragana>[{_HIRAGANA}]+)"
    rf"|(?:(?![{_HAN}{_KATAKANA}{_HIRAGANA}]){_LETTER}|{_INNER})+"
)
_NUMERAL = re.compile("[〇一二三四五六七八九十百千]")
_KANA = re.compile(f"[{_KATAKANA}{_HIRAGANA}]")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:\n]|[.!?][\"”’)])\s*[\"“‘(*-]*\s*$")
_CONTRACTION = re.compile(r"['’](?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_NEGATION = re.compile(r"n['’]t$", re.IGNORECASE)


@frozen(kw_only=True)
class Phrase:
    """One to four neighbouring words, as they stand in a text.

    `is_name` says whether every word that says something has a capital letter or a digit;
    `begins_sentence` whether its first letter may be a capital for another reason.
    """

    text: str
    words: int
    is_name: bool
    begins_sentence: bool


@frozen(kw_only=True)
class _Word:
    start: int
    end: int
    text: str
    tells: bool
    is_han: bool = False


def read_phrases(text: str) -> Iterator[Phrase]:
    """Yield the phrases of the beginning of a text, each as often as it occurs.

    They begin and end with a word that says something: no function word of the language of the
    text, no greeting, no number. Only a name has other words inside, such as "Bank of England".
    """
    text = text[:_MAX_CHARS]
    # A short text does not show its language.
    idle = _idle_words().union(*map(function_words, foreign_languages(text)))
    is_japanese = _KANA.search(text) is not None
    for clause in _CLAUSE.finditer(text):
        words = list(_cut(clause, idle, is_japanese=is_japanese))
        begins = (
            _SENTENCE_START.search(text, max(0, clause.start() - 8), clause.start()) is not None
        )
        for first in range(len(words)):
            for last in range(first, min(len(words), first + _MOST_WORDS)):
                part = words[first : last + 1]
                if _may_stand(part):
                    yield Phrase(
                        text=text[part[0].start : part[-1].end],
                        words=len(part),
                        is_name=_is_name(part),
                        begins_sentence=begins and first == 0,
                    )


@cache
def _idle_words() -> frozenset[str]:
    return stop_words() | acknowledgements() | light_words() | foreign_function_words()


def _cut(clause: re.Match[str], idle: frozenset[str], *, is_japanese: bool) -> Iterator[_Word]:
    for match in _WORD.finditer(clause.group()):
        start = clause.start() + match.start()
        run = match.group()
        if match.lastgroup == "han" and not is_japanese:
            for word in cut_chinese(run):
                yield _Word(
                    start=start,
                    end=start + len(word),
                    text=word,
                    tells=_tells_in_chinese(word),
                    is_han=True,
                )
                start += len(word)
            continue
        bare = _CONTRACTION.sub("", run)
        is_unspaced = match.lastgroup is not None
        is_word = len(run) > 1 and match.lastgroup != "hiragana" and not _NUMERAL.search(run)
        yield _Word(
            start=start,
            end=start + len(bare),
            text=bare,
            tells=is_word if is_unspaced else _tells(bare, idle),
            is_han=is_unspaced,
        )


def _tells_in_chinese(word: str) -> bool:
    simple = simplify(word)
    is_idle = simple in chinese_stop_words() or simple in light_words()
    return len(word) > 1 and not is_idle


def _tells(word: str, idle: frozenset[str]) -> bool:
    letters = sum(map(str.isalpha, word))
    is_long = letters >= _FEWEST_LETTERS or (letters > 1 and word.isupper())
    is_idle = word.lower() in idle or fold(word) in idle or _NEGATION.search(word) is not None
    return is_long and not is_idle


def _may_stand(part: Sequence[_Word]) -> bool:
    if not (part[0].tells and part[-1].tells):
        return False
    if part[-1].end - part[0].start > _MAX_PHRASE_CHARS:
        return False
    if all(word.tells for word in part):
        # A sentence of Chinese words is no phrase.
        return len(part) < _MOST_WORDS or not part[0].is_han
    return _is_name(part) and not part[0].is_han and part[1].text.islower()


def _is_name(part: Sequence[_Word]) -> bool:
    return all(
        not word.tells or word.text[:1].isupper() or word.text[:1].isdigit() for word in part
    )
