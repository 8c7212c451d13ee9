"""The memories nearest to a stored memory, in meaning and in words.

The closeness of two memories has two parts. `meaning` is the cosine of the nearest passages minus
the background, the mean cosine of the 50 nearest memories. The mean adapts to the model, to the
language of the text, and to a store with a single topic. `words` is the cosine of two tf-idf
vectors; the norm of the second vector is estimated from its length. The weighted sum becomes a
score in [0, 1].
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from math import log1p

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.dream.neighbor import Neighbor
from infinite_memory.search.calibration import Calibration
from infinite_memory.search.cosine import ABSENT, QueryVector, approximate_cosines, mean_of_greatest
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import hash_term
from infinite_memory.search.reader import Reader
from infinite_memory.search.segment import Segment
from infinite_memory.search.text.question_terms import split_terms

Scores = NDArray[np.float32]
_FilteredSegment = tuple[Segment, DocFilter]

LEAST_SCORE = 0.37
"""The score from which a memory counts as similar; `benchmarks.similar` prints the curve."""

# Fitted on `notes`: pairs about one matter against the nearest note that is not labelled.
_CURVE = Calibration(middle=0.37, width=0.21)
# A memory with a lower total, compared with the nearest memory, is about a different subject.
_GREATEST_GAP = 0.12
_WORDS = 1.2
# The weight of the words for a memory without a vector.
_WORDS_ALONE = 4.0
_NEAREST = 50
_NONE = np.empty(0, np.float32)
# The number of assumed further memories: in a store of three memories, "the" would be rare.
_PRIOR_MEMORIES = 50
# The mean of idf² over the terms of a memory, as a share of the greatest idf².
_MEAN_WEIGHT = 0.85
# Only the beginning of a long text is compared, which limits the time.
_MOST_PASSAGES = 4
_MOST_CHARS = 10_000
_MOST_TERMS = 256
# The least closeness of a match; unrelated memories have 0.
_ANY_MATCH = float(np.finfo(np.float32).tiny)
# Less than every cosine, and more than `ABSENT`.
_ANY_COSINE = -1.5


def find_similar(
    reader: Reader,
    memory_id: str,
    text: str,
    criteria: Criteria,
    *,
    background: float,
    second_length: float | None = None,
    ignored: Collection[str] = (),
    limit: int,
    least_score: float = LEAST_SCORE,
) -> list[tuple[str, float]]:
    """Return at most `limit` memories that meet `criteria` and are similar, nearest first.

    `memory_id` is a stored memory with the text `text`; its vectors are read from the index. If a
    memory of a pair has no vector, the pair is compared by words alone. `background` is the
    background of the model. The result excludes the memory itself, the `ignored` memories, and
    memories far behind the nearest memory.
    """
    filtered_segments = _select({memory_id, *ignored}, reader, criteria)
    cosines, words = _compare(reader, memory_id, text, filtered_segments, second_length)
    local_background = mean_of_greatest(np.concatenate([_NONE, *cosines]), _NEAREST, background)
    closeness = [
        _closeness(*columns, local_background, background)
        for columns in zip(cosines, words, strict=True)
    ]
    return _best(filtered_segments, closeness, limit, least_score)


def find_neighbors(
    reader: Reader,
    memory_id: str,
    text: str,
    criteria: Criteria,
    *,
    background: float,
    second_length: float | None = None,
    limit: int,
) -> list[Neighbor]:
    """Return the `limit` memories nearest by meaning and the `limit` nearest by words, ordered.

    The arguments are those of `find_similar`. Memories without a word in common are not near by
    words. The order is that of the score, then of the cosine, the words and the id.
    """
    filtered_segments = _select({memory_id}, reader, criteria)
    cosines, words = _compare(reader, memory_id, text, filtered_segments, second_length)
    local_background = mean_of_greatest(np.concatenate([_NONE, *cosines]), _NEAREST, background)
    found: list[Neighbor] = []
    for (segment, doc_filter), cosine, word in zip(filtered_segments, cosines, words, strict=True):
        closeness = _closeness(cosine, word, local_background, background)
        near = {*_greatest(cosine, limit, _ANY_COSINE), *_greatest(word, limit, _ANY_MATCH)}
        for position in near:
            score = _CURVE.score(float(closeness[position]))
            neighbor = Neighbor(
                id=segment.id_of(doc_filter.doc_at(position)),
                cosine=float(cosine[position]) if cosine[position] > ABSENT else None,
                words=float(word[position]),
                score=score if score >= LEAST_SCORE else 0.0,
            )
            found.append(neighbor)
    by_cosine = sorted(
        (n for n in found if n.cosine is not None), key=lambda n: (-(n.cosine or 0.0), n.id)
    )
    by_words = sorted((n for n in found if n.words), key=lambda n: (-n.words, n.id))
    near_ids = {n.id for n in (*by_cosine[:limit], *by_words[:limit])}
    return sorted((n for n in found if n.id in near_ids), key=_order_of)


def score_cosines(
    nearest: Sequence[tuple[str, float]],
    *,
    background: float,
    least_score: float = LEAST_SCORE,
) -> list[tuple[str, float]]:
    """Return the memories of `nearest` that are similar by their cosines alone, with scores."""
    cosines = np.array([cosine for _, cosine in nearest], np.float32)
    local_background = mean_of_greatest(cosines, _NEAREST, background)
    words = np.zeros(len(cosines), np.float32)
    closeness = _closeness(cosines, words, local_background, background)
    scores = [_CURVE.score(float(total)) for total in closeness]
    return [
        (memory_id, score)
        for (memory_id, _), score in zip(nearest, scores, strict=True)
        if score >= least_score
    ]


def _order_of(neighbor: Neighbor) -> tuple[float, float, float, str]:
    cosine = -1.0 if neighbor.cosine is None else neighbor.cosine
    return -neighbor.score, -cosine, -neighbor.words, neighbor.id


def _greatest(column: Scores, number: int, above: float) -> list[int]:
    """Return the positions of the `number` greatest values from `above` on, with ties of the last.

    So the choice among ties does not depend on how the memories lie in segments.
    """
    positions = np.flatnonzero(column >= above)
    if len(positions) > number:
        values = column[positions]
        positions = positions[values >= np.partition(values, -number)[-number]]
    return positions.tolist()


def _select(hidden: Collection[str], reader: Reader, criteria: Criteria) -> list[_FilteredSegment]:
    """Return the documents that meet `criteria`, without the memories `hidden`, by segment."""
    return [
        (part.segment, _exclude_ids(hidden, part.segment, part.eligible(criteria)))
        for part in reader.segment_readers
    ]


def _compare(
    reader: Reader,
    memory_id: str,
    text: str,
    filtered_segments: Sequence[_FilteredSegment],
    second_length: float | None,
) -> tuple[list[Scores], list[Scores]]:
    """Return the cosines and the closeness in words of every selected document, by segment."""
    vectors = _vectors_of(reader, memory_id, second_length)
    cosines = [_nearest_cosines(vectors, *pair) for pair in filtered_segments]
    return cosines, _shared_words(text, filtered_segments)


def _exclude_ids(ids: Collection[str], segment: Segment, doc_filter: DocFilter) -> DocFilter:
    """Return the selection without the memories `ids`."""
    docs = [doc for memory_id in ids if (doc := segment.find(memory_id)) is not None]
    if not docs:
        return doc_filter
    mask = np.ones(doc_filter.size, np.bool_) if doc_filter.mask is None else doc_filter.mask.copy()
    mask[docs] = False
    return DocFilter.of(mask)


def _vectors_of(reader: Reader, memory_id: str, second_length: float | None) -> list[QueryVector]:
    """Return the first vectors of a stored memory, [] if it has no vector or no longer exists."""
    for part in reversed(reader.segment_readers):
        segment, doc = part.segment, part.segment.find(memory_id)
        if doc is not None and part.live_docs[doc]:
            start, end = (int(row) for row in segment.passage_start[doc : doc + 2])
            rows = np.arange(start, min(end, start + _MOST_PASSAGES))
            steps = 256 * segment.high[rows].astype(np.float32) + segment.low_of(rows)
            vectors = steps * segment.scale[rows, np.newaxis]
            return [QueryVector.of(vector, second_length) for vector in vectors]
    return []


def _nearest_cosines(
    vectors: Sequence[QueryVector], segment: Segment, doc_filter: DocFilter
) -> Scores:
    """Return the greatest cosine of every selected document, `ABSENT` without a vector."""
    if not vectors:
        return np.full(len(doc_filter), ABSENT, np.float32)
    columns = [approximate_cosines(vector, segment, doc_filter) for vector in vectors]
    return np.array(reduce(np.maximum, columns))


def _closeness(
    cosines: Scores, words: Scores, background: float, model_background: float
) -> Scores:
    meaning = ((cosines - background) / (1 - model_background)).clip(0, 1)
    has_vector = cosines > ABSENT
    return np.where(has_vector, meaning + _WORDS * words, _WORDS_ALONE * words).astype(np.float32)


def _shared_words(text: str, filtered_segments: Sequence[_FilteredSegment]) -> list[Scores]:
    """Return the closeness in words of every selected document, in [0, 1], by segment."""
    total = sum(len(doc_filter) for _, doc_filter in filtered_segments) + _PRIOR_MEMORIES
    terms = np.array(_terms_of(text), np.uint64)
    found = [_find_postings(terms, *pair) for pair in filtered_segments]
    numbers = sum(
        (np.bincount(owners, minlength=len(terms)) for owners, _ in found),
        np.zeros(len(terms), np.int64),
    )
    weights = np.log1p((total - numbers + 0.5) / (numbers + 0.5)) ** 2
    own_weight = float(weights.sum())
    shared = [
        np.bincount(positions, weights[owners], len(doc_filter)).astype(np.float32)
        for (owners, positions), (_, doc_filter) in zip(found, filtered_segments, strict=True)
    ]
    if not own_weight:
        return shared
    unit = own_weight * _MEAN_WEIGHT * log1p((total + 0.5) / 0.5) ** 2
    for column, (segment, doc_filter) in zip(shared, filtered_segments, strict=True):
        lengths = np.maximum(doc_filter.take(segment.length), 1).astype(np.float32)
        column /= np.sqrt(lengths * np.float32(unit))
        np.minimum(column, 1, out=column)
    return shared


def _find_postings(
    terms: NDArray[np.uint64], segment: Segment, doc_filter: DocFilter
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return each pair of a term, by its number in `terms`, and a selected document that has it.

    A document is given by its position.
    """
    owners, docs = segment.postings_of(terms)
    if doc_filter.mask is not None:
        selected = doc_filter.mask[docs]
        owners, docs = owners[selected], docs[selected]
    return owners, np.asarray(doc_filter.positions_of(docs), np.intp)


def _terms_of(text: str) -> list[int]:
    """Return the first distinct terms of a text, without the function words of its language."""
    telling = dict.fromkeys(split_terms(text[:_MOST_CHARS])[0])
    return [hash_term(term) for term in telling][:_MOST_TERMS]


def _best(
    filtered_segments: Sequence[_FilteredSegment],
    closeness: Sequence[Scores],
    limit: int,
    least_score: float,
) -> list[tuple[str, float]]:
    least = max(_CURVE.total(least_score), _ANY_MATCH)
    candidates: list[tuple[float, int, str]] = []
    for (segment, doc_filter), column in zip(filtered_segments, closeness, strict=True):
        for position in _greatest(column, limit, least):
            doc = doc_filter.doc_at(position)
            happened = int(segment.happened[doc])
            candidates.append((float(column[position]), happened, segment.id_of(doc)))
    candidates.sort(reverse=True)
    nearest = candidates[0][0] if candidates else 0.0
    return [
        (memory_id, _CURVE.score(total))
        for total, _, memory_id in candidates[:limit]
        if total >= nearest - _GREATEST_GAP
    ]
