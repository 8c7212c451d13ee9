"""Memories read by their ids, whatever is damaged among them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.memory import Memory
from infinite_memory.operations.services import Services

__all__ = ["sound_memories"]

_log = logging.getLogger(__name__)


def sound_memories(services: Services, ids: Iterable[str]) -> dict[str, Memory]:
    """Return the memories of these ids that exist; one that is damaged is left out, and logged."""
    storage, wanted = services.storage, list(dict.fromkeys(ids))
    try:
        records = storage.get(wanted, models=())
    except StoreDamaged as error:
        _log.error("%s", error)
        records = {}
        for memory_id in wanted:
            with suppress(StoreDamaged):
                records.update(storage.get([memory_id], models=()))
    return {memory_id: record.memory for memory_id, record in records.items()}
