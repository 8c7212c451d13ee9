"""A question of several sentences, sentence by sentence.

A message to an assistant, or a stretch of a dialogue, says several things. The vector of all of it
is near to what they have in common and blurs what each of them asks, so the candidates are compared
with each sentence as well. What counts is how much nearer to it a memory is than the candidates on
the mean: in a chat a greeting is near to much, and tells nothing. Without this step back, questions
that begin with a greeting find less than when they are compared as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.conversation_turns import ConversationTurns
from infinite_memory.search.cosine import ABSENT, QueryVector, cosines
from infinite_memory.search.scoring import SegmentScores, scale_cosines
from infinite_memory.text.analyzer import terms
from infinite_memory.text.passages import SENTENCE_END

__all__ = ["MOST_PARTS", "score_sentences", "split_sentences"]

MOST_PARTS = 8
"""Each costs a run of the model."""

Scores = NDArray[np.float32]


def split_sentences(question: str) -> tuple[str, ...]:
    """Return the sentences of `question` that have a word to find, nothing where it has only one.

    Of more than `MOST_PARTS` consecutive sentences are joined, about as many in each part.
    """
    ends = [match.end() for match in SENTENCE_END.finditer(question)]
    sentences = [question[a:b].strip() for a, b in pairwise([0, *ends, len(question)])]
    telling = [sentence for sentence in sentences if terms(sentence)]
    if len(telling) < 2:
        return ()
    count = min(len(telling), MOST_PARTS)
    cuts = [len(telling) * number // count for number in range(count + 1)]
    return tuple(" ".join(telling[a:b]) for a, b in pairwise(cuts))


def score_sentences(
    scores: Sequence[SegmentScores],
    turns: ConversationTurns,
    parts: Sequence[QueryVector],
    share: float,
) -> Scores:
    """Return what the meaning of each row of `turns` gains by the parts of the question, or loses.

    `share` in [0, 1] is how much of the cosine with the whole question gives way to that with the
    part nearest to the memory. The cosines with each part are first moved so that those of the
    wanted rows have the mean of those with the whole. Rows without a vector gain nothing. float32,
    shape (m,).
    """
    gained = np.zeros(len(turns), np.float32)
    if not parts:
        return gained
    whole = np.full(len(turns), ABSENT, np.float32)
    by_part = np.zeros((len(turns), len(parts)), np.float32)
    for number in np.unique(turns.segment_index):
        segment_scores, rows = scores[number], np.flatnonzero(turns.segment_index == number)
        docs = turns.doc[rows].astype(np.int32)
        whole[rows] = segment_scores.cosine[segment_scores.doc_filter.positions_of(docs)]
        by_part[rows] = np.stack(
            [cosines(part, segment_scores.segment, docs) for part in parts], axis=1
        )
    embedded = whole > ABSENT
    wanted = turns.wanted[embedded[turns.wanted]]
    if len(wanted):
        by_part += whole[wanted].mean() - by_part[wanted].mean(axis=0)
        blended = whole + np.float32(share) * (by_part.max(axis=1) - whole)
        background = scores[0].background
        change = scale_cosines(blended, background) - scale_cosines(whole, background)
        gained[embedded] = change[embedded]
    return gained
