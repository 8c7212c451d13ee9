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
from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import define, field

from infinite_memory.features.background.dreamer.topics.phrases import Phrase, read_phrases
from infinite_memory.search.text.analyzer import has_han, terms

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
    candidates = _collect(texts, frozenset(ignored))
    _weigh(candidates, len(texts), count_holding)
    chosen = _choose(candidates)
    if not chosen:
        return ""
    joint = "、" if has_han(chosen[0]) else ", "
    title = joint.join(chosen)
    # An identifier such as `pg_dump` keeps its small letter.
    is_word = re.match(r"[^\W\d_]+(?:-[^\W\d_]+)*(?![\w./])", title) is not None
    return title[:1].upper() + title[1:] if is_word else title


def _collect(texts: Sequence[str], ignored: frozenset[str]) -> dict[frozenset[str], _Candidate]:
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


def _weigh(
    candidates: Mapping[frozenset[str], _Candidate], number: int, count_holding: CountHolding
) -> None:
    """Set the worth in each of its memories of the most frequent phrases."""
    bonus = {key: _bonus(candidate) for key, candidate in candidates.items()}
    frequent = sorted(candidates, key=lambda key: -len(candidates[key].holders) * bonus[key])
    for key in frequent[:_MOST_COMPARED]:
        candidate = candidates[key]
        holding, total = count_holding(candidate.spelling)
        outside = max(0, holding - len(candidate.holders))
        rarity = math.log(1 + max(0, total - number) / (outside + 0.5))
        candidate.worth = bonus[key] * (0.1 + rarity)


def _bonus(candidate: _Candidate) -> float:
    if has_han(candidate.spelling):
        return 1 + _CHARACTER_BONUS * (len(candidate.spelling) - 2)
    known = candidate.names + candidate.others
    name = _NAME_BONUS if known and 2 * candidate.names >= known else 1.0
    return name * (1 + _WORDS_BONUS * (candidate.words - 1))


def _choose(candidates: Mapping[frozenset[str], _Candidate]) -> list[str]:
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
        best = _lengthen(best, fitting)
        chosen.append(candidates[best].spelling)
        named.update(candidates[best].holders)
        used |= best
    return chosen


def _lengthen(
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
