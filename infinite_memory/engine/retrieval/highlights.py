"""Highlights: the part of a long text that answers a question, by words and by meaning."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.question import Arm, Question
from infinite_memory.engine.services import Services
from infinite_memory.search.embedding import CheckedEmbedder
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.highlights import (
    Range,
    cut_sentences,
    densest_range,
    is_dense_script,
    widen_range,
)

_log = logging.getLogger(__name__)
# A highlight of this length has a few sentences around the one that answers. A character of a
# script without spaces says as much as two or three letters.
_HIGHLIGHT_CHARS = 600
_DENSE_HIGHLIGHT_CHARS = 300
# A text that is hardly longer than its highlight is shown whole.
_WHOLE_SHARE = 4 / 3
_SENTENCE_CHARS = 300
# A passage is rarely longer.
_PASSAGE_CHARS = 4000
# The model embeds at most this many sentences of the best hits, at some milliseconds each, so that
# a search still feels instant.
_MAX_EMBEDDED = 48
# As in the ranking, words weigh half as much as meaning.
_WORDS = 0.5


@frozen
class _Choice:
    """The sentences of a text from which its highlight is chosen, in groups of neighbours."""

    groups: tuple[tuple[Range, ...], ...]

    @property
    def sentences(self) -> list[Range]:
        return [sentence for group in self.groups for sentence in group]

    def widen(self, chosen: int, max_chars: int) -> Range:
        """Return the sentence with the number `chosen` and its neighbours, up to `max_chars`."""
        for group in self.groups:
            if chosen < len(group):
                return widen_range(group, chosen, max_chars=max_chars)
            chosen -= len(group)
        raise IndexError(chosen)


def highlight_long_texts(services: Services, question: Question, hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits`, which have explanations, with a highlight for every long text.

    Long is a text of more than 800 characters, or 400 of a script without spaces.
    """
    long = [hit for hit in hits if _is_long(hit.memory.text)]
    limits = [_limit_of(hit.memory.text) for hit in long]
    ranges = choose_highlights(services, question, long, limits) if long else []
    highlights = {hit.id: found for hit, found in zip(long, ranges, strict=True)}
    return [
        evolve(hit, highlight=highlights[hit.id]) if hit.id in highlights else hit for hit in hits
    ]


def choose_highlights(
    services: Services, question: Question, hits: Sequence[Hit], max_chars: Sequence[int]
) -> list[Range]:
    """Return the highlight of every hit, a half-open range of at most so many characters.

    It is the whole of a short text and the beginning of a summary. Of any other text it is the
    sentence nearest to the question in words and meaning, with its neighbours; the sentence comes
    from the best passage, or from where the words of the question stand together.
    """
    choices = [
        _list_sentences(question, hit, limit) for hit, limit in zip(hits, max_chars, strict=True)
    ]
    open_choices = {n: choice for n, choice in enumerate(choices) if len(choice.sentences) > 1}
    nearest = _find_nearest(services, question, hits, open_choices)
    return [
        choice.widen(nearest.get(number, 0), limit)
        for number, (choice, limit) in enumerate(zip(choices, max_chars, strict=True))
    ]


def _is_long(text: str) -> bool:
    is_short = len(text) <= _DENSE_HIGHLIGHT_CHARS
    return not is_short and len(text) > _limit_of(text) * _WHOLE_SHARE


def _limit_of(text: str) -> int:
    return _DENSE_HIGHLIGHT_CHARS if is_dense_script(text) else _HIGHLIGHT_CHARS


def _list_sentences(question: Question, hit: Hit, max_chars: int) -> _Choice:
    text = hit.memory.text
    if len(text) <= max_chars:
        return _Choice((((0, len(text)),),))
    if hit.memory.kind is Kind.SUMMARY and max_chars > _HIGHLIGHT_CHARS:
        return _Choice(((_leading_sentences(text, max_chars),),))
    passage = _passage(hit)
    words = None
    if Arm.WORDS in question.arms:
        words = densest_range(text, list(dict.fromkeys(terms(question.text))), span=max_chars)
    regions = [region for region in (passage, words) if region is not None]
    if len(regions) == 2 and regions[0][0] <= regions[1][1] and regions[1][0] <= regions[0][1]:
        starts, ends = zip(*regions, strict=True)
        regions = [(min(starts), max(ends))]
    most = min(_SENTENCE_CHARS, max_chars)
    groups = (cut_sentences(text, region, max_chars=most) for region in regions)
    found = tuple(tuple(group) for group in groups if group)
    return _Choice(found or (((0, max_chars),),))


def _passage(hit: Hit) -> Range | None:
    """Return the range of the best passage, cut to a limit; None without a passage."""
    passage = None if hit.explanation is None else hit.explanation.passage
    # The text may have changed since the index was read.
    if passage is None or passage[1] > len(hit.memory.text):
        return None
    return passage[0], min(passage[1], passage[0] + _PASSAGE_CHARS)


def _leading_sentences(text: str, max_chars: int) -> Range:
    """Return the range of the first sentences, as many as fit."""
    spans = cut_sentences(text, (0, min(len(text), 2 * max_chars)), max_chars=max_chars)
    if not spans:
        return 0, max_chars
    start = spans[0][0]
    return start, max(end for _, end in spans if end - start <= max_chars)


def _find_nearest(
    services: Services, question: Question, hits: Sequence[Hit], choices: Mapping[int, _Choice]
) -> dict[int, int]:
    """Map the number of a hit to the number of its nearest sentence among its `choices`."""
    texts = {
        number: [hits[number].memory.text[start:end] for start, end in choice.sentences]
        for number, choice in choices.items()
    }
    scores = {number: _score_words(question, sentences) for number, sentences in texts.items()}
    # Read once: vectors of two models cannot be compared, and the model may change meanwhile.
    embedder = services.embedder
    if Arm.MEANING in question.arms and embedder.understands(question.text):
        undecided = {
            number: sentences
            for number, sentences in texts.items()
            if _passage(hits[number]) and not _has_clear_winner(scores[number])
        }
        limited = _limit_embedded(undecided)
        for number, cosines in _score_meaning(embedder, question, limited).items():
            scores[number] += cosines
    return {number: int(np.argmax(score)) for number, score in scores.items()}


def _has_clear_winner(scores: NDArray[np.float32]) -> bool:
    """Return whether a single sentence has the best score, and half of the words."""
    best = scores.max()
    return bool(best >= _WORDS / 2 and np.count_nonzero(scores == best) == 1)


def _limit_embedded(texts: Mapping[int, Sequence[str]]) -> dict[int, Sequence[str]]:
    """Return the first entries of `texts`, with at most 48 sentences in all."""
    ends = np.cumsum([len(choice) for choice in texts.values()])
    return {
        number: choice
        for (number, choice), end in zip(texts.items(), ends, strict=True)
        if end <= _MAX_EMBEDDED
    }


def _score_words(question: Question, sentences: Sequence[str]) -> NDArray[np.float32]:
    """Return how many words of the question a sentence holds, as a share of the question."""
    if Arm.WORDS not in question.arms:
        return np.zeros(len(sentences), np.float32)
    query_terms = set(terms(question.text))
    shared = [len(query_terms.intersection(terms(sentence))) for sentence in sentences]
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
