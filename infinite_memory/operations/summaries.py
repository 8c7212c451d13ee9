"""Summaries and what they were made from."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.memory import Kind, Memory, Status
from infinite_memory.operations.load_memories import sound_memories
from infinite_memory.operations.services import Services

__all__ = ["outdated"]

_log = logging.getLogger(__name__)
_GONE = {Status.SUPERSEDED, Status.FORGOTTEN}


def outdated(services: Services, summaries: Sequence[Memory]) -> dict[str, tuple[str, ...]]:
    """Return for each summary that may no longer be true the sources on account of which.

    They are superseded or forgotten, or their text was changed after the summary was stored, or
    they are summaries of which that is true. One that was archived is as true as before; one that
    was erased is not known any more.
    """
    known = _with_sources(services, summaries)
    found = {summary.id: _changed(services, summary, known) for summary in summaries}
    return {memory_id: ids for memory_id, ids in found.items() if ids}


def _with_sources(services: Services, summaries: Sequence[Memory]) -> dict[str, Memory]:
    """Return `summaries` and all that they were made from, down to what is no summary."""
    known = {summary.id: summary for summary in summaries}
    level = list(summaries)
    while level:
        wanted = [
            one
            for memory in level
            if memory.kind is Kind.SUMMARY
            for one in memory.sources
            if one not in known
        ]
        level = list(sound_memories(services, wanted).values())
        known.update((memory.id, memory) for memory in level)
    return known


def _changed(services: Services, summary: Memory, known: Mapping[str, Memory]) -> tuple[str, ...]:
    """Return the sources of `summary` that hold no longer, themselves or by one of their own."""
    return tuple(
        one
        for one in dict.fromkeys(summary.sources)
        if one in known and _is_stale(services, known[one], summary, known)
    )


def _is_stale(
    services: Services, source: Memory, summary: Memory, known: Mapping[str, Memory]
) -> bool:
    seen, level = {summary.id}, [(source, summary)]
    while level:
        one, made = level.pop()
        if one.id in seen:
            continue
        seen.add(one.id)
        if _differs(services, one, made):
            return True
        if one.kind is Kind.SUMMARY:
            level.extend((known[each], one) for each in one.sources if each in known)
    return False


def _differs(services: Services, source: Memory, summary: Memory) -> bool:
    if source.status in _GONE:
        return True
    if source.stored_at <= summary.stored_at or source.revision == 1:
        return False
    before = _text_at(services, source, summary.stored_at)
    return before is not None and before != source.text


def _text_at(services: Services, memory: Memory, moment: datetime) -> str | None:
    """Return the text that a memory had at a moment, or its first one after that, if known."""
    try:
        revisions = services.storage.history(memory.id)
    except StoreDamaged as error:
        _log.error("%s", error)
        return None
    if not revisions:
        return None
    before = [revision for revision in revisions if revision.stored_at <= moment]
    return (before[-1] if before else revisions[0]).text
