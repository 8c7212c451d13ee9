"""From a question to a ranking.

1. Two arms score every eligible memory by itself: BM25 of its words, and the cosine of its vectors
   by their high bytes (`scoring`). The best 1,000 are compared by whole vectors (`rescoring`).
2. The best 300 and their neighbours are scored in their conversations (`conversation_scoring`).
3. Of memories that say the same, the newest stands for all (`collapsing`).
4. A summary gains a little where an overview is asked for.
5. The total becomes a score (`calibration`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from infinite_memory.errors import EmbedderError
from infinite_memory.model.hits import Explanation
from infinite_memory.model.memory import Kind
from infinite_memory.model.question import Arm, Candidate, Question, Ranking
from infinite_memory.model.search_options import Depth
from infinite_memory.search.bm25 import QueryTerms, bm25
from infinite_memory.search.calibration import Calibration, choose_calibration
from infinite_memory.search.collapsing import (
    Group,
    Place,
    best,
    place_of,
    rank_of,
    select_best_groups,
)
from infinite_memory.search.conversation_scoring import ConversationScores, score_in_conversations
from infinite_memory.search.cosine import QueryVector, approximate_cosines
from infinite_memory.search.document import KINDS
from infinite_memory.search.explain import explain
from infinite_memory.search.neighbours import find_neighbours
from infinite_memory.search.phrases import Texts, find_quotes, score_quotes
from infinite_memory.search.reader import Reader
from infinite_memory.search.rescoring import rescore_best
from infinite_memory.search.scoring import SegmentScores, scored, without_meaning, without_words
from infinite_memory.search.sentences import score_sentences, split_sentences
from infinite_memory.search.speakers import find_named_speakers, mask_speakers, remove_names
from infinite_memory.search.weights import DEFAULT_WEIGHTS, Weights
from infinite_memory.text.analyzer import spelled_names, terms

__all__ = ["Embed", "rank"]

# The number of memories that are scored in their conversations. It does not depend on the limit, so
# that a longer result begins with the shorter one.
_CANDIDATES = 300
# The least total of a match: a memory that has nothing in common with the question has 0.
_ANY_MATCH = float(np.finfo(np.float32).tiny)

# A summary that fits nearly as well as its parts takes a place among the first; what fits clearly
# better keeps its own. As much as a memory loses that is a question itself.
_SUMMARY_GAINS = np.float32(0.1)
_SUMMARY = KINDS.index(Kind.SUMMARY)

Embed = Callable[[str], NDArray[np.float32]]
_Explain = Callable[[SegmentScores, int], Explanation]
"""Explains the document at a place of one of the scored segments."""
Scores = NDArray[np.float32]


def rank(
    view: Reader,
    question: Question,
    embed: Embed | None,
    *,
    background: float,
    texts: Texts | None = None,
    weights: Weights = DEFAULT_WEIGHTS,
) -> Ranking:
    """Return the best candidates of `view` for `question`.

    `embed` turns the question, and each of its sentences, into a unit vector, shape (dimensions,);
    None leaves meaning out. `texts` returns the texts of memories, which are compared with the
    quoted parts of the question; None leaves quotes out.
    """
    segments = [part.segment for part in view.parts]
    eligible = [part.eligible(question.criteria) for part in view.parts]
    names = find_named_speakers(question.text, segments, eligible)
    text = remove_names(question.text, names)
    asked_in_parts = (text, *(split_sentences(text) if weights.parts else ()))
    queries, note = _embed_question(asked_in_parts, question, embed)
    query = queries[0] if queries else None
    weights = _weights_of(question, query, weights)
    found, asked = bm25(
        terms(question.text) if weights.words else [],
        segments,
        eligible,
        spelled=spelled_names(question.text) if weights.words else [],
    )
    scores = [
        scored(
            segment,
            selection,
            cosine=None if query is None else approximate_cosines(query, segment, selection),
            bm25=by_words,
            ideal=asked.ideal,
            named=mask_speakers(names, segment, selection) if names else None,
            background=background,
            weights=weights,
        )
        for segment, selection, by_words in zip(segments, eligible, found, strict=True)
    ]
    quotes = find_quotes(question.text) if weights.quoted and texts is not None else ()
    context = _score_candidates(scores, asked, weights, queries, quotes, texts)
    return _ranking(scores, question, context=context, weights=weights, query=query, note=note)


def _ranking(
    scores: Sequence[SegmentScores],
    question: Question,
    *,
    context: ConversationScores | None,
    weights: Weights,
    query: QueryVector | None,
    note: str | None,
) -> Ranking:
    """Return the best of `scores`, and how many others there are."""
    curve = choose_calibration(weights)
    least = max(curve.total(question.threshold), _ANY_MATCH)
    reasons: _Explain = partial(explain, scores, context=context, weights=weights, query=query)
    before, scores = scores, _raise_summaries(scores, question.depth)
    reasons = _add_summary_step(reasons, before, scores)
    groups = _select_groups(scores, question, least)
    end = question.offset + question.limit
    above = sum(int(np.count_nonzero(s.total >= least)) for s in scores)
    matched = sum(int(np.count_nonzero(s.total > 0)) for s in scores)
    wanted = None if question.about is None else place_of(scores, question.about)
    return Ranking(
        candidates=tuple(
            _candidate(group, curve, reasons if question.explain else None)
            for group in groups[question.offset : end]
        ),
        place=None if wanted is None else _locate_candidate(scores, wanted, curve, reasons),
        eligible=sum(len(s.selection) for s in scores),
        matches=above,
        more=above - sum(1 + len(group.twins) for group in groups[:end]),
        further=len(groups) > end,
        best=curve.score(groups[0].total) if groups else 0.0,
        below=matched - above,
        pending=sum(int(np.count_nonzero(s.selection.among(s.segment.unembedded))) for s in scores),
        note=note,
    )


def _candidate(group: Group, curve: Calibration, reasons: _Explain | None) -> Candidate:
    return Candidate(
        id=_id(group.lead),
        score=curve.score(group.total),
        explanation=None if reasons is None else reasons(*group.lead),
        twins=tuple(map(_id, group.twins)),
    )


def _locate_candidate(
    scores: Sequence[SegmentScores], one: Place, curve: Calibration, reasons: _Explain
) -> tuple[int, Candidate]:
    total = float(one[0].total[one[1]])
    alone = Group(lead=one, twins=(), total=total)
    return rank_of(scores, one), _candidate(alone, curve, reasons)


def _id(one: Place) -> str:
    s, place = one
    return s.segment.id_of(s.selection.doc(place))


def _weights_of(question: Question, query: QueryVector | None, weights: Weights) -> Weights:
    if Arm.WORDS not in question.arms:
        weights = without_words(weights)
    return without_meaning(weights) if query is None else weights


def _score_candidates(
    scores: Sequence[SegmentScores],
    asked: QueryTerms,
    weights: Weights,
    queries: Sequence[QueryVector],
    quotes: Sequence[str],
    texts: Texts | None,
) -> ConversationScores | None:
    """Put the totals of the best candidates in their conversations into `scores`.

    `queries` are the vectors of the question and of its parts, none where none are compared.
    """
    if queries:
        rescore_best(scores, queries[0], weights)
    first = best(scores, _CANDIDATES, 0.0)
    if not first:
        return None
    number = {id(s): part for part, s in enumerate(scores)}
    near = find_neighbours(
        [s.segment for s in scores],
        [s.selection for s in scores],
        np.array([number[id(s)] for s, _ in first], np.intp),
        np.array([s.selection.doc(place) for s, place in first], np.intp),
    )
    quoted = np.zeros(len(near), np.float32)
    if quotes and texts is not None:
        quoted = score_quotes(quotes, scores, near, texts)
    gained = score_sentences(scores, near, queries[1:], weights.parts)
    context = score_in_conversations(scores, near, asked, weights, parts=gained, quoted=quoted)
    for part, s in enumerate(scores):
        rows = near.wanted[near.part[near.wanted] == part]
        s.total[s.selection.places(near.doc[rows].astype(np.int32))] = context.total[rows]
    return context


def _embed_question(
    texts: Sequence[str], question: Question, embed: Embed | None
) -> tuple[tuple[QueryVector, ...], str | None]:
    if Arm.MEANING not in question.arms:
        return (), None
    if embed is None:
        return (), "compared by words alone: the embedding model does not know this language"
    try:
        vectors = [embed(text) for text in texts]
    except EmbedderError as error:
        return (), f"compared by words alone: {error}"
    if not all(np.isfinite(vector).all() for vector in vectors):
        return (), "compared by words alone: the embedding model made a vector that is not finite"
    return tuple(map(QueryVector.of, vectors)), None


def _raise_summaries(scores: Sequence[SegmentScores], depth: Depth) -> Sequence[SegmentScores]:
    """Return `scores` with what each summary gains where an overview is asked for."""
    if depth is not Depth.OVERVIEW:
        return scores
    return [_raise_in_segment(one) for one in scores]


def _add_summary_step(
    reasons: _Explain, before: Sequence[SegmentScores], after: Sequence[SegmentScores]
) -> _Explain:
    """Return `reasons`, made for `before`, as explanations of `after` with its raised summaries."""
    if before is after:
        return reasons
    origin = {id(new): old for old, new in zip(before, after, strict=True)}

    def explain_with_summary(one: SegmentScores, place: int) -> Explanation:
        explanation = reasons(origin[id(one)], place)
        total = float(one.total[place])
        return evolve(explanation, summary=total - explanation.total, total=total)

    return explain_with_summary


def _select_groups(
    scores: Sequence[SegmentScores], question: Question, least: float
) -> list[Group]:
    """Return the best groups from the total `least` on: passed over, shown, and one more.

    An exhaustive search shows each memory by itself: twins may differ in all but their text.
    """
    # One more than is shown, which tells whether there are others to go on to.
    number = question.offset + question.limit + 1
    if question.depth is not Depth.EXHAUSTIVE:
        return select_best_groups(scores, number, least)
    return [
        Group(lead=(one, place), twins=(), total=float(one.total[place]))
        for one, place in best(scores, number, least)
    ]


def _raise_in_segment(one: SegmentScores) -> SegmentScores:
    summaries = np.flatnonzero(one.selection.take(one.segment.kind) == _SUMMARY)
    total = one.total.copy()
    total[summaries] *= 1 + _SUMMARY_GAINS
    return evolve(one, total=total)
