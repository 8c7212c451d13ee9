"""Decisions that contradict: two in force on one component of a repository that are much alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.memory import JsonValue, Kind
from infinite_memory.core.values.receipt import Receipt, Similar
from infinite_memory.engine.services import Services
from infinite_memory.features.projects.chunk import Chunk
from infinite_memory.features.projects.loading import IN_FORCE, load_chunks
from infinite_memory.search.similarity import score_cosines

# What is decided is compared, without its reasons. Of nine pairs on one component that contradict,
# eight have more, and of seven that go together one.
_LEAST_LIKENESS = 0.5
_MOST_READ, _MOST_COMPARED = 200, 20


def find_contradicted(services: Services, draft: Draft, scope: str) -> dict[str, Similar]:
    """Return the decisions in force in `scope` that a new one probably contradicts, by id.

    They are on the same component, and not among those that it supersedes.
    """
    component = _fold_name(draft.context.get("component"))
    if draft.kind is not Kind.DECISION or not component:
        return {}
    decisions = load_chunks(
        services, {scope}, kinds={Kind.DECISION}, statuses=IN_FORCE, most=_MOST_READ
    )
    known = {draft.id, *draft.supersedes}
    same = [each for each in decisions if _fold_name(each.component) == component]
    others = [each for each in same if each.id not in known][:_MOST_COMPARED]
    if not others:
        return {}
    stated = str(draft.context.get("decision") or draft.text)
    scores = _compare(services, stated, others)
    return {each.id: _describe(each, scores[each.id]) for each in others if each.id in scores}


def name_contradicted(receipt: Receipt, found: Mapping[str, Similar]) -> Receipt:
    """Return the receipt of a decision with what it contradicts among what it replaces."""
    named = {each.id for each in receipt.replaces}
    more = [each for each in found.values() if each.id not in named]
    similar = tuple(each for each in receipt.similar if each.id not in found)
    return evolve(receipt, replaces=(*receipt.replaces, *more), similar=similar)


def _compare(services: Services, stated: str, others: Sequence[Chunk]) -> dict[str, float]:
    texts = [stated, *(each.parts.get("decision") or each.content for each in others)]
    try:
        vectors = services.embedder.embed(texts)
    except EmbedderError:
        return {}  # a comparison must not keep a decision from being stored
    cosines = np.asarray(vectors[1:]) @ np.asarray(vectors[0])
    nearest = [(each.id, float(cosine)) for each, cosine in zip(others, cosines, strict=True)]
    background = services.embedder.background
    return dict(score_cosines(nearest, background=background, least_score=_LEAST_LIKENESS))


def _describe(chunk: Chunk, score: float) -> Similar:
    return Similar(
        id=chunk.id,
        text=chunk.content,
        happened_at=chunk.happened_at,
        scope=chunk.scope,
        key=None,
        score=score,
    )


def _fold_name(value: JsonValue) -> str:
    return value.strip().casefold() if isinstance(value, str) else ""
