"""The ranking of the candidates that an engine finds.

The steps are those of `search.ranking`, on small segments: of the candidates of both arms, of what
stands beside them, and of the newest changes, which the engine has not taken in yet. What depends
on all memories comes from counts: the weights of words, and the calibration of scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from infinite_memory.core.protocols import Storage
from infinite_memory.core.protocols.candidates import Candidates, Counts, Selection
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import LIKELY
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.search.bm25 import QueryTerms, _term_shares
from infinite_memory.search.calibration import Calibration, calibrate
from infinite_memory.search.candidates.counts import (
    count_selected,
    score_words,
    weigh_terms,
)
from infinite_memory.search.conversation.explanation import make_explain
from infinite_memory.search.cosine import QueryVector, cosines
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.former import cover_superseded, find_inherited_totals, raise_successors
from infinite_memory.search.names import (
    find_common_names,
    find_named_speakers,
    mask_speakers,
    remove_names,
)
from infinite_memory.search.phrases import Texts
from infinite_memory.search.ranking import (
    Embed,
    _adjust_weights,
    _compare_by_meaning,
    _embed_question,
    _make_ranking,
    _score_candidates,
    lower_totals,
    mark_reached,
    raise_linked,
)
from infinite_memory.search.reader import Reader, SegmentReader
from infinite_memory.search.scoring import (
    DEFAULT_WEIGHTS,
    SegmentScores,
    Weights,
    drop_empty_time,
    lift_totals,
    remove_time_words,
    score_segment,
)
from infinite_memory.search.segment import Segment
from infinite_memory.search.text.analyzer import spelled_names
from infinite_memory.search.text.question_terms import split_terms

if TYPE_CHECKING:
    from infinite_memory.core.values.time_range import Reading

_WANTED = 200
"""How many candidates each arm gives, if no longer page is asked for."""
_FORMER = 20
"""How many superseded memories each arm gives, from which current ones may inherit."""
_STEPS = 4

_Part = tuple[Segment, DocFilter]


@frozen(kw_only=True, eq=False)
class _Population:
    """All memories that meet `criteria`: their counts, and a sample of them."""

    criteria: Criteria
    counts: Counts
    sample: Sequence[_Part]


@frozen(kw_only=True, eq=False)
class Gatherer:
    """Gathers the small segments for a question from an engine and the newest changes.

    The reader `tail` has the documents that the engine lacks, and `hidden` are the ids in it and
    those that are gone since.
    """

    engine: Candidates[Segment]
    tail: Reader
    hidden: frozenset[str]
    embed: Embed | None
    storage: Storage
    texts: Texts
    second_length: float | None
    _read: list[SegmentReader] = field(factory=list, init=False)

    def select(self, criteria: Criteria) -> Selection:
        """Return the selection of the memories that the engine gives."""
        return Selection(criteria=criteria, without=self.hidden)

    @property
    def reader(self) -> Reader:
        """What was gathered so far, and the tail."""
        return Reader(segment_readers=(*self._read, *self.tail.segment_readers))

    def read(self, ids: Collection[str], criteria: Criteria) -> None:
        """Add the columns of `ids`, and of what is beside them."""
        segment = self.engine.columns(ids, self.select(criteria)) if ids else None
        if segment is None or not len(segment):
            return
        is_new = np.ones(len(segment), np.bool_)
        for part in self._read:
            is_new &= ~part.segment.may_hold(segment.id_hash)
        self._read.append(SegmentReader(segment=segment, live_docs=is_new))

    def read_words(
        self, shares: Mapping[int, float], selection: Selection, limit: int
    ) -> tuple[Sequence[str], _Population]:
        """Return the best memories of the engine by words, and all that are selected."""
        matches = self.engine.match_words(shares, selection, limit=limit)
        newest = [(p.segment, p.eligible(selection.criteria)) for p in self.tail.segment_readers]
        drawn = [(matches.sample, DocFilter(size=len(matches.sample)))]
        return matches.ids, _Population(
            criteria=selection.criteria,
            counts=count_selected(matches.counts, newest, shares),
            # Of many memories a few were drawn, among which all of the tail would be too many.
            sample=(*drawn, *newest)
            if len(matches.sample) >= matches.counts.memories
            else tuple(drawn),
        )

    def find_successors(self, ids: Iterable[str]) -> set[str]:
        """Return the ids of the memories that superseded `ids`, in at most four steps."""
        found, step = set[str](), set(ids)
        for _ in range(_STEPS):
            links = self.storage.links(step) if step else ()
            step = {link.source for link in links if link.type is LinkType.SUPERSEDES} - found
            found |= step
        return found


def rank_candidates(gatherer: Gatherer, question: Question, *, background: float) -> Ranking:
    """Return the best candidates for `question`; its counts of matches are the least there are."""
    weights = DEFAULT_WEIGHTS
    # By its words a search by meaning alone finds the speakers whom the question names.
    telling, minor = split_terms(question.text)
    shares = _term_shares(telling, spelled_names(question.text), minor)
    question, empty_time, told = _drop_empty_time(gatherer, question, shares)
    vectors, names, note, populations = _gather(gatherer, question, shares, weights, told)
    parts = gatherer.reader.segment_readers
    segments = [part.segment for part in parts]
    eligible = [part.eligible(question.criteria) for part in parts]
    whole = populations[0]
    if not any(map(len, eligible)):
        return Ranking(note=note, empty_time=empty_time, eligible=whole.counts.memories)
    queries = tuple(QueryVector.of(vector, gatherer.second_length) for vector in vectors)
    query = queries[0] if queries else None
    weights = _adjust_weights(question, query, weights)
    terms = weigh_terms(shares if weights.words else {}, whole.counts)
    scores = _score(segments, eligible, query, terms, names, background, weights)
    context = _score_candidates(scores, terms, weights, queries, question.text, gatherer.texts)
    curve = _calibrate(whole, query, background, weights, len(telling) if weights.words else 0)
    reasons = make_explain(scores, context, weights, query, is_outline=question.outline)
    lifted, reasons = lift_totals(scores, question, reasons, weights, curve.total(LIKELY))
    for past in populations[1:]:
        replaced = [part.eligible(past.criteria) for part in parts]
        former = weigh_terms(shares if weights.words else {}, past.counts)
        totals = _score(segments, replaced, query, former, names, background, weights)
        inherited = find_inherited_totals(gatherer.storage, totals)
        lifted, reasons = raise_successors(lifted, reasons, inherited)
    linked, reasons, raised = raise_linked(lifted, reasons, question.reached, curve)
    lowered = lower_totals(linked, reasons, question.lowered)
    ranking = _make_ranking(*lowered, question, curve, note, context, weights.later)
    return evolve(
        mark_reached(ranking, question.reached, raised),
        eligible=whole.counts.memories,
        pending=whole.counts.pending,
        empty_time=empty_time,
    )


def _drop_empty_time(
    gatherer: Gatherer, question: Question, shares: Mapping[int, float]
) -> tuple[Question, Reading | None, Sequence[str]]:
    """Return what `drop_empty_time` does of all memories, and ids of the best in that time."""
    if question.time is None:
        return question, None, ()
    newest = [(p.segment, p.eligible(question.criteria)) for p in gatherer.tail.segment_readers]
    kept, empty_time = drop_empty_time(question, *_unzip(newest))
    within = evolve(gatherer.select(question.criteria), within=question.time.range)
    matches = gatherer.engine.match_words(shares, within, limit=_WANTED)
    if matches.counts.memories:
        kept, empty_time = question, None
    return kept, empty_time, matches.ids


def _gather(
    gatherer: Gatherer,
    question: Question,
    shares: Mapping[int, float],
    weights: Weights,
    told: Sequence[str],
) -> tuple[Sequence[NDArray[np.float32]], frozenset[str], str | None, list[_Population]]:
    """Read what the question needs; return its vectors, the names in it, a note and counts.

    `told` are the ids of memories of the time that the question names.
    The first of the counts are of the memories that meet the criteria, and the second, if any, of
    those that they superseded.
    """
    criteria, limit = question.criteria, max(_WANTED, 2 * (question.offset + question.limit))
    ids, whole = gatherer.read_words(shares, gatherer.select(criteria), limit)
    asked = [(gatherer.select(criteria), limit)]
    wanted, populations = {*ids, *told, *_named_ids(question)}, [whole]
    if question.time is not None:
        asked.append((evolve(gatherer.select(criteria), within=question.time.range), limit))
    gatherer.read(wanted, criteria)
    names, text = _find_names(gatherer, question, whole)
    vectors, note = _embed_question(text, question, gatherer.embed, sentences=weights.sentences > 0)
    for selection, number in asked if len(vectors) else ():
        nearest = gatherer.engine.nearest(np.array(vectors), selection, limit=number)
        gatherer.read(nearest.keys() - wanted, criteria)
    past = cover_superseded(criteria)
    if past is not None:
        ids, former = gatherer.read_words(shares, gatherer.select(past), _FORMER)
        if former.counts.memories:
            selection, found = gatherer.select(past), set(ids)
            if len(vectors):
                nearest = gatherer.engine.nearest(np.array(vectors[:1]), selection, limit=_FORMER)
                found.update(nearest)
            gatherer.read(found, past)
            gatherer.read(gatherer.find_successors(found), criteria)
            populations.append(former)
    return vectors, names, note, populations


def _find_names(
    gatherer: Gatherer, question: Question, whole: _Population
) -> tuple[frozenset[str], str]:
    """Return the speakers whom the question names, and its text without names and times."""
    parts = [(p.segment, p.eligible(question.criteria)) for p in gatherer.reader.segment_readers]
    names = find_named_speakers(question.text, *_unzip(parts))
    common = find_common_names(question.text, *_unzip(whole.sample), gatherer.texts)
    return names, remove_names(remove_time_words(question), names | common)


def _unzip(parts: Sequence[_Part]) -> tuple[list[Segment], list[DocFilter]]:
    return [segment for segment, _ in parts], [doc_filter for _, doc_filter in parts]


def _named_ids(question: Question) -> Iterator[str]:
    """Yield the ids that the question itself asks about."""
    yield from question.lowered
    yield from question.reached
    yield from (way.match for way in question.reached.values())
    if question.about is not None:
        yield question.about


def _score(
    segments: Sequence[Segment],
    eligible: Sequence[DocFilter],
    query: QueryVector | None,
    terms: QueryTerms,
    names: frozenset[str],
    background: float,
    weights: Weights,
) -> list[SegmentScores]:
    """Return the scores of the eligible documents alone."""
    found = _compare_by_meaning(query, segments, eligible)
    return [
        score_segment(
            segment,
            doc_filter,
            cosine=cosine,
            bm25=score_words(terms, segment, doc_filter),
            ideal=terms.ideal,
            named=mask_speakers(names, segment, doc_filter) if names else None,
            background=background,
            weights=weights,
        )
        for segment, doc_filter, cosine in zip(segments, eligible, found, strict=True)
    ]


def _calibrate(
    whole: _Population,
    query: QueryVector | None,
    background: float,
    weights: Weights,
    words: int,
) -> Calibration:
    """Return the curve for a question that is compared with all memories of `whole`."""
    compared = [
        (segment, selected, cosines(query, segment, selected.docs_at(np.arange(len(selected)))))
        for segment, selected in whole.sample
        if query is not None
    ]
    return calibrate(compared, whole.counts.memories, background, weights, words)
