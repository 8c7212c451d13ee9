"""Choose the memories of a graph with room for a few: the best linked, with their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infinite_memory.core.protocols import Storage
from infinite_memory.features.archive.exchange.selection import read_links

_MOST_NEIGHBOURS = 12


def choose_strongest(storage: Storage, ids: Sequence[str], limit: int) -> list[str]:
    """Return at most `limit` of the memories `ids`, in their order.

    The memory whose links weigh most comes with the twelve that are linked to it most strongly,
    then the next one, so that the choice is of clusters. Memories without links follow, the latest
    first; `ids` are given oldest first.
    """
    if len(ids) <= limit:
        return list(ids)
    neighbours: dict[str, list[tuple[float, str]]] = {}
    for link in read_links(storage, ids):
        neighbours.setdefault(link.source, []).append((link.weight, link.target))
        neighbours.setdefault(link.target, []).append((link.weight, link.source))
    chosen: set[str] = set()
    for memory_id in _in_order(ids, neighbours):
        if len(chosen) >= limit:
            break
        chosen.add(memory_id)
    return [memory_id for memory_id in ids if memory_id in chosen]


def _in_order(ids: Sequence[str], neighbours: dict[str, list[tuple[float, str]]]) -> Iterator[str]:
    """Yield the ids as they are chosen, some of them more than once."""
    strength = {
        memory_id: sum(weight for weight, _ in linked) for memory_id, linked in neighbours.items()
    }
    for memory_id in sorted(strength, key=lambda end: (-strength[end], end)):
        yield memory_id
        nearest = sorted(neighbours[memory_id], key=lambda link: (-link[0], link[1]))
        yield from (other for _, other in nearest[:_MOST_NEIGHBOURS])
    yield from reversed(ids)
