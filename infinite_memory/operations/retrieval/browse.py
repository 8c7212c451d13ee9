"""Browse: list memories by time, page by page."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.model.checks import check_count
from infinite_memory.model.criteria import Conditions, Criteria
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import Page
from infinite_memory.operations.retrieval.search_request import build_criteria
from infinite_memory.operations.services import Services
from infinite_memory.protocols import Storage

__all__ = ["browse"]

MAX_LIMIT = 1000


def browse(services: Services, conditions: Conditions, *, limit: int, after: str | None) -> Page:
    """Return at most `limit` memories, newest first, and the cursor of the next page.

    Raises:
        InvalidInput: `limit` is not between 1 and 1,000, or `after` is not the `next` of a page.
        UnknownScope: a scope does not exist.
    """
    check_count(limit, "limit", low=1, high=MAX_LIMIT)
    criteria = build_criteria(services, "", conditions)
    return evolve(_load_page(services.storage, criteria, limit, after), when=criteria.when)


def _load_page(storage: Storage, criteria: Criteria, limit: int, after: str | None) -> Page:
    """Return a page of memories that meet `criteria`, including those that a storage ignores."""
    memories: list[Memory] = []
    while True:
        page = storage.find(criteria, limit=limit - len(memories), after=after)
        memories += [memory for memory in page.memories if criteria.admit(memory)]
        if page.next is None or len(memories) == limit:
            return Page(memories=tuple(memories), next=page.next)
        after = page.next
