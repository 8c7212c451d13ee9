"""Find summaries whose sources have changed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services

_log = logging.getLogger(__name__)
_GONE = {Status.SUPERSEDED, Status.FORGOTTEN}


def outdated_sources(services: Services, summaries: Sequence[Memory]) -> dict[str, tuple[str, ...]]:
    """Map the id of each outdated summary to the ids of the sources that make it outdated.

    Such a source is superseded or forgotten, its text was changed after the summary was stored, or
    it is an outdated summary itself. An archived source is still valid; an erased source is
    unknown.
    """
    known = load_sources(services, summaries)
    outdated = {summary.id: _changed_sources(services, summary, known) for summary in summaries}
    return {memory_id: ids for memory_id, ids in outdated.items() if ids}


def load_sources(services: Services, summaries: Sequence[Memory]) -> dict[str, Memory]:
    """Return `summaries` with their direct and indirect sources, by id."""
    known = {summary.id: summary for summary in summaries}
    level = list(summaries)
    while level:
        wanted = [
            source_id
            for memory in level
            if memory.kind is Kind.SUMMARY
            for source_id in memory.sources
            if source_id not in known
        ]
        level = list(load_memories(services, wanted).values())
        known.update((memory.id, memory) for memory in level)
    return known


def _changed_sources(
    services: Services, summary: Memory, known: Mapping[str, Memory]
) -> tuple[str, ...]:
    """Return the ids of the sources of `summary` that make it outdated."""
    return tuple(
        source_id
        for source_id in dict.fromkeys(summary.sources)
        if source_id in known and _is_stale(services, known[source_id], summary, known)
    )


def _is_stale(
    services: Services, source: Memory, summary: Memory, known: Mapping[str, Memory]
) -> bool:
    seen, level = {summary.id}, [(source, summary)]
    while level:
        memory, made_from_it = level.pop()
        if memory.id in seen:
            continue
        seen.add(memory.id)
        if _differs(services, memory, made_from_it):
            return True
        if memory.kind is Kind.SUMMARY:
            level.extend((known[id_], memory) for id_ in memory.sources if id_ in known)
    return False


def _differs(services: Services, source: Memory, summary: Memory) -> bool:
    if source.status in _GONE:
        return True
    if source.stored_at <= summary.stored_at or source.revision == 1:
        return False
    before = _text_at(services, source, summary.stored_at)
    return before is not None and before != source.text


def _text_at(services: Services, memory: Memory, moment: datetime) -> str | None:
    """Return the text of a memory at a moment, or its first later text; None if unknown."""
    try:
        revisions = services.storage.history(memory.id)
    except StoreDamaged as error:
        _log.error("%s", error)
        return None
    if not revisions:
        return None
    before = [revision for revision in revisions if revision.stored_at <= moment]
    return (before[-1] if before else revisions[0]).text
