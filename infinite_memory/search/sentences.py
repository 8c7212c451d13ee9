"""Compares the candidates with every sentence of a question separately.

A message to an assistant, or a part of a dialogue, has several subjects. The vector of the whole
question mixes the subjects, so the candidates are also compared with the vector of every sentence.
The cosines with a sentence are first centred on their mean over the candidates, because a greeting
is near to most messages of a chat. Without the centring, questions that begin with a greeting find
less than by the vector of the whole question.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.conversation.turns import ConversationTurns
from infinite_memory.search.cosine import ABSENT, QueryVector, cosines
from infinite_memory.search.scoring import SegmentScores, scale_cosines
from infinite_memory.search.segment import sort_distinct
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.passages import SENTENCE_END

MOST_SENTENCES = 8
"""The most sentences that are embedded; every sentence costs a run of the model."""

Scores = NDArray[np.float32]


def split_sentences(question: str) -> tuple[str, ...]:
    """Return the sentences of `question` that have index terms; () if there is only one.

    If there are more than `MOST_SENTENCES`, consecutive sentences are joined evenly.
    """
    ends = [match.end() for match in SENTENCE_END.finditer(question)]
    sentences = [question[a:b].strip() for a, b in pairwise([0, *ends, len(question)])]
    telling = [sentence for sentence in sentences if terms(sentence)]
    if len(telling) < 2:
        return ()
    count = min(len(telling), MOST_SENTENCES)
    cuts = [len(telling) * number // count for number in range(count + 1)]
    return tuple(" ".join(telling[a:b]) for a, b in pairwise(cuts))


def score_sentences(
    scores: Sequence[SegmentScores],
    turns: ConversationTurns,
    sentences: Sequence[QueryVector],
    share: float,
) -> Scores:
    """Return the change in meaning of the rows of `turns` by the sentences, float32, shape (m,).

    The cosines with a sentence are shifted so that their mean over the wanted rows equals the mean
    of the cosines with the whole question. The new cosine is (1 - share) whole + share nearest,
    where `nearest` is the greatest shifted cosine of a row. A row without a vector has 0.
    """
    gained = np.zeros(len(turns), np.float32)
    if not sentences:
        return gained
    whole = np.full(len(turns), ABSENT, np.float32)
    by_sentence = np.zeros((len(turns), len(sentences)), np.float32)
    for number in sort_distinct(turns.segment_index):
        segment_scores, rows = scores[number], np.flatnonzero(turns.segment_index == number)
        docs = turns.doc[rows].astype(np.int32)
        whole[rows] = segment_scores.cosine[segment_scores.doc_filter.positions_of(docs)]
        by_sentence[rows] = np.stack(
            [cosines(sentence, segment_scores.segment, docs) for sentence in sentences], axis=1
        )
    embedded = whole > ABSENT
    wanted = turns.wanted[embedded[turns.wanted]]
    if len(wanted):
        by_sentence += whole[wanted].mean() - by_sentence[wanted].mean(axis=0)
        blended = whole + np.float32(share) * (by_sentence.max(axis=1) - whole)
        background = scores[0].background
        change = scale_cosines(blended, background) - scale_cosines(whole, background)
        gained[embedded] = change[embedded]
    return gained
