"""`Storage.find` as a query that streams in order, with a second check of every result."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Page
from infinite_memory.core.values.scope import fold_name
from infinite_memory.storage.damage import DamageLog, name_of
from infinite_memory.storage.paging import Position, encode_cursor
from infinite_memory.storage.sqlite.readers import Snapshot
from infinite_memory.storage.sqlite.rows import SELECTED, decode_memory
from infinite_memory.storage.sqlite.schema import COMMON_KINDS, DREAMED, ENDING, UNCOMMON

if TYPE_CHECKING:
    import apsw


_CONTENT = "SELECT 1 FROM memories INDEXED BY memories_by_content WHERE content_hash "


def find_page(
    snapshot: Snapshot,
    criteria: Criteria,
    after: Position | None,
    *,
    limit: int,
    damage: DamageLog,
) -> Page:
    """Return the page of at most `limit` memories that come after `after`."""
    allowed = (criteria.scopes, criteria.kinds, criteria.statuses, criteria.content_hashes)
    if any(values is not None and not values for values in allowed):
        return Page(memories=(), next=None)  # SQLite finds no plan for "in nothing" by an index
    sql, bindings = _make_query(criteria, after)
    # After the last of few, the query would go through all that is older. A damaged row counts as
    # none, whatever its columns say.
    is_counted = criteria.scopes is not None and criteria.kinds is not None
    left = _count_kept(snapshot, criteria) if is_counted else -1
    memories: list[Memory] = []
    for row in snapshot.rows(sql, bindings) if left else ():
        memory = decode_memory(row[1:])
        if memory is None:
            damage.skip_record(name_of(row[0]))
            continue
        if criteria.admit(memory):  # the indexes, and most of the tags, are only hints
            if len(memories) == limit:
                return Page(memories=tuple(memories), next=encode_cursor(memories[-1]))
            memories.append(memory)
        left -= 1
        if left == 0:
            break
    return Page(memories=tuple(memories), next=None)


def _count_kept(snapshot: Snapshot, criteria: Criteria) -> int:
    """Return how many memories have the scopes, kinds and statuses of `criteria`."""
    columns = (("scope", criteria.scopes), ("kind", criteria.kinds), ("status", criteria.statuses))
    given = [(name, sorted(map(str, values))) for name, values in columns if values is not None]
    where = " AND ".join(f"{name} {_write_match(values)}" for name, values in given)
    query = f"SELECT ifnull(sum(count), 0) FROM tallies WHERE {where}"
    count: int = next(snapshot.rows(query, tuple(chain(*(values for _, values in given)))))[0]
    return count


def find_ids(snapshot: Snapshot, endings: Collection[str]) -> dict[str, str]:
    """Return the ids that end with any of `endings`, with the scopes of their memories."""
    query = f"SELECT CAST(id AS BLOB), CAST(scope AS BLOB) FROM memories WHERE {ENDING} = ?"
    return {
        name_of(memory_id): name_of(scope)
        for ending in endings
        for memory_id, scope in snapshot.rows(query, (ending,))
    }


def list_keys(snapshot: Snapshot, scopes: Collection[str], *, limit: int) -> list[str]:
    """Return the first `limit` keys, by code point, of the current memories in `scopes`."""
    if not scopes:
        return []
    # A comparison, which no NULL meets, lets SQLite seek in the index of keys.
    query = (
        'SELECT CAST("key" AS BLOB) FROM memories INDEXED BY memories_by_key WHERE "key" > \'\''
        f' AND status = ? AND scope {_write_match(scopes)} GROUP BY "key" ORDER BY "key" LIMIT ?'
    )
    rows = snapshot.rows(query, (Status.CURRENT.value, *sorted(scopes), limit))
    return [name_of(key) for (key,) in rows]


def count_tags(snapshot: Snapshot, scopes: Collection[str] | None, at: datetime) -> dict[str, int]:
    """Return how many current memories in `scopes` have each folded tag and have not ended."""
    names = sorted(scopes or ())
    within = "" if scopes is None else f" AND {{}}scope IN ({', '.join('?' * len(names))})"
    rows = snapshot.rows(
        "SELECT CAST(folded AS BLOB), sum(count) FROM (SELECT folded, count FROM tag_tallies "
        f"WHERE true{within.format('')} UNION ALL SELECT t.folded, 1 FROM memories m "
        "INDEXED BY memories_by_end JOIN memory_tags t ON t.number = m.number "
        f"WHERE m.valid_to IS NOT NULL AND m.status = 'current' AND m.tags <> '[]'"
        f" AND m.valid_to > ? AND NOT {DREAMED}{within.format('m.')}) GROUP BY folded",
        (*names, to_micros(at), *names),
    )
    return {name_of(folded): count for folded, count in rows}


def has_content(connection: apsw.Connection, content_hashes: Collection[bytes]) -> bool:
    """Return whether any row has a hash in `content_hashes`."""
    if not content_hashes:
        return False
    query = f"{_CONTENT}{_write_match(content_hashes)} LIMIT 1"
    return connection.execute(query, (*content_hashes,)).fetchone() is not None


def _make_query(criteria: Criteria, after: Position | None) -> tuple[str, tuple[Any, ...]]:
    """Return the query and its bindings: no value is ever part of the text."""
    table, source, conditions, bindings = _choose_narrowest(criteria)
    for column, values in (
        ("scope", criteria.scopes),
        ("kind", criteria.kinds),
        ("status", criteria.statuses),
    ):
        if values is not None:
            conditions.append(f"m.{column} {_write_match(values)}")
            bindings += sorted(map(str, values))
    if criteria.conversation_id is not None:
        conditions.append("m.conversation_id = ?")
        bindings.append(criteria.conversation_id)
    # A conversation has fewer rows than a kind, which SQLite cannot know.
    elif criteria.kinds and criteria.kinds.isdisjoint(COMMON_KINDS):
        conditions.append(f"m.{UNCOMMON}")
    if criteria.keyed:
        conditions.append('m."key" IS NOT NULL')
    for condition, moments in _list_time_conditions(criteria, table):
        conditions.append(condition)
        bindings += map(to_micros, moments)
    if after is not None:
        conditions.append(f"({table}.happened_at, {table}.id) < (?, ?)")
        bindings += after
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    return (
        f"SELECT CAST(m.id AS BLOB), {SELECTED} FROM {source} {where}"
        f"ORDER BY {table}.happened_at DESC, {table}.id DESC",
        tuple(bindings),
    )


def _choose_narrowest(criteria: Criteria) -> tuple[str, str, list[str], list[Any]]:
    """Return the ordering table, the FROM clause, and the conditions of the narrowest index."""
    if criteria.content_hashes is not None:
        # A content hash, like a key, selects the fewest rows, which SQLite cannot know.
        source = "memories m INDEXED BY memories_by_content"
        condition = f"m.content_hash {_write_match(criteria.content_hashes)}"
        return "m", source, [condition], [*criteria.content_hashes]
    if criteria.key is not None:
        source = "memories m INDEXED BY memories_by_key"
        return "m", source, ['m."key" = ?'], [criteria.key]
    if criteria.tags:
        source = "memory_tags t JOIN memories m ON m.number = t.number"
        return "t", source, ["t.folded = ?"], [fold_name(criteria.tags[0])]
    return "m", "memories m", [], []


def _list_time_conditions(criteria: Criteria, table: str) -> Iterator[tuple[str, list[datetime]]]:
    """Yield the conditions on times with the moments that they bind."""
    if criteria.since is not None:
        yield f"{table}.happened_at >= ?", [criteria.since]
    if criteria.until is not None:
        yield f"{table}.happened_at < ?", [criteria.until]
    if criteria.as_of is not None:
        yield (
            "ifnull(m.valid_from, m.happened_at) <= ? AND (m.valid_to IS NULL OR m.valid_to > ?)",
            [criteria.as_of, criteria.as_of],
        )


def _write_match(values: Collection[object]) -> str:
    marks = ", ".join("?" * len(values))
    # Equality with one value lets SQLite read an index in order; IN would have it sort.
    return f"= {marks}" if marks == "?" else f"IN ({marks})"
