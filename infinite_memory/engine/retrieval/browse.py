"""Browse: list memories by time, page by page."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.criteria import Conditions, Criteria
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Page
from infinite_memory.engine.retrieval.search_request import build_criteria, leave_out_topics
from infinite_memory.engine.services import Services

MAX_LIMIT = 1000
# Begins the cursor of a page of inherited memories; no cursor of a storage contains it.
_INHERITED = "inherited."


def browse(services: Services, conditions: Conditions, *, limit: int, after: str | None) -> Page:
    """Return at most `limit` memories, newest first, and the cursor of the next page.

    Topic summaries are left out unless `kinds` names summaries. The store notes that a caller was
    shown the memories, which is no recall. Where inherited memories come
    last, they begin a second order of their own, newest first.

    Raises:
        InvalidInput: `limit` is not between 1 and 1,000, or `after` is not the `next` of a page.
        UnknownScope: a scope does not exist.
    """
    check_count(limit, "limit", low=1, high=MAX_LIMIT)
    criteria = leave_out_topics(build_criteria(services, "", conditions, leads=True))
    load = load_page if criteria.leading is None else _load_leading_page
    page = evolve(load(services.storage, criteria, limit, after), when=criteria.when)
    services.note_returned(page.memories)
    return page


def _load_leading_page(storage: Storage, criteria: Criteria, limit: int, after: str | None) -> Page:
    """Return a page of memories: first the leading scopes, then the rest."""
    leading = criteria.leading or frozenset()
    others = evolve(criteria, scopes=(criteria.scopes or frozenset()) - leading)
    if after is not None and after.startswith(_INHERITED):
        return _mark(load_page(storage, others, limit, after.removeprefix(_INHERITED) or None))
    first = load_page(storage, evolve(criteria, scopes=leading), limit, after)
    if first.next is not None:
        return first
    room = limit - len(first.memories)
    rest = _mark(load_page(storage, others, max(room, 1), None))
    if room:
        return evolve(rest, memories=first.memories + rest.memories)
    return evolve(first, next=_INHERITED if rest.memories else None)


def _mark(page: Page) -> Page:
    return page if page.next is None else evolve(page, next=_INHERITED + page.next)


def load_page(storage: Storage, criteria: Criteria, limit: int, after: str | None) -> Page:
    """Return a page of memories that meet `criteria`, including those that a storage ignores."""
    memories: list[Memory] = []
    while True:
        page = storage.find(criteria, limit=limit - len(memories), after=after)
        memories += [memory for memory in page.memories if criteria.admit(memory)]
        if page.next is None or len(memories) == limit:
            return Page(memories=tuple(memories), next=page.next)
        after = page.next
