"""The memories that go with others: attachments, and the stored bytes of attachments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.conversation.attachment import is_reference
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, Status, is_content
from infinite_memory.storage.quoting import quoting_summaries

_PAGE = 1000


def select_erased_with(storage: Storage, ids: Iterable[str]) -> dict[str, Memory]:
    """Return by id the memories that a commit which erases `ids` must erase too.

    They are the summaries that quote them, and the attachments of all of these.
    """
    erased = frozenset(ids)
    quoting = quoting_summaries(storage, erased)
    attachments = select_attachments(storage, erased | quoting.keys())
    return {i: memory for i, memory in (quoting | attachments).items() if i not in erased}


def select_attachments(
    storage: Storage, ids: Iterable[str], *, hidden: bool = False
) -> dict[str, Memory]:
    """Return by id the attachments that only the memories `ids` refer to, and their stored bytes.

    `hidden` says that `ids` are about to be forgotten, and can come back: memories that are
    forgotten then refer to nothing, and are not returned. Otherwise they count as any other.
    """
    gone = set(ids)
    attachments: dict[str, Memory] = {}
    level: Collection[str] = frozenset(gone)
    while level:
        candidates = _find_targets(storage, level) - gone
        unshared = _find_unshared(storage, candidates, gone, hidden=hidden)
        attachments |= unshared
        gone |= unshared.keys()
        level = unshared
    return attachments


def select_all_attachments(storage: Storage, ids: Sequence[str]) -> dict[str, Memory]:
    """Return by id the attachments of the memories `ids` and their stored bytes, shared or not."""
    attachments: dict[str, Memory] = {}
    given = level = frozenset(ids)
    while level:
        targets = _find_targets(storage, level) - attachments.keys() - given
        memories, _ = _read_memories(storage, targets)
        attachments |= memories
        level = frozenset(memories)
    return attachments


def select_content_in_use(
    storage: Storage, ids: Collection[str], gone: Collection[str]
) -> frozenset[str]:
    """Return the `ids` of stored bytes that an attachment outside `gone`, not forgotten, has."""
    links = [link for link in storage.links(list(ids)) if _points_at(link, ids)]
    sources = {link.source for link in links}.difference(gone)
    memories, damaged = _read_memories(storage, sources)
    alive = {i for i, memory in memories.items() if memory.status is not Status.FORGOTTEN}
    return frozenset(link.target for link in links if link.source in alive | damaged)


def _find_targets(storage: Storage, ids: Collection[str]) -> set[str]:
    sources, targets = list(ids), set[str]()
    for start in range(0, len(sources), _PAGE):
        links = storage.links(sources[start : start + _PAGE])
        targets |= {link.target for link in links if is_reference(link) and link.source in ids}
    return targets


def _points_at(link: Link, ids: Collection[str]) -> bool:
    return is_reference(link) and link.target in ids


def _find_unshared(
    storage: Storage, candidates: Collection[str], gone: Collection[str], *, hidden: bool
) -> dict[str, Memory]:
    """Return the memories of `candidates` to which no memory outside `gone` refers."""
    if not candidates:
        return {}
    links = [link for link in storage.links(list(candidates)) if _points_at(link, candidates)]
    memories, damaged = _read_memories(storage, {*candidates, *(link.source for link in links)})
    named: set[str] = set()
    shared: set[str] = set()
    for link in links:
        source, target = memories.get(link.source), memories.get(link.target)
        if target is None or not (link.source in damaged or _refers_to(source, target)):
            continue
        if link.source in gone:
            named.add(target.id)
        elif not (hidden and source is not None and source.status is Status.FORGOTTEN):
            shared.add(target.id)
    return {
        memory_id: memories[memory_id]
        for memory_id in sorted(named - shared)
        if not (hidden and memories[memory_id].status is Status.FORGOTTEN)
    }


def _refers_to(source: Memory | None, target: Memory) -> bool:
    """Return whether a memory still names an attachment; stored bytes belong to what has a link."""
    return source is not None and (is_content(target) or target.id in source.attachments)


def _read_memories(
    storage: Storage, ids: Collection[str]
) -> tuple[dict[str, Memory], frozenset[str]]:
    """Return the undamaged memories by id, and the ids of damaged memories."""
    try:
        records = storage.get(list(ids), models=())
        return {i: record.memory for i, record in records.items()}, frozenset()
    except StoreDamaged:
        pass
    memories: dict[str, Memory] = {}
    damaged: set[str] = set()
    for memory_id in ids:
        try:
            records = storage.get([memory_id], models=())
            memories |= {i: record.memory for i, record in records.items()}
        except StoreDamaged:
            damaged.add(memory_id)
    return memories, frozenset(damaged)
