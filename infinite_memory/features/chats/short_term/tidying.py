"""Forget and archive short-term memories on request."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.receipt import BulkReceipt
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.bulk_forget import forget_all
from infinite_memory.features.chats.short_term.cleanup import find_faded
from infinite_memory.features.chats.short_term.entry import (
    ShortTermEntry,
    candidates_of,
    entries_of,
)
from infinite_memory.features.chats.text_pattern import read_pattern

_MOST_AT_ONCE = 5000


@frozen(kw_only=True)
class Cleanup(PlainData):
    """What a cleanup archived, by id, and how many short-term memories remain."""

    archived: tuple[str, ...]
    remaining: int


def forget_short_term(
    services: Services, pattern: object, conversation_id: str, *, scope: str | None
) -> BulkReceipt:
    """Forget short-term memories by a pattern; see `Conversations.delete_short_term`."""
    matches = read_pattern(pattern)
    entries = entries_of(services, check_conversation_id(conversation_id), scope)
    memories = [entry.memory for entry in entries if matches(entry.memory.text)]
    for start in range(0, len(memories), _MOST_AT_ONCE):
        forget_all(services, memories[start : start + _MOST_AT_ONCE])
    return BulkReceipt(ids=tuple([memory.id for memory in memories]))


def clean_up(services: Services, conversation_id: str | None, *, scope: str | None) -> Cleanup:
    """Archive the short-term memories that have faded; see `Conversations.clean_up`."""
    if conversation_id is not None:
        conversation_id = check_conversation_id(conversation_id)
    entries = entries_of(services, conversation_id, scope)
    groups: dict[str | None, list[ShortTermEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.memory.conversation_id, []).append(entry)
    # So many always stay of each conversation.
    faded = tuple(
        memory_id
        for group in groups.values()
        for memory_id in find_faded(
            candidates_of(services, group), services.clock(), services.config.short_term
        )
    )
    by_id = {entry.memory.id: entry.memory for entry in entries}
    for start in range(0, len(faded), _MOST_AT_ONCE):
        memories = [by_id[memory_id] for memory_id in faded[start : start + _MOST_AT_ONCE]]
        commit = Commit(puts=_archive_memories(services, memories))
        reason = "short-term memories that have faded"
        services.storage.commit(with_entry(services, Operation.UPKEEP, commit, reason=reason))
    return Cleanup(archived=faded, remaining=len(entries) - len(faded))


def _archive_memories(services: Services, memories: Sequence[Memory]) -> tuple[Put, ...]:
    now = services.clock()
    records = services.storage.get([memory.id for memory in memories])
    return tuple(
        Put(
            memory=evolve(
                memory,
                status=Status.ARCHIVED,
                revision=memory.revision + 1,
                stored_at=max(now, memory.stored_at),
            ),
            expected=memory.revision,
            embeddings=records[memory.id].embeddings,
        )
        for memory in memories
        if memory.id in records
    )
