"""The values of an export of the graph: its nodes, its edges, and what was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, present


class GraphFormat(StrEnum):
    """A format of an export of the graph."""

    GRAPHML = "graphml"
    """GraphML, an XML format that Gephi, yEd, Cytoscape and networkx read."""
    JSON = "json"
    """The node-link format of networkx and D3."""


@frozen(kw_only=True)
class ExportedGraph(PlainData):
    """The result of an export of the graph.

    `links` counts the edges, stored links and computed relations. `left_out` counts the memories
    that were not among the strongest, and `left_out_scopes` are the private scopes that nobody
    asked for.
    """

    path: str
    format: GraphFormat
    memories: int
    links: int
    left_out: int = 0
    left_out_scopes: tuple[str, ...] = ()


@frozen(kw_only=True)
class GraphNode:
    """A memory of the graph with its priority, see `engine.priority`, in (0, 1)."""

    memory: Memory
    priority: float

    def attributes(self) -> Mapping[str, str | float | bool]:
        """Return the attributes of the node by name, without its id and without empty ones."""
        memory = present(self.memory)
        return dict(
            _list_present(
                {
                    "label": memory.heading,
                    "text": memory.text,
                    "kind": str(memory.kind),
                    "scope": memory.scope,
                    "status": str(memory.status),
                    "origin": str(memory.origin),
                    "speaker": memory.speaker,
                    "conversation_id": memory.conversation_id,
                    "key": memory.key,
                    "tags": ", ".join(memory.tags),
                    "happened_at": iso(memory.happened_at),
                    "stored_at": iso(memory.stored_at),
                    "important": memory.important,
                    "priority": round(self.priority, 4),
                }
            )
        )


@frozen(kw_only=True)
class GraphEdge:
    """A stored link, or a relation that was computed for the export: `made_at` is None then.

    A computed relation has no direction; its reason is told from the `source`.
    """

    source: str
    target: str
    type: str
    weight: float
    reason: str
    made_by: str = ""
    made_at: datetime | None = None

    @classmethod
    def of(cls, link: Link) -> GraphEdge:
        """Return the edge of a stored link."""
        return cls(
            source=link.source,
            target=link.target,
            type=str(link.type),
            weight=link.weight,
            reason=link.reason,
            made_by=link.made_by,
            made_at=link.made_at,
        )

    @property
    def is_stored(self) -> bool:
        """Whether it is a stored link, and no computed relation."""
        return self.made_at is not None

    def attributes(self) -> Mapping[str, str | float | bool]:
        """Return the attributes of the edge by name, without its ends and without empty ones."""
        return dict(
            _list_present(
                {
                    "type": self.type,
                    "weight": round(self.weight, 4),
                    "stored": self.is_stored,
                    "made_by": self.made_by,
                    "reason": self.reason,
                    "made_at": None if self.made_at is None else iso(self.made_at),
                }
            )
        )


def _list_present(values: Mapping[str, Any]) -> Iterator[tuple[str, str | float | bool]]:
    for name, value in values.items():
        if value not in (None, ""):
            yield name, value
