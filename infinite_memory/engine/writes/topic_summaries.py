"""What becomes of topic summaries when a memory that they quote moves to another scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from attrs import evolve

from infinite_memory.core.values.commit import Put
from infinite_memory.core.values.entry import Entry
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Record
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services


def forget_strayed_topics(
    services: Services, moved: Iterable[Memory], *, without: Collection[str] = ()
) -> tuple[Put, ...]:
    """Return the writes that forget the topic summaries of memories in another scope by now.

    `moved` are memories as they are about to be stored. A topic summary is made from them directly,
    or through other topic summaries; nobody asked for it, and the next cycle of the dreamer writes
    it anew. Those with the ids `without` are left as they are.
    """
    scopes = {memory.id: memory.scope for memory in moved}
    forgotten: dict[str, Memory] = {}
    level = list(scopes)
    while level:
        above = _read_topics(services, level)
        level = []
        for topic, sources in above:
            is_strayed = any(
                source in forgotten or scopes.get(source, topic.scope) != topic.scope
                for source in sources
            )
            if is_strayed and topic.id not in {*forgotten, *without}:
                forgotten[topic.id] = topic
                level.append(topic.id)
    return _forget_all(services, forgotten.values())


def find_changed_topics(entry: Entry, records: Mapping[str, Record]) -> frozenset[str]:
    """Return the topic summaries that changed again since `entry` forgot them with a source.

    What the dreamer writes never prevents the undo of what a person did.
    """
    steps = [step for step in entry.action.memories if step.id in records]
    if all(records[step.id].memory.is_dreamed for step in steps):
        return frozenset()
    return frozenset(
        step.id
        for step in steps
        if records[step.id].memory.is_dreamed and records[step.id].memory.revision != step.after
    )


def find_strayed_topics(services: Services, memories: Iterable[Memory]) -> frozenset[str]:
    """Return the ids of the topic summaries among `memories` with a source in another scope.

    `memories` are about to be stored; their sources are looked up among them first.
    """
    new = {memory.id: memory for memory in memories}
    topics = [
        memory
        for memory in new.values()
        if memory.is_dreamed and memory.status is not Status.FORGOTTEN
    ]
    wanted = {source for topic in topics for source in topic.sources} - new.keys()
    sources = (load_memories(services, wanted) if wanted else {}) | new
    return frozenset(
        topic.id
        for topic in topics
        for source in topic.sources
        if source in sources and sources[source].scope != topic.scope
    )


def _forget_all(services: Services, topics: Collection[Memory]) -> tuple[Put, ...]:
    if not topics:
        return ()
    now, records = services.clock(), services.storage.get([topic.id for topic in topics])
    return tuple(
        [
            Put(
                memory=evolve(
                    topic,
                    status=Status.FORGOTTEN,
                    revision=topic.revision + 1,
                    stored_at=max(now, topic.stored_at),
                ),
                expected=topic.revision,
                embeddings=records[topic.id].embeddings if topic.id in records else (),
            )
            for topic in topics
        ]
    )


def _read_topics(services: Services, ids: Collection[str]) -> list[tuple[Memory, set[str]]]:
    """Return the topic summaries of `ids` that are not forgotten, each with its sources of them."""
    sources: dict[str, set[str]] = {}
    for link in services.storage.links(ids):
        if link.type is LinkType.DERIVED_FROM and link.target in ids:
            sources.setdefault(link.source, set()).add(link.target)
    memories = load_memories(services, sources) if sources else {}
    return [
        (memory, sources[memory.id])
        for memory in memories.values()
        if memory.is_dreamed and memory.status is not Status.FORGOTTEN
    ]
