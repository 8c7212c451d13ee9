"""The node-link format of networkx, as JSON, written a memory at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from infinite_memory.features.archive.exchange.graphs.values import GraphEdge, GraphNode


def node_link(nodes: Iterable[GraphNode], edges: Iterable[GraphEdge]) -> Iterator[str]:
    """Yield the document in pieces, with a line for each node and each edge.

    `networkx.node_link_graph(document, edges="edges")` makes a `MultiDiGraph` of it, in which the
    key of an edge is its type.
    """
    yield '{"directed": true, "multigraph": true, "graph": {},\n"nodes": ['
    yield from _lines({"id": node.memory.id, **node.attributes()} for node in nodes)
    yield '],\n"edges": ['
    yield from _lines(
        {"source": edge.source, "target": edge.target, "key": edge.type, **edge.attributes()}
        for edge in edges
    )
    yield "]}\n"


def _lines(values: Iterable[object]) -> Iterator[str]:
    separator = "\n"
    for value in values:
        yield separator + json.dumps(value, ensure_ascii=False, allow_nan=False)
        separator = ",\n"
