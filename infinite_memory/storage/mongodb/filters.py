"""Criteria as conditions on the documents of memories, and of passages, which repeat them."""

from __future__ import annotations

from typing import Any

from infinite_memory.model.codec import to_micros
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.scope import fold_name

__all__ = ["conditions_of"]


def conditions_of(criteria: Criteria) -> list[dict[str, Any]]:
    """Return what must all be true; every value of a user stands under an operator of ours.

    Without `keyed`, and `as_of`: a passage says in other fields when its memory held.
    """
    where: list[dict[str, Any]] = []
    for name, values in (
        ("scope", criteria.scopes),
        ("kind", criteria.kinds),
        ("status", criteria.statuses),
    ):
        if values is not None:
            where.append({name: {"$in": sorted(str(value) for value in values)}})
    # An index of vectors compares each tag alone, so each has a condition of its own.
    where += [{"folded_tags": {"$eq": fold_name(tag)}} for tag in criteria.tags]
    if criteria.conversation_id is not None:
        where.append({"conversation_id": {"$eq": criteria.conversation_id}})
    if criteria.since is not None:
        where.append({"happened_at": {"$gte": to_micros(criteria.since)}})
    if criteria.until is not None:
        where.append({"happened_at": {"$lt": to_micros(criteria.until)}})
    if criteria.key is not None:
        where.append({"key": {"$eq": criteria.key}})
    return where
