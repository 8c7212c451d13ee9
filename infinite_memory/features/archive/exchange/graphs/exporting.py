"""Export the graph of whole scopes, or the neighbourhood of some memories."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from xml.sax.saxutils import escape, quoteattr

from attrs import define, field, frozen

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.priority import compute_priority, weights_of_links
from infinite_memory.engine.services import Services
from infinite_memory.features.archive.backup import exporting
from infinite_memory.features.archive.exchange.graphs.request import Around, GraphRequest, Whole
from infinite_memory.features.archive.exchange.graphs.values import (
    ExportedGraph,
    GraphEdge,
    GraphFormat,
    GraphNode,
)
from infinite_memory.features.archive.exchange.output_file import writing_file
from infinite_memory.features.archive.exchange.selection import read_links, read_memories
from infinite_memory.features.graph.neighbourhood import find_neighbourhood, find_relations

# Whatever is no Char of XML 1.0, section 2.2.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A parser turns a bare carriage return into a line feed.
_KEPT = {"\r": "&#13;"}
_NODE = {
    "label": "string",
    "text": "string",
    "kind": "string",
    "scope": "string",
    "status": "string",
    "origin": "string",
    "speaker": "string",
    "conversation_id": "string",
    "key": "string",
    "tags": "string",
    "happened_at": "string",
    "stored_at": "string",
    "important": "boolean",
    "priority": "double",
}
_EDGE = {
    "type": "string",
    "weight": "double",
    "stored": "boolean",
    "made_by": "string",
    "reason": "string",
    "made_at": "string",
}
_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""


def graphml(nodes: Iterable[GraphNode], edges: Iterable[GraphEdge]) -> Iterator[str]:
    """Yield the document in pieces. Edges have the ids "e0", "e1" and so on, unique in it."""
    yield _HEAD
    for domain, types in (("node", _NODE), ("edge", _EDGE)):
        for name, kind in types.items():
            key = f'id="{domain}_{name}" for="{domain}"'
            yield f'<key {key} attr.name="{name}" attr.type="{kind}"/>\n'
    yield '<graph id="memories" edgedefault="directed">\n'
    for node in nodes:
        data = _write_data("node", node.attributes())
        yield f"<node id={quoteattr(node.memory.id)}>{data}</node>\n"
    for number, edge in enumerate(edges):
        ends = f"source={quoteattr(edge.source)} target={quoteattr(edge.target)}"
        yield f'<edge id="e{number}" {ends}>{_write_data("edge", edge.attributes())}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _write_data(domain: str, attributes: Mapping[str, str | float | bool]) -> str:
    return "".join(
        f'<data key="{domain}_{name}">{_write_text(value)}</data>'
        for name, value in attributes.items()
    )


def _write_text(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    shown = _FORBIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), str(value))
    return escape(shown, _KEPT)


def node_link(nodes: Iterable[GraphNode], edges: Iterable[GraphEdge]) -> Iterator[str]:
    """Yield the document in pieces, with a line for each node and each edge.

    `networkx.node_link_graph(document, edges="edges")` makes a `MultiDiGraph` of it, in which the
    key of an edge is its type.
    """
    yield '{"directed": true, "multigraph": true, "graph": {},\n"nodes": ['
    yield from _write_lines({"id": node.memory.id, **node.attributes()} for node in nodes)
    yield '],\n"edges": ['
    yield from _write_lines(
        {"source": edge.source, "target": edge.target, "key": edge.type, **edge.attributes()}
        for edge in edges
    )
    yield "]}\n"


def _write_lines(values: Iterable[object]) -> Iterator[str]:
    separator = "\n"
    for value in values:
        yield separator + json.dumps(value, ensure_ascii=False, allow_nan=False)
        separator = ",\n"


_MOST_NEIGHBOURS = 12


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
    for memory_id in _order_ids(ids, neighbours):
        if len(chosen) >= limit:
            break
        chosen.add(memory_id)
    return [memory_id for memory_id in ids if memory_id in chosen]


def _order_ids(ids: Sequence[str], neighbours: dict[str, list[tuple[float, str]]]) -> Iterator[str]:
    """Yield the ids as they are chosen, some of them more than once."""
    strength = {
        memory_id: sum(weight for weight, _ in linked) for memory_id, linked in neighbours.items()
    }
    for memory_id in sorted(strength, key=lambda end: (-strength[end], end)):
        yield memory_id
        nearest = sorted(neighbours[memory_id], key=lambda link: (-link[0], link[1]))
        yield from (other for _, other in nearest[:_MOST_NEIGHBOURS])
    yield from reversed(ids)


@frozen(kw_only=True)
class _Graph:
    """The nodes, then the edges, each to be read once."""

    nodes: Iterable[GraphNode]
    edges: Iterable[GraphEdge]
    left_out: int
    left_out_scopes: tuple[str, ...] = ()


@define
class _Written:
    """Counts what is written, and keeps edges out whose ends could not be read."""

    links: int = 0
    ids: set[str] = field(factory=set)

    def note_nodes(self, nodes: Iterable[GraphNode]) -> Iterator[GraphNode]:
        """Yield the nodes, and note them."""
        for node in nodes:
            self.ids.add(node.memory.id)
            yield node

    def note_edges(self, edges: Iterable[GraphEdge]) -> Iterator[GraphEdge]:
        """Yield the edges between noted nodes, and count them."""
        for edge in edges:
            if edge.source in self.ids and edge.target in self.ids:
                self.links += 1
                yield edge


def run_graph_export(services: Services, request: GraphRequest) -> ExportedGraph:
    """Write the graph; see `Graph.export`.

    Raises:
        Conflict: there is something at the path, or a memory to start from was forgotten.
        InvalidInput: a value cannot be used.
        NotFound: there is no memory to start from.
        StorageUnavailable: the disk is full, or the folder or the store cannot be used.
    """
    written = _Written()
    with _read_graph(services, request) as graph:
        nodes, edges = written.note_nodes(graph.nodes), written.note_edges(graph.edges)
        with writing_file(request.path, force=request.force) as file:
            for piece in _WRITERS[request.format](nodes, edges):
                file.write(piece.encode())
    return ExportedGraph(
        path=str(request.path),
        format=request.format,
        memories=len(written.ids),
        links=written.links,
        left_out=graph.left_out,
        left_out_scopes=graph.left_out_scopes,
    )


@contextmanager
def _read_graph(services: Services, request: GraphRequest) -> Iterator[_Graph]:
    if isinstance(request.chosen, Around):
        yield _read_neighbourhood(services, request.chosen)
        return
    with exporting(services.storage) as storage:
        yield _read_scopes(services, storage, request.chosen)


def _read_neighbourhood(services: Services, request: Around) -> _Graph:
    found = find_neighbourhood(
        services,
        request.ids,
        types=request.types,
        depth=request.depth,
        limit=request.limit,
    )
    services.note_returned(found.memories)
    ids = [memory.id for memory in found.memories]
    return _Graph(
        nodes=make_nodes(services.storage, found.memories, services.clock()),
        edges=chain(
            read_stored_links(services.storage, ids),
            read_relations(services, found.memories, request.types),
        ),
        left_out=found.left_out,
    )


def _read_scopes(services: Services, storage: Storage, request: Whole) -> _Graph:
    ids = request.selection.list_ids(storage)
    chosen = ids if request.limit is None else choose_strongest(storage, ids, request.limit)
    return _Graph(
        nodes=read_nodes(storage, chosen, services.clock()),
        edges=read_stored_links(storage, chosen),
        left_out=len(ids) - len(chosen),
        left_out_scopes=request.selection.left_out,
    )


_WRITERS: Mapping[
    GraphFormat, Callable[[Iterable[GraphNode], Iterable[GraphEdge]], Iterable[str]]
] = {GraphFormat.GRAPHML: graphml, GraphFormat.JSON: node_link}
