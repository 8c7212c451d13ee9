"""Overview: the hits of a search, summaries first, with the sentences that answer best."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from infinite_memory.embedding import CheckedEmbedder
from infinite_memory.errors import EmbedderError
from infinite_memory.model.hits import LIKELY, Hit
from infinite_memory.model.memory import Kind
from infinite_memory.model.question import Arm, Question
from infinite_memory.operations.retrieval.summaries import outdated_sources
from infinite_memory.operations.services import Services
from infinite_memory.text.analyzer import terms
from infinite_memory.text.highlights import Range, cut_sentences, widen_range

__all__ = ["overview"]

_log = logging.getLogger(__name__)
_MAX_CHARS = 300
_MAX_SUMMARY_CHARS = 1000
# A passage is rarely longer.
_PASSAGE_CHARS = 4000
# The model embeds at most this many sentences of the best hits, at some milliseconds each, so that
# a search still feels instant.
_MAX_EMBEDDED = 48
# Without vectors there is no best passage; only the beginning of a very long text is searched.
_SEARCHED_CHARS = 20_000
# As in the ranking, words weigh half as much as meaning.
_WORDS = 0.5


def overview(services: Services, question: Question, ranked: Sequence[Hit]) -> list[Hit]:
    """Return `ranked` hits, best first and with explanations, in the order of an overview.

    1. Likely summaries, then other likely hits, then unlikely summaries, then the rest. Hits that a
       summary covers come last. An outdated summary counts as an ordinary hit.
    2. Every hit has a highlight: the whole of a short text, the beginning of a summary, or the
       sentences of the best passage that are nearest to the question in words and meaning.
    """
    summaries = [hit.memory for hit in ranked if hit.memory.kind is Kind.SUMMARY]
    outdated = outdated_sources(services, summaries)
    ranked = [evolve(hit, outdated=outdated.get(hit.memory.id, ())) for hit in ranked]
    covers = _assign_covered(ranked)
    covered = {memory_id for ids in covers.values() for memory_id in ids}
    highlights = _choose_highlights(services, question, ranked)
    hits = [
        evolve(hit, highlight=highlight, covers=covers.get(hit.memory.id, ()))
        for hit, highlight in zip(ranked, highlights, strict=True)
    ]
    return sorted(hits, key=lambda hit: (hit.memory.id in covered, _tier(hit)))


def _tier(hit: Hit) -> tuple[bool, bool]:
    """Return the sort key of a hit: likely before unlikely, valid summaries before other hits."""
    return hit.score < LIKELY, not _is_valid_summary(hit)


def _is_valid_summary(hit: Hit) -> bool:
    """Return whether a hit is a summary that is not outdated."""
    return hit.memory.kind is Kind.SUMMARY and not hit.outdated


def _assign_covered(hits_in_order: Sequence[Hit]) -> dict[str, tuple[str, ...]]:
    """Map the id of every valid summary to the ids of the hits that it covers.

    A summary covers hits that are its sources and are sorted after it. A covered summary covers
    nothing, so that every covered hit is named by a hit that is shown.
    """
    hits = {hit.memory.id: hit for hit in hits_in_order}
    covers: dict[str, tuple[str, ...]] = {}
    taken: set[str] = set()
    for hit in sorted(hits_in_order, key=_tier):
        summary = hit.memory
        if not _is_valid_summary(hit) or summary.id in taken:
            continue
        sources = (hits[source] for source in dict.fromkeys(summary.sources) if source in hits)
        ids = tuple(
            source.memory.id
            for source in sources
            if source.memory.id not in {summary.id, *taken, *covers} and _tier(hit) <= _tier(source)
        )
        if ids:
            covers[summary.id] = ids
            taken.update(ids)
    return covers


def _choose_highlights(services: Services, question: Question, hits: Sequence[Hit]) -> list[Range]:
    """Return the highlight of every hit, a half-open character range of its text."""
    ranges = [_split_candidates(hit) for hit in hits]
    choices = {place: spans for place, spans in enumerate(ranges) if len(spans) > 1}
    nearest = _find_nearest(services, question, hits, choices)
    return [
        widen_range(spans, nearest.get(place, 0), max_chars=_max_chars(hit))
        for place, (hit, spans) in enumerate(zip(hits, ranges, strict=True))
    ]


def _max_chars(hit: Hit) -> int:
    return _MAX_SUMMARY_CHARS if hit.memory.kind is Kind.SUMMARY else _MAX_CHARS


def _split_candidates(hit: Hit) -> list[Range]:
    """Return the ranges from which the highlight of a hit is chosen, at least one."""
    text = hit.memory.text
    if len(text) <= _max_chars(hit):
        return [(0, len(text))]
    if hit.memory.kind is Kind.SUMMARY:
        return _leading_sentences(text)
    start, end = _passage(hit) or (0, _SEARCHED_CHARS)
    return cut_sentences(text, (start, min(end, len(text))), max_chars=_MAX_CHARS) or [
        (0, _MAX_CHARS)
    ]


def _passage(hit: Hit) -> Range | None:
    """Return the range of the best passage, cut to a limit; None without a passage."""
    passage = None if hit.explanation is None else hit.explanation.passage
    # The text may have changed since the index was read.
    if passage is None or passage[1] > len(hit.memory.text):
        return None
    return passage[0], min(passage[1], passage[0] + _PASSAGE_CHARS)


def _leading_sentences(text: str) -> list[Range]:
    """Return the range of the first sentences of a summary, as many as fit."""
    within = (0, min(len(text), 2 * _MAX_SUMMARY_CHARS))
    spans = cut_sentences(text, within, max_chars=_MAX_SUMMARY_CHARS)
    if not spans:
        return [(0, _MAX_SUMMARY_CHARS)]
    start = spans[0][0]
    return [(start, max(end for _, end in spans if end - start <= _MAX_SUMMARY_CHARS))]


def _find_nearest(
    services: Services,
    question: Question,
    hits: Sequence[Hit],
    choices: Mapping[int, Sequence[Range]],
) -> dict[int, int]:
    """Map the position of a hit to the index of its nearest range among its `choices`."""
    texts = {
        place: [hits[place].memory.text[start:end] for start, end in spans]
        for place, spans in choices.items()
    }
    scores = {place: _score_words(question, choice) for place, choice in texts.items()}
    # Read once: vectors of two models cannot be compared, and the model may change meanwhile.
    embedder = services.embedder
    if Arm.MEANING in question.arms and embedder.understands(question.text):
        undecided = {
            place: choice
            for place, choice in texts.items()
            if _passage(hits[place]) and not _has_clear_winner(scores[place])
        }
        limited = _limit_embedded(undecided)
        for place, cosines in _score_meaning(embedder, question, limited).items():
            scores[place] += cosines
    return {place: int(np.argmax(score)) for place, score in scores.items()}


def _has_clear_winner(scores: NDArray[np.float32]) -> bool:
    """Return whether one sentence alone has the best score, and half of the words."""
    best = scores.max()
    return bool(best >= _WORDS / 2 and np.count_nonzero(scores == best) == 1)


def _limit_embedded(texts: Mapping[int, Sequence[str]]) -> dict[int, Sequence[str]]:
    """Return the first entries of `texts`, with at most 48 sentences in all."""
    ends = np.cumsum([len(choice) for choice in texts.values()])
    return {
        place: choice
        for (place, choice), end in zip(texts.items(), ends, strict=True)
        if end <= _MAX_EMBEDDED
    }


def _score_words(question: Question, texts: Sequence[str]) -> NDArray[np.float32]:
    if Arm.WORDS not in question.arms:
        return np.zeros(len(texts), np.float32)
    query_terms = set(terms(question.text))
    shared = [len(query_terms.intersection(terms(text))) for text in texts]
    return np.array(shared, np.float32) * np.float32(_WORDS / (len(query_terms) or 1))


def _score_meaning(
    embedder: CheckedEmbedder, question: Question, texts: Mapping[int, Sequence[str]]
) -> dict[int, NDArray[np.float32]]:
    """Return the cosines of texts with the question, float32; {} if the model fails."""
    if not texts:
        return {}
    try:
        vector = embedder.embed_query(question.text)
        # One batch is faster than several.
        cosines = embedder.embed([text for choice in texts.values() for text in choice])
    except EmbedderError as error:
        _log.warning("the highlights were chosen by words alone: %s", error)
        return {}
    ends = np.cumsum([len(choice) for choice in texts.values()])[:-1]
    return dict(zip(texts, np.split(cosines @ vector, ends), strict=True))
