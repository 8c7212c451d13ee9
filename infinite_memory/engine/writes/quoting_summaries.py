"""Erase the summaries that quote erased memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.storage.quoting import quoting_summaries

_REASON = "a summary that quotes an erased memory"


def find_quoting_summaries(services: Services, ids: Iterable[str]) -> list[Memory]:
    """Return the summaries made from the memories `ids`, directly or through summaries.

    A commit that erases the memories must erase these summaries too. A handle of some scopes gets
    those in its scopes; its storage erases the others by itself.
    """
    return list(quoting_summaries(services.storage, ids).values())


def erase_late_summaries(services: Services, ids: Iterable[str]) -> list[Memory]:
    """Erase the summaries of the erased memories `ids` that were stored during the erasure.

    Return the summaries. A call after an erasure closes the gap between the search for
    summaries and the commit.
    """
    summaries = find_quoting_summaries(services, ids)
    _erase_memories(services, [summary.id for summary in summaries])
    return summaries


def erase_unfounded_summaries(services: Services, summaries: Iterable[Memory]) -> frozenset[str]:
    """Erase the summaries with a source that is gone or in another scope.

    Return their ids. A call after new summaries were stored closes the gap between reading their
    sources and the commit: an erasure in it found no summary to erase.
    """
    checked = list(summaries)
    ids = {source for summary in checked for source in summary.sources}
    scopes = {memory_id: memory.scope for memory_id, memory in load_memories(services, ids).items()}
    damaged = {source for source in ids - scopes.keys() if _is_damaged(services, source)}
    unfounded = [
        summary.id
        for summary in checked
        if any(
            scopes.get(source) != summary.scope
            for source in summary.sources
            if source not in damaged
        )
    ]
    _erase_memories(services, unfounded)
    return frozenset(unfounded)


def _is_damaged(services: Services, memory_id: str) -> bool:
    """Return whether a memory is there and cannot be read: it is not gone."""
    try:
        services.storage.get([memory_id], models=())
    except StoreDamaged:
        return True
    return False


def _erase_memories(services: Services, ids: Sequence[str]) -> None:
    if ids:
        commit = Commit(erases=tuple([Erase(id=memory_id) for memory_id in ids]))
        services.storage.commit(with_entry(services, Operation.ERASE, commit, reason=_REASON))
