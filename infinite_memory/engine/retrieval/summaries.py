"""Summaries among hits: which are outdated, and what they tell of the others."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from attrs import evolve

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services

_log = logging.getLogger(__name__)
_GONE = {Status.SUPERSEDED, Status.FORGOTTEN}


def drop_outdated(
    services: Services, hits: Sequence[Hit]
) -> tuple[list[Hit], Mapping[str, Memory]]:
    """Return `hits`, outdated summaries with `outdated`, and the sources of summaries by id.

    A topic summary that is outdated is left out: it repeats what was said, nobody vouched for it,
    and what still holds of it is found in its sources.
    """
    summaries = [hit.memory for hit in hits if hit.memory.kind is Kind.SUMMARY]
    known = _load_sources(services, summaries)
    outdated = _find_outdated(services, summaries, known)
    kept = [
        evolve(hit, outdated=outdated.get(hit.memory.id, ()))
        for hit in hits
        if not (hit.memory.is_dreamed and hit.memory.id in outdated)
    ]
    return kept, known


def find_covered(hits: Sequence[Hit], known: Mapping[str, Memory]) -> dict[str, tuple[str, ...]]:
    """Map the id of each summary among `hits` to the ids of the later hits that it tells.

    These are its direct and indirect sources, `known` by id, and summaries that were made from
    nothing else. An outdated summary tells nothing, and neither does one that is told, so that
    every hit that is told is named by a hit that is shown.
    """
    leaves = {hit.memory.id: find_leaves(hit.memory, known) for hit in hits}
    covers: dict[str, tuple[str, ...]] = {}
    covered: set[str] = set()
    for place, hit in enumerate(hits):
        own = hit.memory.id
        if hit.memory.kind is not Kind.SUMMARY or own in covered or hit.outdated:
            continue
        later = [each.memory.id for each in hits[place + 1 :] if each.memory.id not in covered]
        told = [source for source in _list_sources(hit.memory, known) if source in later]
        rest = [other for other in later if other not in told]
        told += [other for other in rest if leaves[other] and leaves[other] <= leaves[own]]
        if told:
            covers[own] = tuple(told)
            covered.update(told)
    return covers


def find_leaves(summary: Memory, known: Mapping[str, Memory]) -> frozenset[str]:
    """Return the ids of the memories that a summary was made from, through other summaries.

    A source that was erased, and so is not `known`, counts as a memory.
    """
    return frozenset(
        source
        for source in _list_sources(summary, known)
        if source not in known or known[source].kind is not Kind.SUMMARY
    )


def _load_sources(services: Services, summaries: Sequence[Memory]) -> dict[str, Memory]:
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


def _list_sources(summary: Memory, known: Mapping[str, Memory]) -> list[str]:
    """Return the ids of the direct and indirect sources of a summary, the direct ones first."""
    seen, level = {summary.id: None}, [summary]
    for memory in level:
        sources = memory.sources if memory.kind is Kind.SUMMARY else ()
        level += [known[source] for source in sources if source in known and source not in seen]
        seen |= dict.fromkeys(sources)
    return list(seen)[1:]


def _find_outdated(
    services: Services, summaries: Sequence[Memory], known: Mapping[str, Memory]
) -> dict[str, tuple[str, ...]]:
    """Map the id of each outdated summary to the ids of the sources that make it outdated.

    Such a source is superseded or forgotten, its text was changed after the summary was stored, or
    it is an outdated summary itself. An archived source is still valid; an erased source is
    unknown.
    """
    outdated = {summary.id: _changed_sources(services, summary, known) for summary in summaries}
    return {memory_id: ids for memory_id, ids in outdated.items() if ids}


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
