"""Load memories by their ids, or all that meet criteria."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

from attrs import evolve

from infinite_memory.core.errors import NotFound, StoreDamaged
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.ids import ENDING_CHARS, check_id
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Record
from infinite_memory.engine.services import Services

_log = logging.getLogger(__name__)
_PAGE = 1000
_MADE_ENDING = re.compile(r"[0-9a-f-]{8,35}")


def load_memories(services: Services, ids: Iterable[str]) -> dict[str, Memory]:
    """Return the memories by id; a damaged memory is omitted, and logged."""
    records = load_records(services, ids)
    return {memory_id: record.memory for memory_id, record in records.items()}


def load_records(
    services: Services, ids: Iterable[str], *, models: Sequence[str] = ()
) -> dict[str, Record]:
    """Return the records by id, with the embeddings of `models`; a damaged record is omitted."""
    storage, unique_ids = services.storage, list(dict.fromkeys(ids))
    if not unique_ids:
        return {}
    try:
        return storage.get(unique_ids, models=models)
    except StoreDamaged as error:
        _log.error("%s", error)
    records: dict[str, Record] = {}
    for memory_id in unique_ids:
        with suppress(StoreDamaged):
            records.update(storage.get([memory_id], models=models))
    return records


def get_memory(services: Services, memory_id: str) -> Memory:
    """Return a memory; its vectors are not read.

    Raises:
        NotFound: no memory has this id.
    """
    return get_record(services, memory_id, models=()).memory


def get_record(
    services: Services, memory_id: str, *, models: Sequence[str] | None = None
) -> Record:
    """Return the record of a memory, with the embeddings of `models`, None for all models.

    Raises:
        NotFound: no memory has this id.
    """
    record = services.storage.get([check_id(memory_id)], models=models).get(memory_id)
    if record is None:
        raise not_found(memory_id)
    return record


def not_found(memory_id: str) -> NotFound:
    """Return the error for an id that no memory has."""
    reason = "it was never stored, or erased for good"
    if len(memory_id) < ENDING_CHARS:
        reason = f"give the whole id; a command or a tool takes its last {ENDING_CHARS} too"
    elif _MADE_ENDING.fullmatch(memory_id):
        # Said of every ending without a memory, so that it tells nothing of the private ones.
        reason += ", or is in a private scope, where only its whole id stands for it"
    return NotFound(f"there is no memory {memory_id!r}: {reason}")


def count_versions(services: Services, memory: Memory) -> int:
    """Return how often a memory was stored otherwise than before, a move to a scope left out."""
    if memory.revision == 1:
        return 1
    history = services.storage.history(memory.id)
    bare = [evolve(each, scope="", revision=1, stored_at=memory.stored_at) for each in history]
    return 1 + sum(before != after for before, after in pairwise(bare))


def iterate_memories(services: Services, criteria: Criteria) -> Iterator[Memory]:
    """Yield all memories that meet the criteria, newest first."""
    after: str | None = None
    while True:
        page = services.storage.find(criteria, limit=_PAGE, after=after)
        yield from filter(criteria.admit, page.memories)
        after = page.next
        if after is None:
            return
