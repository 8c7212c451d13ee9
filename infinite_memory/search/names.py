"""Finds the names in a question: of speakers, and of people whom many memories address.

The vector of a question with a name is near to every text that addresses the person, such as a
greeting. The question is therefore embedded without the names of speakers, whose memories gain a
weight instead, and without names that are in many memories. BM25 still counts them: the weight of a
name depends on the number of memories that hold it.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import hash_term
from infinite_memory.search.phrases import Texts
from infinite_memory.search.segment import Segment
from infinite_memory.search.text.analyzer import fold, foreign_languages, terms, words
from infinite_memory.search.text.word_lists import stop_words

# A role is a common word, too: "which user reported it?" does not name the speaker "user".
_ROLES = frozenset({"assistant", "bot", "human", "may", "model", "system", "tool", "user"})
# The least share and number of the searched memories that hold a common name.
_COMMON_SHARE = 0.02
_LEAST_COUNT = 5
# The number of memories whose beginnings are read, to see whether the name is that of a speaker.
_READ = 20
_MOST_NAMES = 8
_NAME = re.compile(r"(?<!\w)[A-Z][a-z]+(?!\w)")
_CALENDAR = frozenset(name.lower() for name in (*calendar.month_name, *calendar.day_name))
# A capital in a text of these languages does not mean a name.
_CAPITAL_NOUNS = frozenset({"german"})


def find_common_names(
    question: str,
    segments: Sequence[Segment],
    doc_filters: Sequence[DocFilter],
    texts: Texts | None,
) -> frozenset[str]:
    """Return the names in `question` that at least 2 % of the selected documents hold.

    A name is a word with a capital that is not a stop word, a month or a day. If most memories with
    a name begin with it, it is the name of their speaker ("Name: text") and is not returned.
    """
    total = sum(map(len, doc_filters))
    if total < _LEAST_COUNT or not _CAPITAL_NOUNS.isdisjoint(foreign_languages(question)):
        return frozenset()
    common: set[str] = set()
    for name in list(dict.fromkeys(_NAME.findall(question)))[:_MOST_NAMES]:
        folded = fold(name)
        if folded in stop_words() or folded in _CALENDAR:
            continue
        holding = _find_holding(name, segments, doc_filters)
        count = sum(len(docs) for _, docs in holding)
        if count >= max(_LEAST_COUNT, _COMMON_SHARE * total) and not _begin_with_name(
            folded, holding, texts
        ):
            common.add(name)
    return frozenset(common)


_Holding = list[tuple[Segment, np.ndarray[tuple[int], np.dtype[np.int32]]]]


def _find_holding(
    name: str, segments: Sequence[Segment], doc_filters: Sequence[DocFilter]
) -> _Holding:
    """Return the selected documents with every term of `name`, by segment."""
    holding: _Holding = []
    hashes = [hash_term(term) for term in terms(name)]
    for segment, doc_filter in zip(segments, doc_filters, strict=True):
        if hashes:
            docs = segment.postings(hashes[0])[0]
            holding.append((segment, docs[doc_filter.contains(docs)]))
    return holding


def _begin_with_name(folded: str, holding: _Holding, texts: Texts | None) -> bool:
    """Return whether most of the first documents in `holding` begin with the name."""
    if texts is None:
        return False
    ids = [segment.id_of(doc) for segment, docs in holding for doc in docs[:_READ].tolist()]
    beginnings = [fold(text[: 2 * len(folded)]) for text in texts(ids[:_READ]).values()]
    beginning = sum(text.lstrip("*#>- [(").startswith(folded) for text in beginnings)
    return 2 * beginning > len(beginnings)


def find_named_speakers(
    question: str, segments: Sequence[Segment], doc_filters: Sequence[DocFilter]
) -> frozenset[str]:
    """Return the speakers of selected documents whose whole or first name is in `question`."""
    question_words = frozenset(words(question))
    return frozenset(
        segment.names[code]
        for segment, doc_filter in zip(segments, doc_filters, strict=True)
        for code in segment.speaker_codes
        if _is_named(segment.names[code], question_words)
        and (doc_filter.take(segment.speaker) == code).any()
    )


def mask_speakers(
    names: frozenset[str], segment: Segment, doc_filter: DocFilter
) -> NDArray[np.bool_]:
    """Return which selected documents have a speaker in `names`: bool, shape (k,)."""
    mask = np.zeros(len(doc_filter), np.bool_)
    codes = [segment.code_of[name] for name in names if name in segment.code_of]
    if codes:
        speakers = doc_filter.take(segment.speaker)
        for code in codes:
            mask |= speakers == code
    return mask


def remove_names(question: str, names: Iterable[str]) -> str:
    """Return `question` without `names`, unchanged if it has no further words."""
    parts = {part for name in names for part in words(name)}
    if not parts:
        return question
    any_part = "|".join(re.escape(part) for part in sorted(parts, key=len, reverse=True))
    text = re.sub(rf"\b(?:{any_part})\b(?:['’]s)?", " ", question, flags=re.IGNORECASE)
    return " ".join(text.split()) if words(text) else question


def _is_named(name: str, question_words: frozenset[str]) -> bool:
    """Return whether the question has the whole name, or a first name that is not a stop word."""
    parts = _split_name(name)
    telling = bool(parts) and parts[0] not in stop_words() and parts[0] not in _ROLES
    whole = len(parts) > 1 and question_words.issuperset(parts)
    return whole or (telling and parts[0] in question_words)


@lru_cache(maxsize=65_536)
def _split_name(name: str) -> tuple[str, ...]:
    return tuple(words(name))
