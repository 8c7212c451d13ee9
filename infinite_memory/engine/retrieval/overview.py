"""Overview: the hits of a search, summaries first, with the sentences that answer best."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.values.hits import LIKELY, Hit
from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.question import Question
from infinite_memory.engine.retrieval.highlights import choose_highlights
from infinite_memory.engine.retrieval.summaries import drop_outdated, find_covered
from infinite_memory.engine.services import Services

_MAX_CHARS = 300
_MAX_SUMMARY_CHARS = 1000


def overview(services: Services, question: Question, ranked: Sequence[Hit]) -> list[Hit]:
    """Return `ranked` hits, best first and with explanations, in the order of an overview.

    1. Likely summaries, then other likely hits, then unlikely summaries, then the rest. Hits that a
       summary covers come last. An outdated summary counts as an ordinary hit, but an outdated
       topic summary is left out.
    2. Every hit has a highlight: the whole of a short text, the beginning of a summary, or the
       sentences of the best passage that are nearest to the question in words and meaning.
    """
    ranked, known = drop_outdated(services, ranked)
    covers = find_covered(sorted(ranked, key=_tier), known)
    covered = {memory_id for ids in covers.values() for memory_id in ids}
    highlights = choose_highlights(services, question, ranked, [_max_chars(hit) for hit in ranked])
    hits = [
        evolve(hit, highlight=highlight, covers=covers.get(hit.memory.id, ()))
        for hit, highlight in zip(ranked, highlights, strict=True)
    ]
    return sorted(hits, key=lambda hit: (hit.memory.id in covered, _tier(hit)))


def _tier(hit: Hit) -> tuple[bool, bool]:
    """Return the sort key of a hit: likely before unlikely, valid summaries before other hits."""
    is_valid_summary = hit.memory.kind is Kind.SUMMARY and not hit.outdated
    return hit.score < LIKELY, not is_valid_summary


def _max_chars(hit: Hit) -> int:
    return _MAX_SUMMARY_CHARS if hit.memory.kind is Kind.SUMMARY else _MAX_CHARS
