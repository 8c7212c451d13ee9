"""Load memories by their ids, without damaged memories."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.memory import Memory
from infinite_memory.operations.services import Services

__all__ = ["load_memories"]

_log = logging.getLogger(__name__)


def load_memories(services: Services, ids: Iterable[str]) -> dict[str, Memory]:
    """Return the memories by id; a damaged memory is omitted, and logged."""
    storage, unique_ids = services.storage, list(dict.fromkeys(ids))
    try:
        records = storage.get(unique_ids, models=())
    except StoreDamaged as error:
        _log.error("%s", error)
        records = {}
        for memory_id in unique_ids:
            with suppress(StoreDamaged):
                records.update(storage.get([memory_id], models=()))
    return {memory_id: record.memory for memory_id, record in records.items()}
