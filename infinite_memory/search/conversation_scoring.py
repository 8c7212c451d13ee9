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
from infinite_memory.search.conversation_turns import NONE, ConversationTurns
from infinite_memory.search.scoring import SegmentScores, Weights

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

    turns: ConversationTurns
    parts: Scores
    around: Scores
    quoted: Scores
    asks: Scores
    important: Scores
    conversation: Scores
    total: Scores


@frozen(kw_only=True, eq=False)
class _OwnScores:
    """What each row has by itself: float32, shape (m,); the counts of the terms (m, terms)."""

    meaning: Scores
    words: Scores
    speaker: Scores
    asks: Scores
    important: Scores
    length: Scores
    counts: Scores


def score_in_conversations(
    scores: Sequence[SegmentScores],
    turns: ConversationTurns,
    query: QueryTerms,
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
    own = _score_alone(scores, turns, query)
    own = evolve(own, meaning=own.meaning + parts)
    alone = weights.meaning * own.meaning + weights.words * own.words
    surrounded = weights.meaning * _meaning_around(own, turns, weights)
    surrounded += weights.words * _words_around(own, turns, query, weights)
    said = (weights.quoted * quoted).astype(np.float32)
    totals = surrounded + said + weights.speaker * own.speaker * (surrounded > 0)
    lost = -weights.asks * own.asks * totals
    totals += lost
    important = weights.important * own.important * totals
    conversation = weights.conversation * _best_of_conversations(totals, turns)
    return ConversationScores(
        turns=turns,
        parts=weights.meaning * parts,
        around=surrounded - alone,
        quoted=said,
        asks=lost,
        important=important,
        conversation=conversation,
        total=totals + important + conversation,
    )


def _score_alone(
    scores: Sequence[SegmentScores], turns: ConversationTurns, query: QueryTerms
) -> _OwnScores:
    columns = np.zeros((6, len(turns)), np.float32)
    counts = np.zeros((len(turns), len(query.terms)), np.float32)
    for number in np.unique(turns.segment_index):
        segment_scores, rows = scores[number], np.flatnonzero(turns.segment_index == number)
        docs = turns.doc[rows].astype(np.int32)
        positions = segment_scores.doc_filter.positions_of(docs)
        columns[:, rows] = (
            segment_scores.meaning(positions),
            segment_scores.words(positions),
            segment_scores.speaker(positions),
            segment_scores.segment.asks[docs],
            segment_scores.segment.important[docs],
            segment_scores.segment.length[docs],
        )
        counts[rows] = count_terms(segment_scores.segment, query.terms, docs)
    meaning, words, speaker, asks, important, length = columns
    return _OwnScores(
        meaning=meaning,
        words=words,
        speaker=speaker,
        asks=asks,
        important=important,
        length=length,
        counts=counts,
    )


def _meaning_around(own: _OwnScores, turns: ConversationTurns, weights: Weights) -> Scores:
    before = np.where(turns.before == NONE, own.meaning, own.meaning[turns.before])
    after = np.where(turns.after == NONE, own.meaning, own.meaning[turns.after])
    around: Scores = own.meaning + weights.around * (before + after - 2 * own.meaning)
    return around


def _words_around(
    own: _OwnScores, turns: ConversationTurns, query: QueryTerms, weights: Weights
) -> Scores:
    counts, length = own.counts.copy(), own.length.copy()
    texts = np.ones(len(turns), np.float32)
    for neighbour, weight in ((turns.before, weights.before), (turns.after, weights.after)):
        there = np.flatnonzero(neighbour != NONE)
        counts[there] += np.float32(weight) * own.counts[neighbour[there]]
        length[there] += np.float32(weight) * own.length[neighbour[there]]
        texts[there] += np.float32(weight)
    # A long stretch of a conversation is no longer than others if it has as many texts.
    return saturate_counts(counts, length / texts, query)


def _best_of_conversations(totals: Scores, turns: ConversationTurns) -> Scores:
    """Return for each row the mean of the best three wanted rows of its conversation.

    One that was not wanted scores too little to be looked at, and counts as 0.
    """
    rows = turns.wanted[np.lexsort((-totals[turns.wanted], turns.conversation[turns.wanted]))]
    code = turns.conversation[rows]
    first = np.searchsorted(code, code)
    best = np.arange(len(code)) - first < _BEST
    total = np.bincount(code[best], totals[rows[best]], minlength=len(turns.size))
    mean: Scores = (total / np.minimum(turns.size, _BEST)).astype(np.float32)
    return mean[turns.conversation]
