"""Summaries and what they were made from."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.memory import Memory, Status
from infinite_memory.model.record import Record
from infinite_memory.operations.services import Services

__all__ = ["outdated"]

_log = logging.getLogger(__name__)
_GONE = {Status.SUPERSEDED, Status.FORGOTTEN}


def outdated(services: Services, summaries: Sequence[Memory]) -> dict[str, tuple[str, ...]]:
    """Return for each summary that may no longer be true the sources on account of which.

    They were superseded or forgotten, or their text was changed after the summary was stored. One
    that was archived is as true as before; one that was erased is not known any more.
    """
    records = _records(services, [one for summary in summaries for one in summary.sources])
    sources = {one: record.memory for one, record in records.items()}
    found = {
        summary.id: tuple(
            one
            for one in dict.fromkeys(summary.sources)
            if one in sources and one != summary.id and _differs(services, sources[one], summary)
        )
        for summary in summaries
    }
    return {memory_id: ids for memory_id, ids in found.items() if ids}


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


def _records(services: Services, ids: Sequence[str]) -> dict[str, Record]:
    try:
        return services.storage.get(list(dict.fromkeys(ids)))
    except StoreDamaged as error:
        _log.error("%s", error)
        return {}
