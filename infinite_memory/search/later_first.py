"""Of two memories with nearly the same meaning, the memory that was told later comes first.

The closeness of two memories is the cosine of their nearest passages minus their background, on the
scale of `meaning`. The background of a memory is the mean cosine of its 50 nearest among the best
candidates of the question, so that no language, subject or model needs a threshold of its own; of
two memories the greater background counts. Two memories are near if their closeness is enough and
each is among the nearest of the other.

`put_later_first` compares the first ten memories: one that was told later than a near one, and has
at least three quarters of its total, gets the same total, and equal totals are ordered by time. A
memory that matches clearly better keeps its rank. So does one that somebody stored before a
statement that was found in a session, and one that says the question itself, or has
a name or a number of the question which the later memory lacks: "Invoice 4411" is not "Invoice
4412". A solution passes the earlier problem that it belongs to by the same step, with half of its
total: whoever asks about a problem wants to know what helped. `find_retold` names the near memories
of a page.

A question that asks for what held before a change (`Question.earlier`) turns the order round, and
what was superseded takes part.

Neither concerns memories that were stored together, which were told at one time; messages, which
are all near the messages around them; summaries, which repeat their sources; what is not current;
and pairs in different scopes, since a memory never supersedes one in another scope.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.hits import Explanation
from infinite_memory.core.values.memory import Kind, Status
from infinite_memory.core.values.question import Question
from infinite_memory.search.collapsing import Group, ScoredDoc
from infinite_memory.search.conversation.turns import ConversationTurns
from infinite_memory.search.cosine import ABSENT, means_of_greatest, pairwise_cosines
from infinite_memory.search.document import KINDS, STATUSES, SUMMARY_CODES, hash_term
from infinite_memory.search.phrases import find_quotes
from infinite_memory.search.scoring import Explain, SegmentScores, add_step
from infinite_memory.search.segment import sort_distinct
from infinite_memory.search.text.analyzer import terms

COMPARED = 10
"""The number of memories whose order can change, the best of all."""

MOST_HITS = 50
"""The number of memories of a page that are compared, the first of the page."""

# Fitted on `notes`; `docs/measurements/retrieval.md` has the figures around these values.
_NEAR = 0.125
# Of a pair whose order changes, each memory is among so many that are nearest to the other.
_MOST_MOVED = 5
# The same for a pair that is named. One of the two has this share of the best total: what is named
# beside a weak match helps nobody.
_MOST_NAMED = 2
_STRONG_SHARE = 0.7
_NEAREST = 50
# Texts with a greater cosine say the same and are no neighbors.
_SAME = 0.999
# Memories that were stored by one call without a time of their own are a microsecond apart each, to
# keep their order: nobody told the second after the first.
_TOGETHER_MICROS = 10_000
# A memory with a greater cosine says the question itself: whoever asks in its words means it.
_SAYS_QUESTION = 0.9
# Totals that differ by less may count as equal.
_CLEARLY = 1.05
_MOST_PASSAGES = 4
# A word with a digit, or with a capital that is not the first of the question or of a sentence.
# A number is looked for from the beginning of each word only: from every character of a long word
# the search would take the square of its length.
_NAMED = re.compile(
    r"(?<!\w)\w*\d[\w.]*|(?<=\w\s)(?:[A-ZÀ-ÖØ-Þ]\w+|[A-HJ-Z]\b)|(?<=[,;:]\s)[A-ZÀ-ÖØ-Þ]\w+"
)
_SOLUTION_SHARE = 0.5
_PROBLEM, _SOLUTION = KINDS.index(Kind.PROBLEM), KINDS.index(Kind.SOLUTION)
_LEFT_OUT = (KINDS.index(Kind.MESSAGE), *SUMMARY_CODES)
_CURRENT, _SUPERSEDED = STATUSES.index(Status.CURRENT), STATUSES.index(Status.SUPERSEDED)


@frozen(kw_only=True)
class Retold:
    """The ids of near memories on the same page that were told later or earlier, nearest first."""

    later: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()


@frozen(kw_only=True, eq=False)
class Neighbors:
    """How near memories are to their neighbours: columns of shape (n, n), and their `ids`.

    `nearer`[i, j] counts the candidates that are nearer to the memory i than the memory j is.
    `is_later`[i, j] says whether j may replace i: it was told later, in the same scope.
    `is_meant`[i, j] says whether i has a name or a number of the question that j lacks.
    `is_solved`[i, j] says whether i is a problem and j a solution.
    """

    ids: tuple[str, ...]
    closeness: NDArray[np.float32]
    nearer: NDArray[np.int64]
    is_later: NDArray[np.bool_]
    is_meant: NDArray[np.bool_]
    is_solved: NDArray[np.bool_]

    def among_nearest(self, number: int) -> NDArray[np.bool_]:
        """Return whether two memories are near, mutually among the `number` nearest."""
        is_among = self.nearer < number
        return (self.closeness >= _NEAR) & is_among & is_among.T

    def find_solutions(self) -> NDArray[np.bool_]:
        """Return whether j is the solution nearest to the problem i, and related to it: (n, n)."""
        able = self.is_solved & self.is_later & ~self.is_meant & (self.closeness >= 0)
        closeness = np.where(able, self.closeness, ABSENT)
        nearest = closeness.max(axis=1, initial=ABSENT, keepdims=True)
        return np.asarray(able & (closeness == nearest), np.bool_)


def find_neighbors(
    scores: Sequence[SegmentScores],
    groups: Sequence[Group],
    question: Question,
    turns: ConversationTurns,
) -> Neighbors:
    """Compare the leads of `groups` pair by pair, and with the candidates in `turns`."""
    number = len(groups)
    closeness = np.full((number, number), ABSENT, np.float32)
    nearer = np.zeros((number, number), np.int64)
    is_later = np.zeros((number, number), np.bool_)
    index_of = {id(column): index for index, column in enumerate(scores)}
    leads = [
        (index_of[id(column)], column.doc_filter.doc_at(position))
        for column, position in (group.lead for group in groups)
    ]
    kinds = np.array([scores[index].segment.kind[doc] for index, doc in leads], np.int8)
    able = [n for n, (index, doc) in enumerate(leads) if _may_change(scores[index], doc, question)]
    square = np.ix_(able, able)
    has_term = _find_named_terms(scores, leads, question)
    if len(able) > 1:
        is_later[square] = _compare_times(scores, [leads[n] for n in able])
    if is_later.any():
        compared = _compare_meanings(scores, [leads[n] for n in able], turns)
        closeness[square], nearer[square] = compared
    return Neighbors(
        ids=tuple(scores[index].segment.id_of(doc) for index, doc in leads),
        closeness=closeness,
        nearer=nearer,
        is_later=is_later,
        is_meant=np.asarray((has_term[:, np.newaxis] & ~has_term).any(axis=2), np.bool_),
        is_solved=(kinds == _PROBLEM)[:, np.newaxis] & (kinds == _SOLUTION),
    )


def puts_later_first(question: Question) -> bool:
    """Return whether the later memory comes first in the answer to `question`.

    A question that names a time asks for what was told then, and one that quotes asks for what has
    these words. Where a name is no index term ("server A"), nothing tells which memory is meant.
    """
    names = _NAMED.findall(question.text)
    return question.time is None and not find_quotes(question.text) and all(map(terms, names))


def put_later_first(
    scores: Sequence[SegmentScores],
    explain: Explain,
    groups: Sequence[Group],
    neighbors: Neighbors,
    *,
    share: float,
    earlier: bool = False,
) -> tuple[Sequence[SegmentScores], Explain]:
    """Return `scores` with the totals of later memories raised, and their explanation.

    `groups` are the best groups of `scores`, which `explain` explains, and `neighbors` compares
    them. A memory gains at most `share` of the total of the earlier memory, a solution half of it.
    If the question asks for what held `earlier`, the earlier memory gains instead of the later.
    """
    totals = np.array([group.total for group in groups])
    passed = totals[:, np.newaxis]
    passes = neighbors.among_nearest(_MOST_MOVED) & (totals >= (1 - share) * passed)
    passes &= ~neighbors.is_meant
    says_question = np.array([_cosine_of(group.lead) >= _SAYS_QUESTION for group in groups])
    passes[says_question] = False
    if earlier:
        passes &= neighbors.is_later.T & (totals <= passed)
    else:
        passes |= neighbors.find_solutions() & (totals >= _SOLUTION_SHARE * passed)
        # What was said in a session does not pass what somebody stored.
        is_inferred = np.array([_is_inferred(group.lead) for group in groups])
        passes &= ~is_inferred | is_inferred[:, np.newaxis]
        passes &= neighbors.is_later & (totals < passed)
    if not passes.any():
        return scores, explain
    # Of equal totals the later comes first.
    raised = np.where(passes, _CLEARLY * passed if earlier else passed, 0).max(axis=0)
    after = list(scores)
    for number in raised.nonzero()[0].tolist():
        segment_scores, position = groups[number].lead
        index = next(n for n, column in enumerate(scores) if column is segment_scores)
        if after[index] is segment_scores:
            after[index] = evolve(segment_scores, total=segment_scores.total.copy())
        after[index].total[position] = raised[number]
    return after, add_step(explain, _record, scores, after)


def find_retold(neighbors: Neighbors, groups: Sequence[Group], best: float) -> list[Retold]:
    """Return for every group in `groups` the memories told later and earlier.

    `neighbors` compares the groups, in another order perhaps. `best` is the best total of the
    question.
    """
    place = {memory_id: n for n, memory_id in enumerate(neighbors.ids)}
    rows = [place[_id_of(group.lead)] for group in groups]
    is_strong = np.zeros(len(place), np.bool_)
    is_strong[rows] = [group.total >= _STRONG_SHARE * best for group in groups]
    is_there = np.zeros(len(place), np.bool_)
    is_there[rows] = True
    is_named = neighbors.among_nearest(_MOST_NAMED) & (is_strong | is_strong[:, np.newaxis])
    is_named &= is_there
    if not is_named.any():
        return [Retold()] * len(rows)
    return [
        Retold(
            later=_nearest(neighbors, row, is_named[row] & neighbors.is_later[row]),
            earlier=_nearest(neighbors, row, is_named[row] & neighbors.is_later[:, row]),
        )
        for row in rows
    ]


def _find_named_terms(
    scores: Sequence[SegmentScores], docs: Sequence[tuple[int, int]], question: Question
) -> NDArray[np.bool_]:
    """Return which documents have which terms of the names and numbers in the question: (n, t)."""
    hashes = {hash_term(term) for name in _NAMED.findall(question.text) for term in terms(name)}
    columns = []
    for term in sorted(hashes):
        holding = [column.segment.postings(term)[0] for column in scores]
        places = [int(np.searchsorted(holding[index], doc)) for index, doc in docs]
        columns.append(
            [
                place < len(holding[index]) and int(holding[index][place]) == doc
                for place, (index, doc) in zip(places, docs, strict=True)
            ]
        )
    return np.array(columns, np.bool_).reshape(len(hashes), len(docs)).T


def _record(steps: Explanation, gain: float, total: float) -> Explanation:
    return evolve(steps, later=gain, total=total)


def _id_of(scored_doc: ScoredDoc) -> str:
    segment_scores, position = scored_doc
    return segment_scores.segment.id_of(segment_scores.doc_filter.doc_at(position))


def _is_inferred(scored_doc: ScoredDoc) -> bool:
    segment_scores, position = scored_doc
    return bool(segment_scores.segment.important[segment_scores.doc_filter.doc_at(position)] < 0)


def _cosine_of(scored_doc: ScoredDoc) -> float:
    segment_scores, position = scored_doc
    return float(segment_scores.cosine[position])


def _nearest(neighbors: Neighbors, row: int, chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    ranked = sorted(
        (-float(neighbors.closeness[row, n]), neighbors.ids[n])
        for n in chosen.nonzero()[0].tolist()
    )
    return tuple(memory_id for _, memory_id in ranked[:_MOST_NAMED])


def _may_change(segment_scores: SegmentScores, doc: int, question: Question) -> bool:
    """Return whether a document states a fact that can be replaced, and still holds."""
    segment, tense = segment_scores.segment, question.criteria.tense
    return bool(
        segment.status[doc] in (_CURRENT, _SUPERSEDED if question.earlier else _CURRENT)
        and segment.kind[doc] not in _LEFT_OUT
        and segment.passage_start[doc + 1] > segment.passage_start[doc]
        and (question.earlier or tense is None or segment.held_to[doc] > to_micros(tense.now))
    )


def _compare_times(
    scores: Sequence[SegmentScores], docs: Sequence[tuple[int, int]]
) -> NDArray[np.bool_]:
    """Return whether the second of two documents was told later, in the same scope: (n, n)."""
    segments = [scores[index].segment for index, _ in docs]
    pairs = [(segment, doc) for segment, (_, doc) in zip(segments, docs, strict=True)]
    happened = np.array([segment.happened[doc] for segment, doc in pairs])
    names = [segment.names[segment.scope[doc]] for segment, doc in pairs]
    codes = np.array([names.index(name) for name in names])
    is_later = happened - happened[:, np.newaxis] > _TOGETHER_MICROS
    is_later &= codes == codes[:, np.newaxis]
    return np.asarray(is_later, np.bool_)


def _compare_meanings(
    scores: Sequence[SegmentScores], docs: Sequence[tuple[int, int]], turns: ConversationTurns
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the closeness of `docs`, and how many candidates are nearer to a doc: both (n, n).

    Every document in `docs` has a vector.
    """
    wanted = turns.wanted
    index, doc = np.array(docs, np.int64).T
    own_keys = index << 32 | doc
    candidate_keys = turns.segment_index[wanted].astype(np.int64) << 32 | turns.doc[wanted]
    keys, high, scale, starts = _read_passages(
        scores, sort_distinct(np.append(own_keys, candidate_keys))
    )
    own = np.searchsorted(keys, own_keys)
    cosines = pairwise_cosines(high, scale, starts, own)
    between = cosines[:, own]
    is_neighbor = cosines < _SAME
    is_neighbor[np.arange(len(own)), own] = False
    others = np.where(is_neighbor, cosines, ABSENT)
    background = scores[0].background
    around = means_of_greatest(others, _NEAREST, background)
    closeness = (between - np.maximum(around, around[:, np.newaxis])) / np.float32(1 - background)
    nearer = (others[:, np.newaxis, :] > between[:, :, np.newaxis]).sum(axis=2)
    return closeness, nearer


def _read_passages(
    scores: Sequence[SegmentScores], keys: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.float32], NDArray[np.intp]]:
    """Return the keys in `keys` whose documents have vectors, and the first passages there.

    A key is the number of a segment and of a document, and `keys` are ascending. The passages are
    their high planes, their scales, and where the passages of each document start.
    """
    planes, scales, sizes = [], [], []
    for index, column in enumerate(scores):
        docs = keys[keys >> 32 == index] & 0xFFFFFFFF
        segment = column.segment
        first = segment.passage_start[docs]
        counts = np.minimum(segment.passage_start[docs + 1] - first, _MOST_PASSAGES)
        rows = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        planes.append(segment.high[rows])
        scales.append(segment.scale[rows])
        sizes.append(counts)
    size = np.concatenate(sizes)
    starts = (np.cumsum(size) - size)[size > 0].astype(np.intp)
    has_dimensions = [plane for plane in planes if len(plane)]
    return keys[size > 0], np.concatenate(has_dimensions), np.concatenate(scales), starts
