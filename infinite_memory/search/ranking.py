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
from infinite_memory.search.speakers import named_speakers, spoken_by, without_names
from infinite_memory.search.vectors import ABSENT, best_passage, cosines
from infinite_memory.search.view import View
from infinite_memory.search.words import bm25
from infinite_memory.text.tokens import terms

__all__ = ["Embed", "rank"]

MEANING, WORDS, SPEAKER = 0.6, 0.4, 0.15
# Differences in the seventh place come from the order of additions and must not decide a rank.
_PLACES = 6

Embed = Callable[[str], NDArray[np.float32]]
Scores = NDArray[np.float32]


@frozen(kw_only=True, eq=False)
class _Scored:
    """One segment with the scores of its documents, float32, shape (n,); 0 where not eligible."""

    segment: Segment
    cosine: Scores
    bm25: Scores
    meaning: Scores
    words: Scores
    speaker: Scores
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
            cosines(vector, segment, mask) if vector is not None else None,
            found,
            spoken_by(names, segment),
            ideal=ideal,
            background=background,
            both=Arm.WORDS in question.arms,
        )
        for segment, mask, found in zip(segments, eligible, raw, strict=True)
    ]
    above = sum(int(np.count_nonzero(s.total >= question.threshold)) for s in scored)
    matched = sum(int(np.count_nonzero(s.total)) for s in scored)
    best = _best(scored, question)
    return Ranking(
        candidates=tuple(_candidate(s, doc, scored, vector, question) for s, doc in best),
        eligible=sum(int(np.count_nonzero(mask)) for mask in eligible),
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
    cosine: Scores | None,
    found: Scores,
    spoken: NDArray[np.bool_],
    *,
    ideal: float,
    background: float,
    both: bool,
) -> _Scored:
    if cosine is None:
        cosine = np.full(len(segment), ABSENT, np.float32)
        meaning_share = 0.0
    else:
        meaning_share = MEANING if both else 1.0
    meaning = np.clip((cosine - background) / (1 - background), 0, 1).astype(np.float32)
    words = found / np.float32(ideal or 1.0)
    words_share = WORDS if meaning_share else 1.0
    total = np.float32(meaning_share) * meaning + np.float32(words_share) * words
    speaker = (spoken & (total > 0)).astype(np.float32)
    return _Scored(
        segment=segment,
        cosine=cosine,
        bm25=found,
        meaning=meaning,
        words=words,
        speaker=speaker,
        total=total + np.float32(SPEAKER) * speaker,
    )


def _best(scored: Sequence[_Scored], question: Question) -> list[tuple[_Scored, int]]:
    """Return the documents with the highest totals, ties in the order of their ids."""
    rows: list[tuple[float, str, _Scored, int]] = []
    for s in scored:
        found = np.flatnonzero((s.total >= question.threshold) & (s.total > 0))
        if len(found) > question.limit:
            totals = np.round(s.total[found], _PLACES)
            least = np.partition(totals, -question.limit)[-question.limit]
            found = found[totals >= least]
        rows.extend(
            (-round(float(s.total[doc]), _PLACES), s.segment.id_of(int(doc)), s, int(doc))
            for doc in found
        )
    rows.sort(key=lambda row: row[:2])
    return [(s, doc) for _, _, s, doc in rows[: question.limit]]


def _candidate(
    s: _Scored,
    doc: int,
    scored: Sequence[_Scored],
    vector: NDArray[np.float32] | None,
    question: Question,
) -> Candidate:
    explanation = None
    if question.explain:
        cosine = float(s.cosine[doc])
        explanation = Explanation(
            cosine=cosine if cosine > ABSENT else None,
            bm25=float(s.bm25[doc]),
            meaning=float(s.meaning[doc]),
            words=float(s.words[doc]),
            speaker=float(s.speaker[doc]),
            meaning_rank=_rank_of(s.meaning[doc], [other.meaning for other in scored]),
            words_rank=_rank_of(s.bm25[doc], [other.bm25 for other in scored]),
            passage=best_passage(vector, s.segment, doc) if vector is not None else None,
        )
    score = min(1.0, round(float(s.total[doc]), _PLACES))
    return Candidate(id=s.segment.id_of(doc), score=score, explanation=explanation)


def _rank_of(value: np.float32, scores: Sequence[Scores]) -> int | None:
    if not value > 0:
        return None
    return 1 + sum(int(np.count_nonzero(s > value)) for s in scores)


def _without_vector(segments: Sequence[Segment], eligible: Sequence[NDArray[np.bool_]]) -> int:
    return sum(
        int(np.count_nonzero(mask & (np.diff(segment.passage_start) == 0)))
        for segment, mask in zip(segments, eligible, strict=True)
    )
