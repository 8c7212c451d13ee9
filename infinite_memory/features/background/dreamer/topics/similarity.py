"""Which topic summaries of a level are about one subject."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.errors import NotFound
from infinite_memory.core.protocols import SupportsSimilar
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.features.background.dreamer.topics.clustering import Edge, Weights
from infinite_memory.features.background.dreamer.view import CycleView
from infinite_memory.search.similarity import score_cosines
from infinite_memory.search.text.analyzer import terms

_MOST_SIMILAR = 5
_COMPARED = 50
_LEAST_SCORE = 0.5


def weigh_similar(view: CycleView, topics: Sequence[Memory]) -> Weights:
    """Return the scores of the pairs of topic summaries that are among each other's nearest.

    The score is that of `receipt.similar`, of their vectors and of the words in common, from 0.5.
    Their titles have a word in common: what a model takes for similar in a language that it was not
    made for is not enough.
    """
    words = {topic.id: _words_of(topic.title or "") for topic in topics}
    near: dict[Edge, list[float]] = {}
    for topic in topics:
        if view.is_over():
            break
        for other, score in _similar(view, topic):
            has_word = not words[topic.id].isdisjoint(words.get(other, ()))
            if has_word and score >= _LEAST_SCORE:
                edge = (min(topic.id, other), max(topic.id, other))
                near.setdefault(edge, []).append(score)
    return {edge: min(scores) for edge, scores in near.items() if len(scores) > 1}


def _similar(view: CycleView, topic: Memory) -> list[tuple[str, float]]:
    model = view.services.models.answering()
    criteria = evolve(view.criteria, kinds=frozenset({Kind.SUMMARY}))
    if isinstance(model.index, SupportsSimilar):
        return model.index.find_similar(
            topic.id, topic.text, criteria, ignored=(), limit=_MOST_SIMILAR
        )
    try:
        nearest = model.index.nearest(topic.id, criteria, limit=_COMPARED)
    except NotFound:
        return []  # erased meanwhile
    return score_cosines(nearest, background=model.embedder.background)[:_MOST_SIMILAR]


def _words_of(title: str) -> frozenset[str]:
    """Return the terms of a title, without single characters of Chinese."""
    return frozenset(term for term in terms(title) if len(term) > 1)
