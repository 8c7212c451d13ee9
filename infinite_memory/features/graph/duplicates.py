"""Statements that say nearly the same: found by the upkeep, and not yet settled by a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.engine.kind_follower import KindFollower
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.scopes import ALL, choose_scopes
from infinite_memory.engine.services import Services

_NOT_THE_SAME = "not the same"
_MOST_READ = 5000
_BATCH = 500
_STATEMENTS = (Kind.FACT, Kind.INSTRUCTION, Kind.DECISION)  # a diary may repeat itself


def list_duplicates(
    services: Services, *, scope: str | Iterable[str] | None, limit: int
) -> list[list[Memory]]:
    """Return groups of current statements that say nearly the same; see `Graph.duplicates`."""
    check_count(limit, "limit", low=1, high=100)
    scopes = choose_scopes(ALL if scope is None else scope, services).scopes
    follower = services.followers.get(
        "statements",
        lambda: KindFollower(
            services.storage, _STATEMENTS, lambda memory: (memory.stored_at, memory.scope)
        ),
    )
    stored = {
        i: at for i, (at, name) in follower.read().items() if scopes is None or name in scopes
    }
    newest = sorted(stored, key=lambda memory_id: (stored[memory_id], memory_id), reverse=True)
    groups: dict[str, set[str]] = {}
    for pair in _find_pairs(services, newest[:_MOST_READ]):
        if pair <= stored.keys():
            joined = set[str]().union(*(groups.get(end, {end}) for end in pair))
            groups |= dict.fromkeys(joined, joined)
    unique = {id(groups[i]): groups[i] for i in newest if i in groups}
    chosen = list(unique.values())[:limit]
    return [list(load_memories(services, sorted(ids, reverse=True)).values()) for ids in chosen]


def _find_pairs(services: Services, ids: list[str]) -> Iterator[frozenset[str]]:
    """Yield the pairs of near-duplicates among memories, without those that somebody settled."""
    for start in range(0, len(ids), _BATCH):
        links = services.storage.links(ids[start : start + _BATCH])
        pairs = [(frozenset({link.source, link.target}), link) for link in links]
        settled = {pair for pair, link in pairs if link.reason == _NOT_THE_SAME}
        near = {pair for pair, link in pairs if link.type is LinkType.NEAR_DUPLICATE_OF}
        yield from near - settled
