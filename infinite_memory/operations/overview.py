"""Overview: what a search found, summaries first, each with the sentences that answer best."""

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
from infinite_memory.operations.services import Services
from infinite_memory.operations.summaries import outdated
from infinite_memory.text.analyzer import terms
from infinite_memory.text.highlights import Range, sentences, widened

__all__ = ["overview"]

_log = logging.getLogger(__name__)
_MAX_CHARS = 300
_MAX_SUMMARY_CHARS = 1000
# A passage is seldom longer.
_PASSAGE_CHARS = 4000
# So many sentences the model compares for one answer, those of the best hits: a search is to be
# felt as instant, and it takes some milliseconds for each.
_COMPARED = 48
# Without vectors there is no best passage; the rest of a very long text is not looked through.
_SEARCHED_CHARS = 20_000
# As in the ranking, words count half as much as meaning.
_WORDS = 0.5


def overview(services: Services, question: Question, found: Sequence[Hit]) -> list[Hit]:
    """Return the hits of an overview: `found`, best first with explanations, in a new order.

    1. Summaries that probably answer, then others that do; then the same of those that probably do
       not. What a summary covers comes last. One that is outdated counts as no summary.
    2. Each has its highlight: the whole of a short text, the beginning of a summary, or those
       sentences of the best passage that are nearest to the question by words and meaning.
    """
    summaries = [hit.memory for hit in found if hit.memory.kind is Kind.SUMMARY]
    old = outdated(services, summaries)
    found = [evolve(hit, outdated=old.get(hit.memory.id, ())) for hit in found]
    covers = _covers(found)
    covered = {one for ids in covers.values() for one in ids}
    highlights = _highlights(services, question, found)
    hits = [
        evolve(hit, highlight=highlight, covers=covers.get(hit.memory.id, ()))
        for hit, highlight in zip(found, highlights, strict=True)
    ]
    return sorted(hits, key=lambda hit: (hit.memory.id in covered, _tier(hit)))


def _tier(hit: Hit) -> tuple[bool, bool]:
    """Return the place of a hit among the others: a summary comes first among its like."""
    return hit.score < LIKELY, not _stands(hit)


def _stands(hit: Hit) -> bool:
    """Tell whether a hit is a summary that says what its sources say now."""
    return hit.memory.kind is Kind.SUMMARY and not hit.outdated


def _covers(found: Sequence[Hit]) -> dict[str, tuple[str, ...]]:
    """Return for each summary the ids of those hits that need not be shown beside it.

    It is made from them, says what they say now, and comes before them. What is covered covers
    nothing, so that each is named by a hit that is shown.
    """
    hits = {hit.memory.id: hit for hit in found}
    covers: dict[str, tuple[str, ...]] = {}
    taken: set[str] = set()
    for hit in sorted(found, key=_tier):
        summary = hit.memory
        if not _stands(hit) or summary.id in taken:
            continue
        sources = (hits[one] for one in dict.fromkeys(summary.sources) if one in hits)
        ids = tuple(
            other.memory.id
            for other in sources
            if other.memory.id not in {summary.id, *taken, *covers} and _tier(hit) <= _tier(other)
        )
        if ids:
            covers[summary.id] = ids
            taken.update(ids)
    return covers


def _highlights(services: Services, question: Question, found: Sequence[Hit]) -> list[Range]:
    """Return the highlight of each hit, half-open character ranges in their texts."""
    parts = [_parts(hit) for hit in found]
    choices = {place: part for place, part in enumerate(parts) if len(part) > 1}
    nearest = _nearest(services, question, found, choices)
    return [
        widened(part, nearest.get(place, 0), max_chars=_max_chars(hit))
        for place, (hit, part) in enumerate(zip(found, parts, strict=True))
    ]


def _max_chars(hit: Hit) -> int:
    return _MAX_SUMMARY_CHARS if hit.memory.kind is Kind.SUMMARY else _MAX_CHARS


def _parts(hit: Hit) -> list[Range]:
    """Return what the highlight of a hit is chosen from, at least one range."""
    text = hit.memory.text
    if len(text) <= _max_chars(hit):
        return [(0, len(text))]
    if hit.memory.kind is Kind.SUMMARY:
        return _first(text)
    start, end = _passage(hit) or (0, _SEARCHED_CHARS)
    return sentences(text, (start, min(end, len(text))), max_chars=_MAX_CHARS) or [(0, _MAX_CHARS)]


def _passage(hit: Hit) -> Range | None:
    """Return the beginning of the best passage, None where there is none in the text."""
    passage = None if hit.explanation is None else hit.explanation.passage
    # The text may have been changed since the index was read.
    if passage is None or passage[1] > len(hit.memory.text):
        return None
    return passage[0], min(passage[1], passage[0] + _PASSAGE_CHARS)


def _first(text: str) -> list[Range]:
    """Return the beginning of a summary, as many whole sentences as fit."""
    within = (0, min(len(text), 2 * _MAX_SUMMARY_CHARS))
    parts = sentences(text, within, max_chars=_MAX_SUMMARY_CHARS)
    if not parts:
        return [(0, _MAX_SUMMARY_CHARS)]
    start = parts[0][0]
    return [(start, max(end for _, end in parts if end - start <= _MAX_SUMMARY_CHARS))]


def _nearest(
    services: Services,
    question: Question,
    found: Sequence[Hit],
    choices: Mapping[int, Sequence[Range]],
) -> dict[int, int]:
    """Return for each of the `choices`, by its place in `found`, which sentence is nearest."""
    texts = {
        place: [found[place].memory.text[start:end] for start, end in parts]
        for place, parts in choices.items()
    }
    scores = {place: _by_words(question, parts) for place, parts in texts.items()}
    # Once: another model may answer a moment later, and two cannot be compared.
    embedder = services.embedder
    if Arm.MEANING in question.arms and embedder.understands(question.text):
        open_ones = {
            place: parts
            for place, parts in texts.items()
            if _passage(found[place]) and not _decided(scores[place])
        }
        for place, cosines in _by_meaning(embedder, question, _first_of(open_ones)).items():
            scores[place] += cosines
    return {place: int(np.argmax(score)) for place, score in scores.items()}


def _decided(scores: NDArray[np.float32]) -> bool:
    """Tell whether the words alone say which sentence it is: one has half of them, and the most."""
    best = scores.max()
    return bool(best >= _WORDS / 2 and np.count_nonzero(scores == best) == 1)


def _first_of(texts: Mapping[int, Sequence[str]]) -> dict[int, Sequence[str]]:
    """Return the first of `texts`, as many as the model may compare for one answer."""
    ends = np.cumsum([len(parts) for parts in texts.values()])
    return {
        place: parts
        for (place, parts), end in zip(texts.items(), ends, strict=True)
        if end <= _COMPARED
    }


def _by_words(question: Question, texts: Sequence[str]) -> NDArray[np.float32]:
    if Arm.WORDS not in question.arms:
        return np.zeros(len(texts), np.float32)
    asked = set(terms(question.text))
    shared = [len(asked.intersection(terms(text))) for text in texts]
    return np.array(shared, np.float32) * np.float32(_WORDS / (len(asked) or 1))


def _by_meaning(
    embedder: CheckedEmbedder, question: Question, texts: Mapping[int, Sequence[str]]
) -> dict[int, NDArray[np.float32]]:
    """Return the cosines of texts with the question, float32, nothing where the model fails."""
    if not texts:
        return {}
    try:
        vector = embedder.embed_query(question.text)
        # All at once: the model is quicker so.
        cosines = embedder.embed([text for part in texts.values() for text in part])
    except EmbedderError as error:
        _log.warning("the highlights were chosen by words alone: %s", error)
        return {}
    ends = np.cumsum([len(part) for part in texts.values()])[:-1]
    return dict(zip(texts, np.split(cosines @ vector, ends), strict=True))
