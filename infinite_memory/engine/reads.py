"""List the recorded reads of a store, as far as a handle may see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from attrs import evolve

from infinite_memory.core.observe.reads import Read
from infinite_memory.core.values.checks import check_count, check_label
from infinite_memory.core.values.ids import check_id
from infinite_memory.engine.services import Services

_BATCH = 256


def list_reads(
    services: Services, *, limit: int, memory_id: str | None, client: str | None
) -> list[Read]:
    """Return recorded reads, newest first; see `Journal.reads`.

    Raises:
        InvalidInput: a value cannot be used.
    """
    check_count(limit, "limit", low=1, high=10_000)
    wanted_id = None if memory_id is None else check_id(memory_id)
    wanted_client = None if client is None else check_label(client, "client")
    if services.reads is None:
        return []
    reads: Iterable[Read] = (
        read
        for read in services.reads.read_backwards()
        if (wanted_id is None or wanted_id in read.memories)
        and (wanted_client is None or wanted_client == read.actor.client)
    )
    if services.confinement is not None:
        reads = _keep_visible(services, reads, wanted_id)
    return list(islice(reads, limit))


def _keep_visible(
    services: Services, reads: Iterable[Read], wanted_id: str | None
) -> Iterator[Read]:
    """Yield the reads of memories that exist for this handle, with the ids of these memories."""
    iterator = iter(reads)
    while batch := list(islice(iterator, _BATCH)):
        ids = {memory_id for read in batch for memory_id in read.memories}
        visible = services.storage.get(ids, models=())
        for read in batch:
            memories = tuple(memory_id for memory_id in read.memories if memory_id in visible)
            if memories and (wanted_id is None or wanted_id in memories):
                # Access keys belong to the whole store, and do not exist inside.
                yield evolve(read, memories=memories, actor=evolve(read.actor, key=""))
