"""Load memories by their ids, without damaged memories."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Record
from infinite_memory.engine.services import Services

_log = logging.getLogger(__name__)


def load_memories(services: Services, ids: Iterable[str]) -> dict[str, Memory]:
    """Return the memories by id; a damaged memory is omitted, and logged."""
    records = load_records(services, ids)
    return {memory_id: record.memory for memory_id, record in records.items()}


def load_records(
    services: Services, ids: Iterable[str], *, models: Sequence[str] = ()
) -> dict[str, Record]:
    """Return the records by id, with the embeddings of `models`; a damaged record is omitted."""
    storage, unique_ids = services.storage, list(dict.fromkeys(ids))
    try:
        return storage.get(unique_ids, models=models)
    except StoreDamaged as error:
        _log.error("%s", error)
    records: dict[str, Record] = {}
    for memory_id in unique_ids:
        with suppress(StoreDamaged):
            records.update(storage.get([memory_id], models=models))
    return records
