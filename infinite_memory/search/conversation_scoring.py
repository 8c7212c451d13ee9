"""What a conversation says about its memories: a second look at the best of them.

A turn of a conversation is often found by what was said just before it ("Where did you go?" "To
Rome."), so the best candidates and their neighbours are scored again, each with what surrounds it:

    own     = meaning, with a share of that of the nearest sentence of a long question (`parts`)
    meaning = (1 - 2 around) own + around before + around after
    words   = BM25 of the turn together with a share of the words before and after it
    found   = (meaning + words + speaker + quoted) (1 - asks)
    total   = found (1 + important) + conversation (mean of the best three found of it)

The counts of words are added before they saturate, not their scores, as in Robertson, Zaragoza and
Taylor, "Simple BM25 Extension to Multiple Weighted Fields" (2004). A memory without a neighbour has
itself in its place, and one without a conversation is one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from infinite_memory.search.bm25 import QueryTerms, count_terms, saturate_counts
from infinite_memory.search.neighbours import NONE, Neighbours
from infinite_memory.search.scoring import SegmentScores
from infinite_memory.search.weights import Weights

__all__ = ["ConversationScores", "score_in_conversations"]

_BEST = 3

Scores = NDArray[np.float32]


@frozen(kw_only=True, eq=False)
class ConversationScores:
    """Scores of the rows of `near`, float32, shape (m,), on the scale of `SegmentScores.total`.

    `parts` is what the sentences of the question gave or took, compared one by one, `around` what
    the neighbours did, `quoted` what holding the quoted parts gave, `asks` what a question lost,
    `important` what a memory marked so gained, `conversation` the share of the conversation;
    `total` is everything together.
    """

    near: Neighbours
    parts: Scores
    around: Scores
    quoted: Scores
    asks: Scores
    important: Scores
    conversation: Scores
    total: Scores


@frozen(kw_only=True, eq=False)
class _Own:
    """What each row has by itself: float32, shape (m,); the counts of the terms (m, terms)."""

    meaning: Scores
    words: Scores
    speaker: Scores
    asks: Scores
    important: Scores
    length: Scores
    counts: Scores


def score_in_conversations(
    scored: Sequence[SegmentScores],
    near: Neighbours,
    asked: QueryTerms,
    weights: Weights,
    *,
    parts: Scores,
    quoted: Scores,
) -> ConversationScores:
    """Return the scores of the documents of `near` in their surroundings.

    `parts` is what the meaning of each row gains by the parts of the question, shape (m,); `quoted`
    is the share of the quoted parts that each row holds, shape (m,). `weights` are those that the
    arms were added up with. The scores of rows that are not wanted mean nothing: their own
    neighbours may be missing.
    """
    own = _own(scored, near, asked)
    own = evolve(own, meaning=own.meaning + parts)
    alone = weights.meaning * own.meaning + weights.words * own.words
    surrounded = weights.meaning * _meaning_around(own, near, weights)
    surrounded += weights.words * _words_around(own, near, asked, weights)
    said = (weights.quoted * quoted).astype(np.float32)
    found = surrounded + said + weights.speaker * own.speaker * (surrounded > 0)
    lost = -weights.asks * own.asks * found
    found += lost
    important = weights.important * own.important * found
    conversation = weights.conversation * _best_of_conversations(found, near)
    return ConversationScores(
        near=near,
        parts=weights.meaning * parts,
        around=surrounded - alone,
        quoted=said,
        asks=lost,
        important=important,
        conversation=conversation,
        total=found + important + conversation,
    )


def _own(scored: Sequence[SegmentScores], near: Neighbours, asked: QueryTerms) -> _Own:
    columns = np.zeros((6, len(near)), np.float32)
    counts = np.zeros((len(near), len(asked.terms)), np.float32)
    for part in np.unique(near.part):
        s, rows = scored[part], np.flatnonzero(near.part == part)
        docs = near.doc[rows].astype(np.int32)
        places = s.selection.places(docs)
        columns[:, rows] = (
            s.meaning(places),
            s.words(places),
            s.speaker(places),
            s.segment.asks[docs],
            s.segment.important[docs],
            s.segment.length[docs],
        )
        counts[rows] = count_terms(s.segment, asked.terms, docs)
    meaning, words, speaker, asks, important, length = columns
    return _Own(
        meaning=meaning,
        words=words,
        speaker=speaker,
        asks=asks,
        important=important,
        length=length,
        counts=counts,
    )


def _meaning_around(own: _Own, near: Neighbours, weights: Weights) -> Scores:
    before = np.where(near.before == NONE, own.meaning, own.meaning[near.before])
    after = np.where(near.after == NONE, own.meaning, own.meaning[near.after])
    around: Scores = own.meaning + weights.around * (before + after - 2 * own.meaning)
    return around


def _words_around(own: _Own, near: Neighbours, asked: QueryTerms, weights: Weights) -> Scores:
    counts, length = own.counts.copy(), own.length.copy()
    texts = np.ones(len(near), np.float32)
    for neighbour, weight in ((near.before, weights.before), (near.after, weights.after)):
        there = np.flatnonzero(neighbour != NONE)
        counts[there] += np.float32(weight) * own.counts[neighbour[there]]
        length[there] += np.float32(weight) * own.length[neighbour[there]]
        texts[there] += np.float32(weight)
    # A long stretch of a conversation is no longer than others if it has as many texts.
    return saturate_counts(counts, length / texts, asked)


def _best_of_conversations(found: Scores, near: Neighbours) -> Scores:
    """Return for each row the mean of the best three wanted rows of its conversation.

    One that was not wanted scores too little to be looked at, and counts as 0.
    """
    rows = near.wanted[np.lexsort((-found[near.wanted], near.conversation[near.wanted]))]
    code = near.conversation[rows]
    first = np.searchsorted(code, code)
    best = np.arange(len(code)) - first < _BEST
    total = np.bincount(code[best], found[rows[best]], minlength=len(near.size))
    mean: Scores = (total / np.minimum(near.size, _BEST)).astype(np.float32)
    return mean[near.conversation]
