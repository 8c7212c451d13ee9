"""Scores every selected document alone: cosine and BM25 on a common scale, and their sum.

`meaning` is (cosine - background) / (1 - background), where the background is the cosine of two
unrelated texts under the model. `words` is the BM25 score divided by the score of an ideal
document, which has the mean length and contains every word of the question once, to the power of
1.35. `speaker` is 1 if the question names the speaker of the document.

The three values mean the same for every question, store and model. A total can therefore be
compared with a threshold. Normalising by the best and the worst candidate of a question ranks no
better on the development sets, and would call the best of many unrelated memories a match.

`lift_totals` raises the final totals of some documents by a share: of summaries in an overview, and
of memories from the time that the question names. The shares are bounded: a memory that matches
clearly better keeps its rank. `later_first` adds a last step in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, field, frozen, validators
from numpy.typing import NDArray

from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.criteria import Depth
from infinite_memory.core.values.hits import Explanation
from infinite_memory.core.values.question import Question
from infinite_memory.search.cosine import ABSENT
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import NEVER, SUMMARY_CODES
from infinite_memory.search.segment import Segment
from infinite_memory.search.text.question_terms import MOST_TERMS, find_subject

if TYPE_CHECKING:
    from infinite_memory.core.values.time_range import Reading, TimeRange


Scores = NDArray[np.float32]
Positions = NDArray[np.integer]

_WORDS_EXPONENT = 1.35

_SHARE = validators.and_(validators.ge(0.0), validators.le(10.0))


@frozen(kw_only=True)
class Weights:
    """The weight of every step of the ranking; 0 leaves a step out.

    - `meaning` and `words`: the cosine and the BM25 score.
    - `speaker`: the question names the speaker of the memory.
    - `sentences`: the share of the meaning that is computed with the nearest sentence of the
      question instead of the whole question, if the question has several sentences.
    - `around`: the share of the meaning that comes from the previous turn of the conversation, and
      the same share from the next turn.
    - `before` and `after`: the shares of the words of the previous and the next turn that count as
      words of the memory.
    - `conversation`: the mean of the best three memories of the conversation.
    - `is_question`: the share that a memory which asks what is asked loses, see `find_echoes`.
    - `quoted`: the share of the quoted phrases of the question that the memory contains.
    - `important`: the share that an important memory gains. It is small, so that it only decides
      between nearly equal memories. A statement that was found in a session, and that nobody
      stored, loses as much.
    - `time`: the share that a memory gains if it happened in the time that the question names.
    - `named_scope` and `active_scope`: the shares that a memory gains if the question names its
      scope, and if the caller is at work in its scope.
    - `later`: the share of its total by which a memory may exceed a near one that was told later
      and still come after it.

    No weight depends on the embedding model.
    """

    meaning: float = field(default=1.0, validator=_SHARE)
    words: float = field(default=0.65, validator=_SHARE)
    speaker: float = field(default=0.3, validator=_SHARE)
    sentences: float = field(
        default=0.5, validator=validators.and_(validators.ge(0), validators.le(1))
    )
    around: float = field(default=0.2, validator=_SHARE)
    before: float = field(default=0.5, validator=_SHARE)
    after: float = field(default=0.2, validator=_SHARE)
    conversation: float = field(default=0.2, validator=_SHARE)
    is_question: float = field(default=0.8, validator=_SHARE)
    quoted: float = field(default=0.3, validator=_SHARE)
    important: float = field(default=0.05, validator=_SHARE)
    time: float = field(default=0.3, validator=_SHARE)
    named_scope: float = field(default=0.15, validator=_SHARE)
    active_scope: float = field(default=0.05, validator=_SHARE)
    later: float = field(
        default=0.25, validator=validators.and_(validators.ge(0), validators.le(1))
    )


DEFAULT_WEIGHTS = Weights()
"""The same weights for all texts, fitted on the development sets of `benchmarks.retrieval`."""


@frozen(kw_only=True, eq=False)
class SegmentScores:
    """The scores of the selected documents of a segment: arrays of shape (k,), in their order.

    `total` decides the rank; the other columns explain it. `ideal` is the BM25 score of an ideal
    document. `named` marks the documents whose speaker the question names, None if it names no
    speaker. `spoken` marks the documents in `named` that match the question in a further way.
    """

    segment: Segment
    doc_filter: DocFilter
    cosine: Scores
    bm25: Scores
    named: NDArray[np.bool_] | None
    spoken: NDArray[np.bool_] | None
    total: Scores
    ideal: float
    background: float

    def meaning(self, positions: Positions) -> Scores:
        """Return the meaning of the documents at `positions` of the selection, shape (p,)."""
        return scale_cosines(self.cosine[positions], self.background)

    def words(self, positions: Positions) -> Scores:
        """Return the match in words of the documents at `positions`, shape (p,)."""
        return scale_words(self.bm25[positions] / np.float32(self.ideal or 1.0))

    def speaker(self, positions: Positions) -> Scores:
        """Return 1 at every position whose document is in `spoken`, 0 elsewhere, shape (p,)."""
        if self.spoken is None:
            return np.zeros(len(positions), np.float32)
        return self.spoken[positions].astype(np.float32)


def without_meaning(weights: Weights) -> Weights:
    """Return `weights` for a search that compares no vectors."""
    return evolve(weights, meaning=0.0, words=1.0 if weights.words else 0.0, later=0.0)


def without_words(weights: Weights) -> Weights:
    """Return `weights` for a search that compares no words."""
    return evolve(weights, words=0.0, quoted=0.0)


def score_segment(
    segment: Segment,
    doc_filter: DocFilter,
    *,
    cosine: Scores | None,
    bm25: Scores,
    ideal: float,
    named: NDArray[np.bool_] | None,
    background: float,
    weights: Weights,
) -> SegmentScores:
    """Return the scores of the selected documents.

    `cosine` and `bm25` have shape (k,); `cosine` is None if vectors are not compared. `ideal` is
    the BM25 score of an ideal document. `named` marks the documents whose speaker the question
    names, None if it names no speaker.
    """
    if cosine is None:
        cosine = np.full(len(doc_filter), ABSENT, np.float32)
    spoken = None if named is None else named.copy()
    return SegmentScores(
        segment=segment,
        doc_filter=doc_filter,
        cosine=cosine,
        bm25=bm25,
        named=named,
        spoken=spoken,
        total=_compute_totals(
            cosine,
            scale_words(bm25 / np.float32(ideal or 1.0), weights.words),
            spoken,
            is_question=doc_filter.take(segment.is_question),
            important=doc_filter.take(segment.important),
            background=background,
            weights=weights,
        ),
        ideal=ideal,
        background=background,
    )


def replace_cosines(
    segment_scores: SegmentScores, docs: NDArray[np.int32], cosine: Scores, weights: Weights
) -> None:
    """Replace the cosines of `docs`, shape (k,), and compute their totals again.

    Every document in `docs` must be selected. `weights` must be the weights of `segment_scores`.
    """
    positions = segment_scores.doc_filter.positions_of(docs)
    spoken = None if segment_scores.named is None else segment_scores.named[positions]
    segment_scores.cosine[positions] = cosine
    segment_scores.total[positions] = _compute_totals(
        cosine,
        weights.words * segment_scores.words(positions),
        spoken,
        is_question=segment_scores.segment.is_question[docs],
        important=segment_scores.segment.important[docs],
        background=segment_scores.background,
        weights=weights,
    )
    if segment_scores.spoken is not None and spoken is not None:
        segment_scores.spoken[positions] = spoken


def _compute_totals(
    cosine: Scores,
    words: Scores,
    spoken: NDArray[np.bool_] | None,
    *,
    is_question: NDArray[np.int8],
    important: NDArray[np.int8],
    background: float,
    weights: Weights,
) -> Scores:
    """Return the totals. Clear `spoken` for documents that match the question by nothing else."""
    # In place, because at a million memories each new array costs as much as the arithmetic.
    total = scale_cosines(cosine, background)
    total *= np.float32(weights.meaning)
    total += words
    if spoken is not None:
        spoken &= total > 0
        total += np.float32(weights.speaker) * spoken
    if weights.is_question:
        asking = is_question.nonzero()[0]
        meaning = scale_cosines(cosine[asking], background)
        total[asking] *= 1 - find_echoes(meaning, words[asking], weights)
    if weights.important:
        marked = important.nonzero()[0]
        total[marked] *= np.float32(1) + np.float32(weights.important) * important[marked]
    # Alone, a memory is the best of its conversation: (1 + important) (1 + conversation), where the
    # scores in context have 1 + important + conversation.
    total *= np.float32(1 + weights.conversation)
    return total


def find_echoes(meaning: Scores, words: Scores, weights: Weights) -> Scores:
    """Return the share of each memory that asks, shape (k,), that only repeats the question.

    The more such a memory is like the question, the less it can say in reply: whoever asks again
    looks for the answer. `meaning` and `words` are the matches, `words` times its weight.
    """
    likeness: Scores = np.clip(np.maximum(meaning, words), 0, 1)
    return np.float32(weights.is_question) * likeness


def scale_words(share: Scores, weight: float = 1.0) -> Scores:
    """Return `weight` times the match in words for shares of the ideal score, as a new array.

    The match is the share to the power of 1.35: one word of several, which a text may have by
    chance, counts less than in proportion.
    """
    match = np.zeros_like(share)
    there = share.nonzero()[0]
    match[there] = np.float32(weight) * share[there] ** np.float32(_WORDS_EXPONENT)
    return match


def scale_cosines(cosine: Scores, background: float) -> Scores:
    """Return (cosine - background) / (1 - background), clipped to [0, 1], as a new array."""
    meaning = cosine - np.float32(background)
    meaning /= np.float32(1 - background)
    return np.clip(meaning, 0, 1, out=meaning)


# A summary that fits nearly as well as its sources ranks above them; a clearly better source keeps
# its rank. The share equals the loss of a memory that is a question.
_SUMMARY_GAINS = 0.1
# Totals that differ by less may count as equal.
_CLEARLY = 1.05

Explain = Callable[[SegmentScores, int], Explanation]
"""Explains the document at a position of a scored segment."""

Record = Callable[[Explanation, float, float], Explanation]
"""Writes the gain of a step, and the total with it, into an explanation."""


@frozen(kw_only=True)
class _Lift:
    """The share that a step adds, and the documents of a segment that it lifts.

    `select` returns for the selected documents whether they gain: bool, shape (k,).
    """

    share: float
    select: Callable[[SegmentScores], NDArray[np.bool_]]
    record: Record


def drop_empty_time(
    question: Question, segments: Sequence[Segment], eligible: Sequence[DocFilter]
) -> tuple[Question, Reading | None]:
    """Return `question` without its time, and that time, if no eligible memory happened in it."""
    if question.time is None:
        return question, None
    stretch = question.time.range
    pairs = zip(segments, eligible, strict=True)
    is_met = any(
        _happened_within(doc_filter, segment, stretch).any() for segment, doc_filter in pairs
    )
    return (question, None) if is_met else (evolve(question, time=None), question.time)


def remove_time_words(question: Question) -> str:
    """Return the text without the words of its time, which say nothing about the subject."""
    if question.time is None:
        return question.text
    remaining = cut_time(question.text, question.time)
    return remaining if any(map(str.isalnum, remaining)) else question.text


def cut_time(text: str, time: Reading) -> str:
    """Return `text` without the words of `time`, which may be all of it."""
    start, end = time.span
    return f"{text[:start]} {text[end:]}"


def lift_totals(
    scores: Sequence[SegmentScores],
    question: Question,
    explain: Explain,
    weights: Weights,
    likely: float,
) -> tuple[Sequence[SegmentScores], Explain]:
    """Return `scores` with the totals that `question` raises, and their explanation.

    `explain` explains the totals of `scores`, and `likely` is the least total of a likely answer.
    """
    for lift in _lifts(question, weights):
        before, scores = scores, [_raise(segment_scores, lift) for segment_scores in scores]
        explain = add_step(explain, lift.record, before, scores)
    if question.time is None or not weights.time:
        return scores, explain
    return _put_time_first(scores, question, question.time, explain, likely)


def _put_time_first(
    scores: Sequence[SegmentScores],
    question: Question,
    time: Reading,
    explain: Explain,
    likely: float,
) -> tuple[Sequence[SegmentScores], Explain]:
    """Return `scores` in which all that happened in the time of the question comes first.

    It does so where the question has no subject, and whatever happened then answers: it has at
    least the total `likely`. With a subject of few words it does so as long as no match is likely,
    and none becomes likely by it.
    """
    subject = find_subject(cut_time(question.text, time))
    best = max((float(column.total.max(initial=0)) for column in scores), default=0.0)
    if subject and (best >= likely or len(subject) > MOST_TERMS):
        return scores, explain
    least, share = max(_CLEARLY * best, likely), 1.0
    if subject:
        least, share = (best + likely) / 2, (1 - best / likely) / 2
    after = [evolve(column, total=column.total.copy()) for column in scores]
    for column in after:
        within = _happened_within(column.doc_filter, column.segment, time.range)
        column.total[within] = np.float32(least) + np.float32(share) * column.total[within]
    return after, add_step(explain, _record_time, scores, after)


def _record_time(steps: Explanation, gain: float, total: float) -> Explanation:
    return evolve(steps, time=steps.time + gain, total=total)


def _lifts(question: Question, weights: Weights) -> Iterator[_Lift]:
    if question.depth is Depth.OVERVIEW:
        yield _Lift(
            share=_SUMMARY_GAINS,
            select=_is_summary,
            record=lambda steps, gain, total: evolve(steps, summary=gain, total=total),
        )
    for names, share in (
        (question.criteria.named, weights.named_scope),
        (question.criteria.active, weights.active_scope),
    ):
        if names and share:
            yield _Lift(
                share=share,
                select=partial(_is_in, names),
                record=lambda steps, gain, total: evolve(
                    steps, scope=steps.scope + gain, total=total
                ),
            )
    if question.time is not None and weights.time:
        stretch = question.time.range

        def lies_within(segment_scores: SegmentScores) -> NDArray[np.bool_]:
            return _happened_within(segment_scores.doc_filter, segment_scores.segment, stretch)

        yield _Lift(
            share=weights.time,
            select=lies_within,
            record=_record_time,
        )


def _is_summary(segment_scores: SegmentScores) -> NDArray[np.bool_]:
    kinds = segment_scores.doc_filter.take(segment_scores.segment.kind)
    return np.isin(kinds, SUMMARY_CODES)


def _is_in(scopes: frozenset[str], segment_scores: SegmentScores) -> NDArray[np.bool_]:
    segment = segment_scores.segment
    codes = [code for code in segment.scope_codes.tolist() if segment.names[code] in scopes]
    return np.isin(segment_scores.doc_filter.take(segment.scope), codes)


def _happened_within(
    doc_filter: DocFilter, segment: Segment, stretch: TimeRange
) -> NDArray[np.bool_]:
    """Return whether the selected documents happened in `stretch`, or hold from then on."""
    start = -NEVER if stretch.start is None else to_micros(stretch.start)
    end = NEVER if stretch.end is None else to_micros(stretch.end)
    happened, held_from = doc_filter.take(segment.happened), doc_filter.take(segment.held_from)
    within = (happened >= start) & (happened < end)
    return np.asarray(within | (held_from >= start) & (held_from < end), np.bool_)


def _raise(segment_scores: SegmentScores, lift: _Lift) -> SegmentScores:
    total = segment_scores.total.copy()
    total[lift.select(segment_scores).nonzero()[0]] *= np.float32(1 + lift.share)
    return evolve(segment_scores, total=total)


def add_step(
    explain: Explain,
    record: Record,
    before: Sequence[SegmentScores],
    after: Sequence[SegmentScores],
) -> Explain:
    """Return an explanation of `after` that adds a gain to the steps of `before`.

    `explain` explains `before`, and `record` writes the gain and the new total.
    """
    origin = {id(new): old for old, new in zip(before, after, strict=True)}

    def explain_with_step(segment_scores: SegmentScores, position: int) -> Explanation:
        explanation = explain(origin[id(segment_scores)], position)
        total = float(segment_scores.total[position])
        return record(explanation, total - explanation.total, total)

    return explain_with_step
