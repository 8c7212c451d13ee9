"""Measures a confined store by reading all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Size

_PAGE = 256


def measure(storage: Storage) -> Size:
    """Return the size of `storage`; `size_bytes` counts only texts, with earlier revisions."""
    memories: Counter[tuple[str, str, str]] = Counter()
    embedded: Counter[str] = Counter()
    revisions = links = size_bytes = 0
    oldest = newest = None
    for page in _pages(storage):
        ids = {memory.id for memory in page}
        # Both ends of a link report it; only its source counts it.
        links += sum(link.source in ids for link in storage.links(ids))
        records = storage.get(ids)
        for memory in page:
            memories[memory.scope, str(memory.kind), str(memory.status)] += 1
            # The first revision has no history.
            revisions_of_memory = storage.history(memory.id) if memory.revision > 1 else [memory]
            revisions += max(0, len(revisions_of_memory) - 1)
            size_bytes += sum(len(m.text.encode()) for m in revisions_of_memory)
            newest = newest or memory.happened_at
            oldest = memory.happened_at
            if memory.id in records and memory.status is not Status.FORGOTTEN:
                embedded.update(e.model for e in records[memory.id].embeddings)
    return Size(
        memories=dict(memories),
        revisions=revisions,
        links=links,
        entries=_count_entries(storage),
        embedded=dict(embedded),
        size_bytes=size_bytes,
        oldest=oldest,
        newest=newest,
    )


def _pages(storage: Storage) -> Iterator[tuple[Memory, ...]]:
    after: str | None = None
    while True:
        page = storage.find(Criteria(), limit=_PAGE, after=after)
        yield page.memories
        after = page.next
        if after is None:
            return


def _count_entries(storage: Storage) -> int:
    counted, before = 0, None
    while entries := storage.journal(before=before, limit=_PAGE):
        counted += len(entries)
        before = entries[-1].number
    return counted
