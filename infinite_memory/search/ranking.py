"""From a question to a ranking.

1. BM25 and the cosine of the high bytes of its vectors score every eligible memory alone
   (`scoring`). `rescore_best` compares the whole vectors of the best 1,000 memories.
2. The best 300 memories and their adjacent turns are scored in context (`conversation`).
3. What happened in the time that the question names gains a share of its total, or comes first,
   and in an overview a summary gains a share (`lift_totals` in `scoring`). A memory to which links
   lead from a match has a part of its total (`linked`), one that was marked as not useful for such
   a question keeps a part of its own (`lowering`), and one has at least that of what it superseded.
4. Memories with the same canonical text form a group, shown as its newest member (`collapsing`).
   Of memories near each other the later told comes first (`later_first`).
5. The total becomes a score in [0, 1] (`calibration`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.observe.recorder import measure_arm
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Depth
from infinite_memory.core.values.hits import LIKELY, Explanation, Reached
from infinite_memory.core.values.question import Arm, Candidate, Question, Ranking
from infinite_memory.search.bm25 import QueryTerms, bm25
from infinite_memory.search.calibration import Calibration, calibrate
from infinite_memory.search.collapsing import (
    Group,
    ScoredDoc,
    find_eligible_doc,
    find_scored_doc,
    narrow_groups,
    rank_of,
    select_best,
    select_best_docs,
    select_best_groups,
)
from infinite_memory.search.conversation.explanation import make_explain
from infinite_memory.search.conversation.scoring import ConversationScores, score_in_conversations
from infinite_memory.search.conversation.turns import ConversationTurns, find_conversation_turns
from infinite_memory.search.cosine import (
    QueryVector,
    approximate_cosines,
    cosines,
)
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.former import cover_superseded, find_inherited_totals, raise_successors
from infinite_memory.search.later_first import (
    COMPARED,
    MOST_HITS,
    Neighbors,
    Retold,
    find_neighbors,
    find_retold,
    put_later_first,
    puts_later_first,
)
from infinite_memory.search.names import (
    find_common_names,
    find_named_speakers,
    mask_speakers,
    remove_names,
)
from infinite_memory.search.phrases import Texts, find_quotes, score_quotes
from infinite_memory.search.reader import Reader
from infinite_memory.search.scoring import (
    DEFAULT_WEIGHTS,
    Explain,
    SegmentScores,
    Weights,
    add_step,
    drop_empty_time,
    lift_totals,
    remove_time_words,
    replace_cosines,
    score_segment,
    without_meaning,
    without_words,
)
from infinite_memory.search.segment import Segment
from infinite_memory.search.sentences import score_sentences, split_sentences
from infinite_memory.search.text.analyzer import spelled_names
from infinite_memory.search.text.question_terms import split_terms

# The number of memories that are scored in their conversations. It does not depend on the limit, so
# that a longer result begins with the shorter one.
_CANDIDATES = 300
# The number of memories whose cosines are computed again, by whole vectors.
_RESCORED = 1_000
# The least total of a match: a memory that has nothing in common with the question has 0.
_ANY_MATCH = float(np.finfo(np.float32).tiny)

# Measured apart from the comparison: it costs most, unless the question is in the cache.
_EMBEDDING = "embedding"

Embed = Callable[[str], NDArray[np.float32]]
Scores = NDArray[np.float32]


# A linked memory has at least half of the score of the match, times the weight of the links: what
# belongs to a memory that probably answers is worth a look before all that probably does not. The
# share is a choice, not fitted: no labelled set has links.
_SHARE = 0.5


def lower_totals(
    scores: Sequence[SegmentScores], explain: Explain, lowered: Mapping[str, float]
) -> tuple[Sequence[SegmentScores], Explain]:
    """Return `scores` with the totals of the memories in `lowered` multiplied by their shares.

    `lowered` maps the ids of memories to shares in (0, 1); `explain` explains the totals of
    `scores`, and the second value explains the new ones. A memory that does not match, or does not
    meet the criteria, is passed over.
    """
    found = {
        memory_id: scored_doc
        for memory_id in lowered
        if (scored_doc := find_scored_doc(scores, memory_id)) is not None
    }
    if not found:
        return scores, explain
    totals = {id(segment_scores): segment_scores.total.copy() for segment_scores in scores}
    for memory_id, (segment_scores, position) in found.items():
        totals[id(segment_scores)][position] *= np.float32(lowered[memory_id])
    after = [evolve(segment_scores, total=totals[id(segment_scores)]) for segment_scores in scores]
    return after, add_step(
        explain,
        lambda steps, gain, total: evolve(steps, not_useful=gain, total=total),
        scores,
        after,
    )


def raise_linked(
    scores: Sequence[SegmentScores],
    explain: Explain,
    reached: Mapping[str, Reached],
    curve: Calibration,
) -> tuple[Sequence[SegmentScores], Explain, frozenset[str]]:
    """Return `scores` with the totals of linked memories raised, their explanation, and the ids.

    `explain` explains `scores`, `curve` turns totals into scores, and the ids are those of the
    memories whose totals were raised. A memory that the search leaves out is not raised.
    """
    after, raised = list(scores), set()
    for memory_id, way in reached.items():
        linked, match = find_eligible_doc(scores, memory_id), find_scored_doc(scores, way.match)
        if linked is None or match is None:
            continue
        segment_scores, position = linked
        score = curve.score(float(match[0].total[match[1]]))
        least = curve.total(_SHARE * way.weight * score)
        if segment_scores.total[position] >= least:
            continue
        index = next(n for n, column in enumerate(scores) if column is segment_scores)
        if after[index] is segment_scores:
            after[index] = evolve(segment_scores, total=segment_scores.total.copy())
        after[index].total[position] = least
        raised.add(memory_id)
    if not raised:
        return scores, explain, frozenset()
    return after, add_step(explain, _record, scores, after), frozenset(raised)


def mark_reached(
    ranking: Ranking, reached: Mapping[str, Reached], raised: frozenset[str]
) -> Ranking:
    """Return `ranking` with the ways to the candidates whose ids are in `raised`."""
    if not raised:
        return ranking
    return evolve(
        ranking,
        candidates=tuple(
            evolve(candidate, reached=reached[candidate.id])
            if candidate.id in raised
            else candidate
            for candidate in ranking.candidates
        ),
    )


def _record(steps: Explanation, gain: float, total: float) -> Explanation:
    return evolve(steps, linked=gain, total=total)


def rank(
    reader: Reader,
    question: Question,
    embed: Embed | None,
    *,
    background: float,
    second_length: float | None = None,
    texts: Texts | None = None,
    storage: Storage | None = None,
    weights: Weights = DEFAULT_WEIGHTS,
) -> Ranking:
    """Return the best candidates of `reader` for `question`.

    `embed` turns the question, and every sentence of it, into a unit vector, shape (dimensions,);
    without it no vectors are compared. `texts` returns the texts of memories, to search them for
    the quoted phrases of the question; without it quotation marks have no effect. Without `storage`
    no memory inherits the match of what it superseded.
    """
    segments = [part.segment for part in reader.segment_readers]
    eligible = [part.eligible(question.criteria) for part in reader.segment_readers]
    question, empty_time = drop_empty_time(question, segments, eligible)
    if not any(map(len, eligible)):
        note = _embed_question(question.text, question, embed, sentences=False)[1]
        return Ranking(note=note, empty_time=empty_time)
    names = find_named_speakers(question.text, segments, eligible)
    common_names = find_common_names(question.text, segments, eligible, texts)
    text = remove_names(remove_time_words(question), names | common_names)
    vectors, note = _embed_question(text, question, embed, sentences=weights.sentences > 0)
    queries = tuple(QueryVector.of(vector, second_length) for vector in vectors)
    query = queries[0] if queries else None
    weights = _adjust_weights(question, query, weights)
    words = question.text if weights.words else ""
    score = partial(
        _score_segments, segments, query=query, words=words, names=names, background=background
    )
    scores, telling, query_terms = score(eligible, weights=weights)
    context = _score_candidates(scores, query_terms, weights, queries, question.text, texts)
    compared = [(column.segment, column.doc_filter, column.cosine) for column in scores]
    curve = calibrate(compared, sum(map(len, eligible)), background, weights, len(telling))
    reasons = make_explain(scores, context, weights, query, is_outline=question.outline)
    lifted, reasons = lift_totals(scores, question, reasons, weights, curve.total(LIKELY))
    if storage is not None and (past := cover_superseded(question.criteria)) is not None:
        replaced = [part.eligible(past) for part in reader.segment_readers]
        if any(map(len, replaced)):
            inherited = find_inherited_totals(storage, score(replaced, weights=weights)[0])
            lifted, reasons = raise_successors(lifted, reasons, inherited)
    linked, reasons, raised = raise_linked(lifted, reasons, question.reached, curve)
    lowered = lower_totals(linked, reasons, question.lowered)
    ranking = _make_ranking(*lowered, question, curve, note, context, weights.later)
    return evolve(mark_reached(ranking, question.reached, raised), empty_time=empty_time)


def _score_segments(
    segments: Sequence[Segment],
    eligible: Sequence[DocFilter],
    *,
    query: QueryVector | None,
    words: str,
    names: frozenset[str],
    background: float,
    weights: Weights,
) -> tuple[list[SegmentScores], Sequence[str], QueryTerms]:
    """Return the scores of the eligible documents alone, the telling words, and the terms."""
    cosines_of_segments = _compare_by_meaning(query, segments, eligible)
    telling, bm25_scores, query_terms = _compare_by_words(words, segments, eligible)
    scores = [
        score_segment(
            segment,
            doc_filter,
            cosine=cosine,
            bm25=bm25_of_segment,
            ideal=query_terms.ideal,
            named=mask_speakers(names, segment, doc_filter) if names else None,
            background=background,
            weights=weights,
        )
        for segment, doc_filter, cosine, bm25_of_segment in zip(
            segments, eligible, cosines_of_segments, bm25_scores, strict=True
        )
    ]
    return scores, telling, query_terms


def _compare_by_meaning(
    query: QueryVector | None, segments: Sequence[Segment], eligible: Sequence[DocFilter]
) -> Sequence[Scores | None]:
    """Return the cosines of the eligible documents by segment, None without a `query`."""
    if query is None:
        return [None] * len(segments)
    with measure_arm(Arm.MEANING):
        return [
            approximate_cosines(query, segment, doc_filter)
            for segment, doc_filter in zip(segments, eligible, strict=True)
        ]


def _compare_by_words(
    words: str, segments: Sequence[Segment], eligible: Sequence[DocFilter]
) -> tuple[Sequence[str], Sequence[Scores], QueryTerms]:
    """Return the telling words, the BM25 scores of the eligible documents, and the terms."""
    with measure_arm(Arm.WORDS) if words else nullcontext():
        telling, minor = split_terms(words)
        spelled = spelled_names(words)
        return telling, *bm25(telling, segments, eligible, spelled=spelled, minor=minor)


def _make_ranking(
    scores: Sequence[SegmentScores],
    reasons: Explain,
    question: Question,
    curve: Calibration,
    note: str | None,
    context: ConversationScores | None,
    later: float,
) -> Ranking:
    """Return the ranking of `scores`, with the counts of the memories beyond it."""
    turns = None if context is None else context.turns
    neighbors = None
    end = question.offset + question.limit
    # The group after the last shown tells whether a next page exists.
    first = select_best_groups(scores, max(COMPARED, question.spared, end + 1), _ANY_MATCH)
    before = scores
    if turns is not None and question.depth is not Depth.EXHAUSTIVE:
        compared = first[:COMPARED]
        neighbors = find_neighbors(scores, compared, question, turns)
        if later and puts_later_first(question):
            scores, reasons = put_later_first(
                scores, reasons, compared, neighbors, share=later, earlier=question.earlier
            )
    least = _find_least(first, question, curve)
    groups = _select_groups(scores, question, least, first if scores is before else None)
    page = groups[question.offset : end]
    above = sum(int(np.count_nonzero(segment_scores.total >= least)) for segment_scores in scores)
    matched = sum(int(np.count_nonzero(segment_scores.total > 0)) for segment_scores in scores)
    scored_doc = None if question.about is None else find_scored_doc(scores, question.about)
    return Ranking(
        candidates=tuple(
            _make_candidate(group, curve, reasons if question.explain else None, retold)
            for group, retold in zip(
                page,
                _find_retold(scores, groups, question, turns, neighbors),
                strict=True,
            )
        ),
        place=None if scored_doc is None else _locate_candidate(scores, scored_doc, curve, reasons),
        eligible=sum(len(segment_scores.doc_filter) for segment_scores in scores),
        matches=above,
        more=above - sum(1 + len(group.twins) for group in groups[:end]),
        further=len(groups) > end,
        best=curve.score(groups[0].total) if groups else 0.0,
        below=matched - above,
        pending=_count_pending(scores),
        note=note,
        time=question.time,
    )


def _count_pending(scores: Sequence[SegmentScores]) -> int:
    """Return how many of the searched memories have no vector."""
    return sum(
        int(np.count_nonzero(column.doc_filter.contains(column.segment.unembedded_docs)))
        for column in scores
    )


def _find_least(first: Sequence[Group], question: Question, curve: Calibration) -> float:
    """Return the least total that passes the threshold, or is among the first `spared`.

    `first` are the best groups, at least as many as are spared. A memory that moves up among them
    does not pass the last of these: its total was among theirs.
    """
    least = max(curve.total(question.threshold), _ANY_MATCH)
    spared = first[: question.spared]
    return min(least, spared[-1].total) if spared else least


def _find_retold(
    scores: Sequence[SegmentScores],
    groups: Sequence[Group],
    question: Question,
    turns: ConversationTurns | None,
    neighbors: Neighbors | None,
) -> Sequence[Retold]:
    """Return the memories told later and earlier than the groups on the page of `question`.

    `neighbors` compares the best of all groups; another page is compared here.
    """
    page = groups[question.offset : question.offset + question.limit]
    if turns is None or neighbors is None or len(page) < 2:
        return [Retold()] * len(page)
    compared = page[:MOST_HITS]
    if not {_memory_id(group.lead) for group in compared} <= set(neighbors.ids):
        neighbors = find_neighbors(scores, compared, question, turns)
    retold = find_retold(neighbors, compared, groups[0].total)
    return retold + [Retold()] * (len(page) - len(compared))


def _make_candidate(
    group: Group, curve: Calibration, reasons: Explain | None, retold: Retold
) -> Candidate:
    return Candidate(
        id=_memory_id(group.lead),
        score=curve.score(group.total),
        explanation=None if reasons is None else reasons(*group.lead),
        twins=tuple(map(_memory_id, group.twins)),
        later=retold.later,
        earlier=retold.earlier,
    )


def _locate_candidate(
    scores: Sequence[SegmentScores], scored_doc: ScoredDoc, curve: Calibration, reasons: Explain
) -> tuple[int, Candidate]:
    total = float(scored_doc[0].total[scored_doc[1]])
    alone = Group(lead=scored_doc, twins=(), total=total)
    return rank_of(scores, scored_doc), _make_candidate(alone, curve, reasons, Retold())


def _memory_id(scored_doc: ScoredDoc) -> str:
    segment_scores, position = scored_doc
    return segment_scores.segment.id_of(segment_scores.doc_filter.doc_at(position))


def _adjust_weights(question: Question, query: QueryVector | None, weights: Weights) -> Weights:
    if Arm.WORDS not in question.arms:
        weights = without_words(weights)
    return without_meaning(weights) if query is None else weights


def _score_candidates(
    scores: Sequence[SegmentScores],
    query_terms: QueryTerms,
    weights: Weights,
    queries: Sequence[QueryVector],
    text: str,
    texts: Texts | None,
) -> ConversationScores | None:
    """Write the totals of the best candidates in their conversations into `scores`.

    `text` is the question; `queries` are the vectors of it and of its sentences, empty if no
    vectors are compared.
    """
    if queries:
        rescore_best(scores, queries[0], weights)
    columns, positions = select_best(scores, _CANDIDATES, 0.0)
    if not len(columns):
        return None
    docs = np.empty(len(columns), np.intp)
    for number, segment_scores in enumerate(scores):
        here = columns == number
        docs[here] = segment_scores.doc_filter.docs_at(positions[here])
    turns = find_conversation_turns(
        [segment_scores.segment for segment_scores in scores],
        [segment_scores.doc_filter for segment_scores in scores],
        columns,
        docs,
    )
    quoted = np.zeros(len(turns), np.float32)
    quotes = find_quotes(text) if weights.quoted else ()
    if quotes and texts is not None:
        quoted = score_quotes(quotes, scores, turns, texts)
    gained = score_sentences(scores, turns, queries[1:], weights.sentences)
    context = score_in_conversations(
        scores, turns, query_terms, weights, sentences=gained, quoted=quoted
    )
    for number, segment_scores in enumerate(scores):
        rows = turns.wanted[turns.segment_index[turns.wanted] == number]
        segment_scores.total[
            segment_scores.doc_filter.positions_of(turns.doc[rows].astype(np.int32))
        ] = context.total[rows]
    return context


def rescore_best(
    scores: Sequence[SegmentScores],
    query: QueryVector,
    weights: Weights,
    *,
    number: int = _RESCORED,
) -> None:
    """Write the cosines by both planes, and the new totals, of the best documents into `scores`.

    `query` and `weights` must be the query and the weights of `scores`.
    """
    columns, positions = select_best(scores, number, 0.0)
    for column, segment_scores in enumerate(scores):
        docs = segment_scores.doc_filter.docs_at(positions[columns == column])
        replace_cosines(segment_scores, docs, cosines(query, segment_scores.segment, docs), weights)


def _embed_question(
    text: str, question: Question, embed: Embed | None, *, sentences: bool
) -> tuple[tuple[NDArray[np.float32], ...], str | None]:
    """Return the vectors of `text`, and of its `sentences`, none with the reason as a note."""
    if Arm.MEANING not in question.arms:
        return (), None
    if embed is None:
        return (), "compared by words alone: the embedding model does not know this language"
    parts = (text, *(split_sentences(text) if sentences else ()))
    try:
        with measure_arm(_EMBEDDING):
            vectors = [embed(part) for part in parts]
    except EmbedderError as error:
        return (), f"compared by words alone: {error}"
    if not all(np.isfinite(vector).all() for vector in vectors):
        return (), "compared by words alone: the embedding model made a vector that is not finite"
    return tuple(vectors), None


def _select_groups(
    scores: Sequence[SegmentScores],
    question: Question,
    least: float,
    first: Sequence[Group] | None,
) -> list[Group]:
    """Return the best groups with a total of at least `least`, up to the first beyond the page.

    `first` are the best groups of `scores`, None if these have changed since. An exhaustive search
    shows every memory alone, since twins share only their text.
    """
    number = question.offset + question.limit + 1
    if question.depth is not Depth.EXHAUSTIVE:
        if first is not None:
            return narrow_groups(first[:number], least)
        return select_best_groups(scores, number, least)
    return [
        Group(
            lead=(segment_scores, position), twins=(), total=float(segment_scores.total[position])
        )
        for segment_scores, position in select_best_docs(scores, number, least)
    ]
