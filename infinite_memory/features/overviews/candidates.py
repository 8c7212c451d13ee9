"""The memories that may tell something about a topic: found by a search, or linked with those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from infinite_memory.core.values.criteria import Depth
from infinite_memory.core.values.hits import LIKELY, Hit
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.core.values.record import Record
from infinite_memory.engine.load_memories import load_records
from infinite_memory.engine.priority import compute_priority, weights_of_links
from infinite_memory.engine.retrieval.feedback import rank_with_feedback
from infinite_memory.engine.retrieval.search_request import SearchRequest, build_question
from infinite_memory.engine.retrieval.summaries import drop_outdated
from infinite_memory.engine.services import Services

_POOL = 200
# A memory with a lower score hardly concerns the topic: one in twenty of them answers.
_LEAST_SCORE = 0.05
# Beside a good match, a memory counts that has a word of the topic, or this score without one, and
# this share of the total of the best.
_GOOD_SCORE, _WORDLESS_SCORE, _LEAST_TOTAL = 0.5, 0.2, 0.1
# A memory linked with one about the topic counts as half as relevant, times the weight.
_LINKED = 0.5
_MOST_LINKED = 50
_LEAST_SHARE = 0.5
_ABOUT_THE_SAME = frozenset(
    {LinkType.SEMANTIC, LinkType.TEMPORAL, LinkType.CONTEXT, LinkType.INTENT}
)


@frozen(kw_only=True)
class Candidates:
    """What a search and its links found about a topic, by descending score.

    `summaries` are likely ones, but no topic summaries that are outdated; `sources` has what they
    were made from, by id. `hits` have explanations where the search found them, and `priorities`
    and `vectors` are theirs, by id. A memory has no vectors here where these mean
    nothing for the language of the topic. `beyond` counts what the search found and did not return.
    With `only_near` no candidate has a word of the topic, and none is near enough to be known.
    """

    question: Question
    summaries: Sequence[Hit]
    hits: Sequence[Hit]
    priorities: Mapping[str, float]
    vectors: Mapping[str, NDArray[np.float32]]
    sources: Mapping[str, Memory]
    beyond: int
    only_near: bool
    note: str | None


def find_candidates(services: Services, topic: str, scope: object) -> Candidates:
    """Return the memories that may tell something about `topic`.

    Nothing is found unless something is likely to answer.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: a scope does not exist.
    """
    request = SearchRequest(
        text=topic,
        conditions={"scope": scope},  # type: ignore[typeddict-item]  # checked there
        limit=_POOL,
        threshold=_LEAST_SCORE,
        depth=Depth.OVERVIEW,
        explain=True,
    )
    question = build_question(services, request)
    ranking = rank_with_feedback(services, question).ranking
    if ranking.best < LIKELY:
        ranking = evolve(ranking, candidates=(), matches=0)
    beyond = ranking.matches - len(ranking.candidates)
    embedder = services.embedder
    records = load_records(
        services, [candidate.id for candidate in ranking.candidates], models=[embedder.model]
    )
    found, sources = drop_outdated(services, _make_hits(question, ranking, records))
    if found and found[0].score < LIKELY:
        found, beyond = [], 0
    only_near = _is_only_near(found)
    hits = [hit for hit in found if hit.score >= LIKELY] if only_near else _drop_noise(found)
    links = services.storage.links([hit.memory.id for hit in hits]) if hits else []
    # What is linked with a memory that may be about something else says nothing about the topic.
    linked = [] if only_near else _load_linked(services, question, hits, links)
    linked, more_sources = drop_outdated(services, linked)
    hits = sorted([*hits, *linked], key=lambda hit: -hit.score)
    understood = embedder.understands(topic)
    return Candidates(
        question=question,
        summaries=[hit for hit in hits if _is_summary(hit) and hit.score >= LIKELY],
        hits=[hit for hit in hits if not _is_summary(hit)],
        priorities=_compute_priorities(services, [hit.memory for hit in hits], links),
        vectors=_read_vectors(records, embedder.model) if understood else {},
        sources={**sources, **more_sources},
        beyond=0 if only_near else max(0, beyond),
        only_near=only_near,
        note=ranking.note,
    )


def _is_summary(hit: Hit) -> bool:
    return hit.memory.kind is Kind.SUMMARY


def _make_hits(question: Question, ranking: Ranking, records: Mapping[str, Record]) -> list[Hit]:
    """Return the candidates that are there still and meet the criteria, best first."""
    return [
        Hit(memory=memory, score=candidate.score, explanation=candidate.explanation)
        for candidate in ranking.candidates
        if (record := records.get(candidate.id)) is not None
        and question.criteria.admit(memory := record.memory)
    ]


def _is_only_near(hits: Sequence[Hit]) -> bool:
    """Return whether `hits`, best first, are no more than near to the topic in meaning.

    In a small store, something is likely enough for any topic: of twenty everyday notes, the one
    about a deployment for "Kubernetes". With a word of the topic, its speaker or its time, or a
    good score, a memory is about it.
    """
    if not hits or hits[0].score >= _GOOD_SCORE:
        return False
    return not any(
        (reasons := hit.explanation) is None
        or max(reasons.bm25, reasons.speaker, reasons.time, reasons.quoted) > 0
        for hit in hits
    )


def _drop_noise(hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits`, best first, without memories that hardly concern the topic.

    In a small store, whatever is not quite unlike the topic has a score; the best match shows
    whether that is much.
    """
    if not hits or hits[0].score < _GOOD_SCORE or hits[0].explanation is None:
        return list(hits)
    least = _LEAST_TOTAL * hits[0].explanation.total
    return [
        hit
        for hit in hits
        if (reasons := hit.explanation) is None
        or (reasons.total >= least and (reasons.bm25 > 0 or hit.score >= _WORDLESS_SCORE))
    ]


def _load_linked(
    services: Services, question: Question, hits: Sequence[Hit], links: Sequence[Link]
) -> list[Hit]:
    """Return memories that are linked with likely hits and are no hits, and summaries of those.

    A summary counts if it was made from at least two likely hits, and these are half of its
    sources; its score is their share.
    """
    likely = {hit.memory.id: hit.score for hit in hits if hit.score >= LIKELY}
    scores: dict[str, float] = {}
    for link in links:
        for near, far in _list_ways(link):
            if near in likely:
                scores[far] = max(scores.get(far, 0.0), _LINKED * link.weight * likely[near])
    for hit in hits:
        scores.pop(hit.memory.id, None)
    strongest = sorted(scores, key=lambda memory_id: (-scores[memory_id], memory_id))
    linked = []
    for memory_id, record in load_records(services, strongest[:_MOST_LINKED]).items():
        memory, score = record.memory, scores[memory_id]
        if memory.kind is Kind.SUMMARY:
            score = _measure_share(memory.sources, likely)
        if score >= _LEAST_SCORE and memory.is_indexed and question.criteria.admit(memory):
            linked.append(Hit(memory=memory, score=score))
    return linked


def _list_ways(link: Link) -> Iterator[tuple[str, str]]:
    """Yield the ends of a link as it is followed: a summary is reached from its sources only."""
    if link.type in _ABOUT_THE_SAME:
        yield link.source, link.target
    if link.type in _ABOUT_THE_SAME or link.type is LinkType.DERIVED_FROM:
        yield link.target, link.source


def _measure_share(sources: Sequence[str], likely: Mapping[str, float]) -> float:
    """Return which share of the sources of a summary is likely, 0 for less than half or two."""
    number = sum(source in likely for source in sources)
    share = number / len(sources) if sources else 0.0
    return share if number > 1 and share >= _LEAST_SHARE else 0.0


def _compute_priorities(
    services: Services, memories: Sequence[Memory], links: Sequence[Link]
) -> dict[str, float]:
    now, ids = services.clock(), [memory.id for memory in memories]
    usage = services.storage.usage(ids)
    weights = weights_of_links(ids, links)
    return {
        memory.id: compute_priority(memory, usage.get(memory.id), weights[memory.id], now)
        for memory in memories
    }


def _read_vectors(records: Mapping[str, Record], model: str) -> dict[str, NDArray[np.float32]]:
    return {
        memory_id: embedding.vectors
        for memory_id, record in records.items()
        if (embedding := record.embedding_by(model)) is not None
    }
