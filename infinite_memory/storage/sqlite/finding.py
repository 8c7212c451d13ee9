"""`Storage.find` as one query that streams in order, each result checked once more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from infinite_memory.model.codec import to_micros
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import Page
from infinite_memory.model.scope import fold_name
from infinite_memory.storage.paging import Position, encode_cursor
from infinite_memory.storage.sqlite.damage import DamageLog, name_of
from infinite_memory.storage.sqlite.database import Snapshot
from infinite_memory.storage.sqlite.rows import SELECTED, decode_memory

__all__ = ["find_page"]


def find_page(
    snapshot: Snapshot,
    criteria: Criteria,
    after: Position | None,
    *,
    limit: int,
    damage: DamageLog,
) -> Page:
    """Return the page of at most `limit` memories that come behind `after`."""
    sql, bindings = _query(criteria, after)
    memories: list[Memory] = []
    for row in snapshot.rows(sql, bindings):
        memory = decode_memory(row[1:])
        if memory is None:
            damage.skip_record(name_of(row[0]))
        elif criteria.admit(memory):  # the indexes, and all tags but one, are only hints
            if len(memories) == limit:
                return Page(memories=tuple(memories), next=encode_cursor(memories[-1]))
            memories.append(memory)
    return Page(memories=tuple(memories), next=None)


def _query(criteria: Criteria, after: Position | None) -> tuple[str, tuple[Any, ...]]:
    """Return the query and what it binds: no value is ever part of the text."""
    table = "m"
    source = "memories m"
    conditions: list[str] = []
    bindings: list[Any] = []
    if criteria.tags:
        table = "t"
        source = "memory_tags t JOIN memories m ON m.number = t.number"
        conditions.append("t.folded = ?")
        bindings.append(fold_name(criteria.tags[0]))
    for column, values in (
        ("scope", criteria.scopes),
        ("kind", criteria.kinds),
        ("status", criteria.statuses),
    ):
        if values is not None:
            conditions.append(f"m.{column} {_one_of(values)}")
            bindings += sorted(str(value) for value in values)
    if criteria.conversation_id is not None:
        conditions.append("m.conversation_id = ?")
        bindings.append(criteria.conversation_id)
    if criteria.since is not None:
        conditions.append(f"{table}.happened_at >= ?")
        bindings.append(to_micros(criteria.since))
    if criteria.until is not None:
        conditions.append(f"{table}.happened_at < ?")
        bindings.append(to_micros(criteria.until))
    if after is not None:
        conditions.append(f"({table}.happened_at, {table}.id) < (?, ?)")
        bindings += after
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    return (
        f"SELECT CAST(m.id AS BLOB), {SELECTED} FROM {source} {where}"
        f"ORDER BY {table}.happened_at DESC, {table}.id DESC",
        tuple(bindings),
    )


def _one_of(values: Iterable[str]) -> str:
    marks = ", ".join("?" for _ in values)
    # Equality with one value lets SQLite read an index in order; IN would have it sort.
    return f"= {marks}" if marks == "?" else f"IN ({marks})"
