"""List what waits in the inbox, and settle it: accepted as one's own, or forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infinite_memory.core.values.checks import check_count, check_labels
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory, Origin, Status
from infinite_memory.core.values.receipt import Receipt
from infinite_memory.engine.kind_follower import KindFollower
from infinite_memory.engine.load_memories import get_memory, load_memories
from infinite_memory.engine.retrieval.trust import is_waiting
from infinite_memory.engine.scopes import ALL, choose_scopes
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.forget import forget
from infinite_memory.engine.writes.revise import revise

_MOST = 1_000


def list_waiting(
    services: Services, *, scope: str | Iterable[str] | None, limit: int
) -> list[Memory]:
    """Return the memories that wait, those that were stored last first; see `Inbox.list`."""
    check_count(limit, "limit", low=1, high=_MOST)
    scopes = choose_scopes(ALL if scope is None else scope, services).scopes
    follower = services.followers.get(
        "inbox",
        lambda: KindFollower(
            services.storage,
            Criteria(statuses=frozenset({Status.CURRENT})),
            lambda memory: (memory.stored_at, memory.scope) if is_waiting(memory) else None,
        ),
    )
    waiting = {
        memory_id: stored_at
        for memory_id, (stored_at, name) in follower.read().items()
        if scopes is None or name in scopes
    }
    newest = sorted(waiting, key=lambda memory_id: (waiting[memory_id], memory_id), reverse=True)
    memories = load_memories(services, newest[:limit])
    services.note_returned(list(memories.values()))
    return list(memories.values())


def accept(services: Services, ids: Sequence[str]) -> list[Receipt]:
    """Take memories for the user's own; see `Inbox.accept`."""
    changes = {"origin": Origin.USER}
    return [
        revise(services, memory.id, revision=memory.revision, changes=changes)
        for memory in _load_all(services, ids)
    ]


def reject(services: Services, ids: Sequence[str]) -> list[Receipt]:
    """Forget memories; see `Inbox.reject`."""
    return [forget(services, memory.id, hard=False) for memory in _load_all(services, ids)]


def _load_all(services: Services, ids: Sequence[str]) -> list[Memory]:
    """Return the memories, so that an id without one is refused before anything is changed."""
    return [get_memory(services, memory_id) for memory_id in check_labels(ids, "ids")]
