"""Stats: how much a store holds, and how often a memory was recalled."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.record import Usage
from infinite_memory.engine.load_memories import get_memory
from infinite_memory.engine.services import Services


@frozen(kw_only=True)
class Stats(PlainData):
    """Counts of the contents of a store.

    `memories` omits forgotten memories, as do the counts by scope and kind; `by_status` counts
    every memory. `by_model` counts the embedded memories per model, without forgotten memories, and
    `embedded` is the count of the model that answers searches. `model` is the configured model;
    `answering` differs from it while a change of the model is under way. `revisions` counts the
    earlier revisions that are kept.
    """

    memories: int
    by_scope: dict[str, int]
    by_kind: dict[str, int]
    by_status: dict[str, int]
    by_model: dict[str, int]
    embedded: int
    revisions: int
    size_bytes: int
    oldest: datetime | None
    newest: datetime | None
    model: str
    answering: str


def stats(services: Services) -> Stats:
    """Count the current contents of the store."""
    size = services.storage.measure()
    answering = services.models.answering().name
    by_scope = size.count_by_scope(services.storage.scopes())
    by_kind: Counter[str] = Counter()
    by_status: Counter[str] = Counter()
    for (_, kind, status), count in size.memories.items():
        by_status[status] += count
        if status != Status.FORGOTTEN:
            by_kind[kind] += count
    return Stats(
        memories=by_kind.total(),
        by_scope=by_scope,
        by_kind=dict(sorted(by_kind.items())),
        by_status=dict(sorted(by_status.items())),
        by_model=dict(sorted(size.embedded.items())),
        embedded=size.embedded.get(answering, 0),
        revisions=size.revisions,
        size_bytes=size.size_bytes,
        oldest=size.oldest,
        newest=size.newest,
        model=services.models.configured.name,
        answering=answering,
    )


def usage(services: Services, memory_id: str) -> Usage | None:
    """Return how often a memory was recalled, and when last; see `MemoryStore.usage`.

    Raises:
        NotFound: the memory does not exist.
    """
    get_memory(services, memory_id)
    if services.usage is not None:
        services.usage.flush()
    return services.storage.usage([memory_id]).get(memory_id)
