"""Browse: memories in the order of time, page by page."""

from __future__ import annotations

from infinite_memory.model.checks import check_count
from infinite_memory.model.criteria import Conditions
from infinite_memory.model.record import Page
from infinite_memory.operations.asking import criteria_of
from infinite_memory.operations.services import Services

__all__ = ["browse"]

MAX_LIMIT = 1000


def browse(services: Services, conditions: Conditions, *, limit: int, after: str | None) -> Page:
    """Return at most `limit` memories, newest first, and the cursor of the next page.

    Raises:
        InvalidInput: `limit` is not 1 to 1,000, or `after` is not the `next` of a page.
        UnknownScope: a scope was asked for that does not exist.
    """
    check_count(limit, "limit", low=1, high=MAX_LIMIT)
    return services.storage.find(criteria_of(services, "", conditions), limit=limit, after=after)
