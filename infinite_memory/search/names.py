"""Finds the names in a question that many of the searched memories hold.

The vector of a question with a name is near to every text that addresses the person, so a question
is embedded without a name that tells the memories hardly apart. BM25 still counts the name: its
weight depends on the number of memories that hold it.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence

import numpy as np

from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import hash_term
from infinite_memory.search.phrases import Texts
from infinite_memory.search.segment import Segment
from infinite_memory.text.analyzer import fold, foreign_languages, terms
from infinite_memory.text.word_lists import stop_words

__all__ = ["find_common_names"]

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
