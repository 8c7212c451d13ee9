"""The title of a topic summary: words that tell its memories apart from the rest of their scope.

A phrase is one to four neighbouring words of a clause, as they stand in a text. It is worth the
number of memories that hold it times how rare it is in the rest of the scope (tf-idf: Spärck Jones,
1972), more if it is a name or has several words, and less in memories that an earlier phrase of the
title already names.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache

from attrs import define, field, frozen

from infinite_memory.search.text.analyzer import (
    cut_chinese,
    fold,
    foreign_languages,
    has_han,
    terms,
)
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
MAX_TITLE_CHARS = 60

CountHolding = Callable[[str], tuple[int, int]]
"""Counts the memories of the scope that hold all words of a phrase, and all memories."""

_MOST_PHRASES = 3
_MOST_COMPARED = 60
_NAME_BONUS = 1.5
_WORDS_BONUS = 0.3
_CHARACTER_BONUS = 0.15
# What an earlier phrase names already counts a little.
_NAMED_SHARE = 0.4
# A further phrase is worth at least this share of the first.
_LEAST_SHARE = 0.2


@define
class _Candidate:
    """A phrase in whatever spelling: the texts that hold it, and its spellings."""

    holders: set[int] = field(factory=set)
    spellings: Counter[str] = field(factory=Counter)
    names: int = 0
    others: int = 0
    words: int = 1
    worth: float = 0.0

    def add(self, number: int, phrase: Phrase) -> None:
        """Add an occurrence in the text of this number."""
        self.holders.add(number)
        # The first word of a sentence has a capital whatever it is.
        self.spellings[phrase.text] += 1 if phrase.begins_sentence else 3
        self.words = phrase.words
        if not phrase.begins_sentence:
            self.names += phrase.is_name
            self.others += not phrase.is_name

    @property
    def spelling(self) -> str:
        """The most frequent spelling, of equally frequent ones the shortest."""
        return min(self.spellings, key=lambda text: (-self.spellings[text], len(text), text))


def make_title(
    texts: Sequence[str], count_holding: CountHolding, *, ignored: Collection[str] = ()
) -> str:
    """Return a title of at most 60 characters for memories with these texts, "" for no words.

    The terms `ignored`, such as those of the speakers, are no part of it.
    """
    candidates = _collect_phrases(texts, frozenset(ignored))
    _weigh_phrases(candidates, len(texts), count_holding)
    chosen = _choose_spellings(candidates)
    if not chosen:
        return ""
    joint = "、" if has_han(chosen[0]) else ", "
    title = joint.join(chosen)
    # An identifier such as `pg_dump` keeps its small letter.
    is_word = re.match(r"[^\W\d_]+(?:-[^\W\d_]+)*(?![\w./])", title) is not None
    return title[:1].upper() + title[1:] if is_word else title


def _collect_phrases(
    texts: Sequence[str], ignored: frozenset[str]
) -> dict[frozenset[str], _Candidate]:
    """Return the phrases by their terms; those that several texts hold, if there are any."""
    candidates: defaultdict[frozenset[str], _Candidate] = defaultdict(_Candidate)
    for number, text in enumerate(texts):
        for phrase in read_phrases(text):
            candidates[frozenset(terms(phrase.text))].add(number, phrase)
    telling = {
        key: candidate
        for key, candidate in candidates.items()
        if key and ignored.isdisjoint(key) and len(candidate.spelling) <= MAX_TITLE_CHARS
    }
    shared = {key: found for key, found in telling.items() if len(found.holders) > 1}
    return shared or telling


def _weigh_phrases(
    candidates: Mapping[frozenset[str], _Candidate], number: int, count_holding: CountHolding
) -> None:
    """Set the worth in each of its memories of the most frequent phrases."""
    bonus = {key: _compute_bonus(candidate) for key, candidate in candidates.items()}
    frequent = sorted(candidates, key=lambda key: -len(candidates[key].holders) * bonus[key])
    for key in frequent[:_MOST_COMPARED]:
        candidate = candidates[key]
        holding, total = count_holding(candidate.spelling)
        outside = max(0, holding - len(candidate.holders))
        rarity = math.log(1 + max(0, total - number) / (outside + 0.5))
        candidate.worth = bonus[key] * (0.1 + rarity)


def _compute_bonus(candidate: _Candidate) -> float:
    if has_han(candidate.spelling):
        return 1 + _CHARACTER_BONUS * (len(candidate.spelling) - 2)
    known = candidate.names + candidate.others
    name = _NAME_BONUS if known and 2 * candidate.names >= known else 1.0
    return name * (1 + _WORDS_BONUS * (candidate.words - 1))


def _choose_spellings(candidates: Mapping[frozenset[str], _Candidate]) -> list[str]:
    """Return the spellings of at most three phrases, the one that is worth most first."""
    chosen: list[str] = []
    named: Counter[int] = Counter()
    used: set[str] = set()
    first = 0.0
    while len(chosen) < _MOST_PHRASES:
        fitting = {
            key: candidate
            for key, candidate in candidates.items()
            if used.isdisjoint(key)
            and len(", ".join([*chosen, candidate.spelling])) <= MAX_TITLE_CHARS
        }
        gains = {
            key: candidate.worth * sum(_NAMED_SHARE ** named[each] for each in candidate.holders)
            for key, candidate in fitting.items()
        }
        # Of equal ones the first that was told: `min` keeps the order.
        best = min(gains, key=lambda key: -gains[key], default=None)
        if best is None or gains[best] <= _LEAST_SHARE * first:
            break
        first = first or gains[best]
        best = _lengthen_phrase(best, fitting)
        chosen.append(candidates[best].spelling)
        named.update(candidates[best].holders)
        used |= best
    return chosen


def _lengthen_phrase(
    key: frozenset[str], candidates: Mapping[frozenset[str], _Candidate]
) -> frozenset[str]:
    """Return a longer phrase with the words of `key`, if most of its memories hold it."""
    holders = candidates[key].holders
    longer = [
        (len(found.holders), sorted(other), other)
        for other, found in candidates.items()
        if key < other and 2 * len(found.holders) > len(holders)
    ]
    return max(longer, default=(0, [], key))[2]


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
    idle = _list_idle_words().union(*map(function_words, foreign_languages(text)))
    is_japanese = _KANA.search(text) is not None
    for clause in _CLAUSE.finditer(text):
        words = list(_cut_words(clause, idle, is_japanese=is_japanese))
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
def _list_idle_words() -> frozenset[str]:
    return stop_words() | acknowledgements() | light_words() | foreign_function_words()


def _cut_words(
    clause: re.Match[str], idle: frozenset[str], *, is_japanese: bool
) -> Iterator[_Word]:
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
            tells=is_word if is_unspaced else _tells_something(bare, idle),
            is_han=is_unspaced,
        )


def _tells_in_chinese(word: str) -> bool:
    simple = simplify(word)
    is_idle = simple in chinese_stop_words() or simple in light_words()
    return len(word) > 1 and not is_idle


def _tells_something(word: str, idle: frozenset[str]) -> bool:
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
