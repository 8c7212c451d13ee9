"""Scores the best candidates together with the adjacent turns of their conversations.

The turn before often holds the words by which a search finds a turn ("Where did you go?" "To
Rome."). The best candidates and their adjacent turns are therefore scored again, in context:

    own     = meaning, blended with the meaning for the nearest sentence (`sentences`)
    meaning = (1 - 2 around) own + around before + around after
    words   = BM25 of the turn together with a share of the words before and after it
    base    = (meaning + words + speaker + quoted) (1 - echo)
    total   = base (1 + important) + conversation (mean of the best three `base` in it)

`echo` is 0 but for a turn that asks, and the greater the more it asks what the question asks
(`find_echoes`). Such a turn gives 1 - echo of its meaning and of its words to the turns beside it.
The word counts of the turns are added before saturation, instead of their scores, as in Robertson,
Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields" (2004). A memory takes the
place of its own missing adjacent turn. A memory without a conversation forms its own conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from infinite_memory.search.bm25 import QueryTerms, count_terms, saturate_counts
from infinite_memory.search.conversation.turns import NONE, ConversationTurns
from infinite_memory.search.scoring import SegmentScores, Weights, find_echoes, scale_words
from infinite_memory.search.segment import sort_distinct

_BEST = 3

Scores = NDArray[np.float32]


@frozen(kw_only=True, eq=False)
class ConversationScores:
    """Scores of the rows of `turns`, float32, shape (m,), on the scale of `SegmentScores.total`.

    The gains and losses of the steps in context: `sentences` from comparing the sentences of the
    question separately, `around` from the adjacent turns, `quoted` from the quoted phrases,
    `is_question` the loss of a memory that is a question, `important` the gain of an important
    memory, `conversation` the share of the conversation. `total` is their sum with the meaning, the
    words and the speaker of the memory itself. It has no shares for the time and for summaries yet,
    which `lift_totals` adds.
    """

    turns: ConversationTurns
    sentences: Scores
    around: Scores
    quoted: Scores
    is_question: Scores
    important: Scores
    conversation: Scores
    total: Scores


@frozen(kw_only=True, eq=False)
class _OwnScores:
    """Scores of the rows without context: float32, shape (m,); `counts` of terms (m, terms)."""

    meaning: Scores
    words: Scores
    speaker: Scores
    is_question: Scores
    important: Scores
    length: Scores
    counts: Scores


def score_in_conversations(
    scores: Sequence[SegmentScores],
    turns: ConversationTurns,
    query: QueryTerms,
    weights: Weights,
    *,
    sentences: Scores,
    quoted: Scores,
) -> ConversationScores:
    """Return the scores of the documents of `turns` in the context of their conversations.

    `sentences` is the gain in meaning per row from the sentences of the question, shape (m,).
    `quoted` is the share of the quoted phrases in every row, shape (m,). `weights` must be the
    weights of `scores`. Scores of rows outside `turns.wanted` are meaningless: their adjacent turns
    may be missing.
    """
    own = _score_alone(scores, turns, query)
    own = evolve(own, meaning=own.meaning + sentences)
    echo = own.is_question * find_echoes(own.meaning, weights.words * own.words, weights)
    lent = evolve(own, meaning=own.meaning * (1 - echo), counts=own.counts * (1 - echo)[:, None])
    alone = weights.meaning * own.meaning + weights.words * own.words
    in_context = weights.meaning * _meaning_around(own, lent, turns, weights)
    in_context += weights.words * _words_around(own, lent, turns, query, weights)
    quote_gain = (weights.quoted * quoted).astype(np.float32)
    totals = in_context + quote_gain + weights.speaker * own.speaker * (in_context > 0)
    is_answered = (turns.after != NONE) | (turns.size[turns.conversation] == 1)
    question_loss = -echo * is_answered * totals
    totals += question_loss
    important = weights.important * own.important * totals
    conversation = weights.conversation * _mean_of_best(totals, turns)
    return ConversationScores(
        turns=turns,
        sentences=weights.meaning * sentences,
        around=in_context - alone,
        quoted=quote_gain,
        is_question=question_loss,
        important=important,
        conversation=conversation,
        total=totals + important + conversation,
    )


def _score_alone(
    scores: Sequence[SegmentScores], turns: ConversationTurns, query: QueryTerms
) -> _OwnScores:
    columns = np.zeros((6, len(turns)), np.float32)
    counts = np.zeros((len(turns), len(query.terms)), np.float32)
    for number in sort_distinct(turns.segment_index):
        segment_scores, rows = scores[number], (turns.segment_index == number).nonzero()[0]
        docs = turns.doc[rows].astype(np.int32)
        positions = segment_scores.doc_filter.positions_of(docs)
        columns[:, rows] = (
            segment_scores.meaning(positions),
            segment_scores.words(positions),
            segment_scores.speaker(positions),
            segment_scores.segment.is_question[docs],
            segment_scores.segment.important[docs],
            segment_scores.segment.length[docs],
        )
        counts[rows] = count_terms(segment_scores.segment, query.terms, docs)
    meaning, words, speaker, is_question, important, length = columns
    return _OwnScores(
        meaning=meaning,
        words=words,
        speaker=speaker,
        is_question=is_question,
        important=important,
        length=length,
        counts=counts,
    )


def _meaning_around(
    own: _OwnScores, lent: _OwnScores, turns: ConversationTurns, weights: Weights
) -> Scores:
    before = np.where(turns.before == NONE, own.meaning, lent.meaning[turns.before])
    after = np.where(turns.after == NONE, own.meaning, lent.meaning[turns.after])
    around: Scores = own.meaning + weights.around * (before + after - 2 * own.meaning)
    return around


def _words_around(
    own: _OwnScores,
    lent: _OwnScores,
    turns: ConversationTurns,
    query: QueryTerms,
    weights: Weights,
) -> Scores:
    counts, length = own.counts.copy(), own.length.copy()
    texts = np.ones(len(turns), np.float32)
    for neighbour, weight in ((turns.before, weights.before), (turns.after, weights.after)):
        there = (neighbour != NONE).nonzero()[0]
        counts[there] += np.float32(weight) * lent.counts[neighbour[there]]
        length[there] += np.float32(weight) * own.length[neighbour[there]]
        texts[there] += np.float32(weight)
    # Divide by the weights, so that the length stays comparable with a single text.
    return scale_words(saturate_counts(counts, length / texts, query))


def _mean_of_best(totals: Scores, turns: ConversationTurns) -> Scores:
    """Return per row the mean of the best three wanted rows of its conversation.

    The scores of unwanted rows are negligible and count as 0.
    """
    rows = turns.wanted[np.lexsort((-totals[turns.wanted], turns.conversation[turns.wanted]))]
    code = turns.conversation[rows]
    first = np.searchsorted(code, code)
    best = np.arange(len(code)) - first < _BEST
    total = np.bincount(code[best], totals[rows[best]], minlength=len(turns.size))
    mean: Scores = (total / np.minimum(turns.size, _BEST)).astype(np.float32)
    return mean[turns.conversation]
