"""Overview: the hits of a search, summaries first, with the sentences that answer best."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.values.hits import LIKELY, Hit
from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.question import Question
from infinite_memory.engine.retrieval.highlights import choose_highlights
from infinite_memory.engine.retrieval.summaries import outdated_sources
from infinite_memory.engine.services import Services

_MAX_CHARS = 300
_MAX_SUMMARY_CHARS = 1000


def overview(services: Services, question: Question, ranked: Sequence[Hit]) -> list[Hit]:
    """Return `ranked` hits, best first and with explanations, in the order of an overview.

    1. Likely summaries, then other likely hits, then unlikely summaries, then the rest. Hits that a
       summary covers come last. An outdated summary counts as an ordinary hit, but an outdated
       topic summary is left out: the dreamer, not a person, vouched for it.
    2. Every hit has a highlight: the whole of a short text, the beginning of a summary, or the
       sentences of the best passage that are nearest to the question in words and meaning.
    """
    summaries = [hit.memory for hit in ranked if hit.memory.kind is Kind.SUMMARY]
    outdated = outdated_sources(services, summaries)
    ranked = [
        evolve(hit, outdated=outdated.get(hit.memory.id, ()))
        for hit in ranked
        if not (hit.memory.is_dreamed and hit.memory.id in outdated)
    ]
    covers = _assign_covered(ranked)
    covered = {memory_id for ids in covers.values() for memory_id in ids}
    highlights = choose_highlights(services, question, ranked, [_max_chars(hit) for hit in ranked])
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


def _max_chars(hit: Hit) -> int:
    return _MAX_SUMMARY_CHARS if hit.memory.kind is Kind.SUMMARY else _MAX_CHARS
