"""Read the nodes and the edges of a graph, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.priority import compute_priority, weights_of_links
from infinite_memory.engine.services import Services
from infinite_memory.features.archive.exchange.graphs.values import GraphEdge, GraphNode
from infinite_memory.features.archive.exchange.selection import read_links, read_memories
from infinite_memory.features.graph.neighbourhood import find_relations

_PAGE = 1000


def read_nodes(storage: Storage, ids: Sequence[str], now: datetime) -> Iterator[GraphNode]:
    """Yield the memories of `ids` in their order, without those that are gone by now."""
    for start in range(0, len(ids), _PAGE):
        memories = list(read_memories(storage, ids[start : start + _PAGE]))
        yield from make_nodes(storage, memories, now)


def make_nodes(storage: Storage, memories: Sequence[Memory], now: datetime) -> Iterator[GraphNode]:
    """Yield the nodes of memories, with the priority that each has at `now`."""
    ids = [memory.id for memory in memories]
    usage = storage.usage(ids)
    weights = weights_of_links(ids, storage.links(ids))
    for memory in memories:
        priority = compute_priority(memory, usage.get(memory.id), weights[memory.id], now)
        yield GraphNode(memory=memory, priority=priority)


def read_stored_links(storage: Storage, ids: Sequence[str]) -> Iterator[GraphEdge]:
    """Yield the stored links between the memories of `ids`."""
    yield from map(GraphEdge.of, read_links(storage, ids))


def read_relations(
    services: Services, memories: Iterable[Memory], types: Sequence[str]
) -> Iterator[GraphEdge]:
    """Yield the relations that are computed between the memories, strongest first."""
    for step in find_relations(services, memories, types):
        yield GraphEdge(
            source=step.source,
            target=step.target,
            type=str(step.relation),
            weight=step.weight,
            reason=step.reason,
        )
