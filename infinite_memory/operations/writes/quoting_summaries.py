"""Erase the summaries that quote erased memories."""

from __future__ import annotations

from collections.abc import Iterable

from infinite_memory.model.commit import Commit, Erase
from infinite_memory.model.entry import Operation
from infinite_memory.model.memory import Memory
from infinite_memory.operations.journal import with_entry
from infinite_memory.operations.services import Services
from infinite_memory.storage.quoting import quoting_summaries

__all__ = ["erase_late_summaries", "find_quoting_summaries"]

_REASON = "a summary that quotes an erased memory"


def find_quoting_summaries(services: Services, ids: Iterable[str]) -> list[Memory]:
    """Return the summaries made from the memories `ids`, and the summaries made from those.

    A commit that erases the memories must erase these summaries too. A handle of some scopes gets
    those in its scopes; its storage erases the others by itself.
    """
    return list(quoting_summaries(services.storage, ids).values())


def erase_late_summaries(services: Services, ids: Iterable[str]) -> list[Memory]:
    """Erase the summaries of the erased memories `ids` that were stored during the erasure.

    Return those summaries. A call after each erasure closes the gap between the search for
    summaries and the commit.
    """
    summaries = find_quoting_summaries(services, ids)
    if summaries:
        erases = tuple([Erase(id=summary.id) for summary in summaries])
        commit = Commit(erases=erases)
        services.storage.commit(with_entry(services, Operation.ERASE, commit, reason=_REASON))
    return summaries
