"""From a question to a ranking: two arms, each brought to one scale, added up.

    score = 0.6 meaning + 0.4 words + 0.15 speaker

`meaning` is (cosine - background) / (1 - background), where the background is the cosine that two
unrelated texts have under the model. `words` is the BM25 score as a share of what a document of
mean length gets that holds the words of the question once. `speaker` is 1 where the question names
who said it. All three mean the same for every question, store and model, so that a score can be
compared and held against a threshold; normalising by the best and worst candidate of each question
ranks no better (measured on the development sets) and would call the best of nothing a match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.errors import EmbedderError
from infinite_memory.model.hits import Explanation
from infinite_memory.search.query import Arm, Candidate, Question, Ranking
from infinite_memory.search.segment import Segment
from infinite_memory.search.selection import Selection
from infinite_memory.search.speakers import named_speakers, spoken_by, without_names
from infinite_memory.search.vectors import ABSENT, best_passage, cosines
from infinite_memory.search.view import View
from infinite_memory.search.words import bm25
from infinite_memory.text.tokens import terms

__all__ = ["Embed", "rank"]

MEANING, WORDS, SPEAKER = 0.6, 0.4, 0.15
# Differences in the seventh place come from the order of additions and must not decide a rank.
_PLACES = 6
_BLOCK = 1024

Embed = Callable[[str], NDArray[np.float32]]
Scores = NDArray[np.float32]


@frozen(kw_only=True, eq=False)
class _Scored:
    """One segment with the scores of its selected documents, float32, in their order.

    `total` decides; the rest is kept to explain it. `spoken` is None where no speaker is named.
    """

    segment: Segment
    selection: Selection
    cosine: Scores
    bm25: Scores
    spoken: NDArray[np.bool_] | None
    total: Scores


def rank(view: View, question: Question, embed: Embed | None, *, background: float) -> Ranking:
    """Return the best candidates of `view` for `question`.

    `embed` turns a text into a unit vector, shape (dimensions,); None leaves meaning out.
    """
    segments = [part.segment for part in view.parts]
    eligible = [part.eligible(question.criteria) for part in view.parts]
    names = named_speakers(question.text, segments, eligible)
    vector, note = _embedded(without_names(question.text, names), question, embed)
    query_terms = terms(question.text) if Arm.WORDS in question.arms else []
    raw, ideal = bm25(query_terms, segments, eligible)
    scored = [
        _score(
            segment,
            selection,
            cosines(vector, segment, selection) if vector is not None else None,
            found,
            spoken_by(names, segment, selection) if names else None,
            ideal=ideal,
            background=background,
            both=Arm.WORDS in question.arms,
        )
        for segment, selection, found in zip(segments, eligible, raw, strict=True)
    ]
    above = sum(int(np.count_nonzero(s.total >= question.threshold)) for s in scored)
    matched = sum(int(np.count_nonzero(s.total > 0)) for s in scored)
    best = _best(scored, question)
    return Ranking(
        candidates=tuple(
            _candidate(s, place, scored, vector, question, ideal=ideal, background=background)
            for s, place in best
        ),
        eligible=sum(map(len, eligible)),
        more=above - len(best),
        below=matched - above,
        pending=_without_vector(segments, eligible),
        note=note,
    )


def _embedded(
    text: str, question: Question, embed: Embed | None
) -> tuple[NDArray[np.float32] | None, str | None]:
    if Arm.MEANING not in question.arms:
        return None, None
    if embed is None:
        return None, "compared by words alone: the embedding model does not know this language"
    try:
        return embed(text), None
    except EmbedderError as error:
        return None, f"compared by words alone: {error}"


def _score(
    segment: Segment,
    selection: Selection,
    cosine: Scores | None,
    found: Scores,
    spoken: NDArray[np.bool_] | None,
    *,
    ideal: float,
    background: float,
    both: bool,
) -> _Scored:
    if cosine is None:
        cosine = np.full(len(selection), ABSENT, np.float32)
        meaning_share = 0.0
    else:
        meaning_share = MEANING if both else 1.0
    # In place, because at a million memories each new array costs as much as the arithmetic.
    total = _meaning(cosine, background)
    total *= np.float32(meaning_share)
    words = found / np.float32(ideal or 1.0)
    words *= np.float32(WORDS if meaning_share else 1.0)
    total += words
    if spoken is not None:
        spoken &= total > 0
        total += np.float32(SPEAKER) * spoken
    return _Scored(
        segment=segment,
        selection=selection,
        cosine=cosine,
        bm25=found,
        spoken=spoken,
        total=total,
    )


def _meaning(cosine: Scores, background: float) -> Scores:
    """Return the share of the way from the background to 1 that each cosine is, a new array."""
    meaning = cosine - np.float32(background)
    meaning /= np.float32(1 - background)
    return np.clip(meaning, 0, 1, out=meaning)


def _best(scored: Sequence[_Scored], question: Question) -> list[tuple[_Scored, int]]:
    """Return the places with the highest totals, ties in the order of their ids."""
    rows: list[tuple[float, str, _Scored, int]] = []
    for s in scored:
        floor = np.float32(max(question.threshold, _reached(s.total, question.limit)))
        found = np.flatnonzero((s.total >= floor) & (s.total > 0))
        if len(found) > question.limit:
            totals = s.total[found]
            # What could be rounded to the last of the best is rounded; the rest is out already.
            least = np.partition(totals, -question.limit)[-question.limit]
            found = found[totals >= least - np.float32(2 * 10**-_PLACES)]
            totals = np.round(s.total[found], _PLACES)
            found = found[totals >= np.round(least, _PLACES)]
        rows.extend(
            (
                -round(float(s.total[place]), _PLACES),
                s.segment.id_of(s.selection.doc(int(place))),
                s,
                int(place),
            )
            for place in found
        )
    rows.sort(key=lambda row: row[:2])
    return [(s, place) for _, _, s, place in rows[: question.limit]]


def _reached(totals: Scores, limit: int) -> float:
    """Return what the best `limit` of the totals reach, rounded, and few others do.

    As many blocks as that have a greatest total that is no less than that of the last of them.
    """
    blocks = len(totals) // _BLOCK
    if blocks <= limit:
        return 0.0
    greatest = totals[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(greatest, -limit)[-limit]) - 2 * 0.1**_PLACES


def _candidate(
    s: _Scored,
    place: int,
    scored: Sequence[_Scored],
    vector: NDArray[np.float32] | None,
    question: Question,
    *,
    ideal: float,
    background: float,
) -> Candidate:
    explanation, doc = None, s.selection.doc(place)
    if question.explain:
        cosine, found = s.cosine[place], s.bm25[place]
        meaning = _meaning(s.cosine[place : place + 1], background)[0]
        explanation = Explanation(
            cosine=float(cosine) if cosine > ABSENT else None,
            bm25=float(found),
            meaning=float(meaning),
            words=float(found / np.float32(ideal or 1.0)),
            speaker=float(s.spoken is not None and s.spoken[place]),
            meaning_rank=_rank_of(cosine, [other.cosine for other in scored], meaning > 0),
            words_rank=_rank_of(found, [other.bm25 for other in scored], found > 0),
            passage=best_passage(vector, s.segment, doc) if vector is not None else None,
        )
    score = min(1.0, round(float(s.total[place]), _PLACES))
    return Candidate(id=s.segment.id_of(doc), score=score, explanation=explanation)


def _rank_of(value: np.float32, scores: Sequence[Scores], found: bool | np.bool_) -> int | None:
    return 1 + sum(int(np.count_nonzero(s > value)) for s in scores) if found else None


def _without_vector(segments: Sequence[Segment], selections: Sequence[Selection]) -> int:
    return sum(
        int(np.count_nonzero(selection.among(segment.unembedded)))
        for segment, selection in zip(segments, selections, strict=True)
    )
