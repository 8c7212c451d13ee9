"""The tools of the graph: what belongs to a memory, and links by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.receipt import Feedback, describe_feedback
from infinite_memory.features.graph.values import Relation
from infinite_memory.search.text.quotation import escape_line
from infinite_memory_mcp.arguments import (
    Arguments,
    Labels,
    Limit,
    MemoryId,
    MemoryIds,
    Tokens,
    list_choices,
)
from infinite_memory_mcp.budget import DEFAULT_TOKENS
from infinite_memory_mcp.data import object_schema, schema_of
from infinite_memory_mcp.render_related import show_related
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.view import view_of_ids

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_BY_HAND = list_choices(LinkType.SEMANTIC, LinkType.TEMPORAL, LinkType.CONTEXT, LinkType.INTENT)


class RelatedMemories(Arguments):
    """The arguments of `related_memories`."""

    ids: MemoryIds = Field(description="Where to begin")
    types: Labels = Field([], description=f"Only by these: {', '.join(Relation)}")
    depth: int = Field(2, ge=1, le=4, description="Steps")
    limit: Limit = 10
    max_tokens: Tokens = DEFAULT_TOKENS


class LinkMemories(Arguments):
    """The arguments of `link_memories`."""

    source: MemoryId
    target: MemoryId
    type: str = Field(LinkType.SEMANTIC, json_schema_extra=_BY_HAND)
    weight: float = Field(0.8, description="Above 0, at most 1")
    reason: str = Field("", description="A few words; quote no memory")


class UnlinkMemories(Arguments):
    """The arguments of `unlink_memories`."""

    source: MemoryId
    target: MemoryId
    type: str | None = Field(None, description="Left out: all", json_schema_extra=_BY_HAND)


class NotUseful(Arguments):
    """The arguments of `not_useful`."""

    id: MemoryId
    query: str = Field(description="As it was asked")
    take_back: bool = False


@tool("What belongs to a memory", object_schema("related"), reads=True)
def related_memories(store: MemoryStore, arguments: RelatedMemories) -> Answer:
    """Show everything of a memory: its text, its history, and what belongs to it, with reasons.

    With several ids, what belongs to any of them. It goes by links, conversation, project, topic,
    location, meaning and time.
    """
    return show_related(
        store,
        arguments.ids,
        types=arguments.types,
        depth=arguments.depth,
        limit=arguments.limit,
        budget=arguments.max_tokens,
    )


@tool("Link memories", schema_of(Link), repeatable=True)
def link_memories(store: MemoryStore, arguments: LinkMemories) -> Answer:
    """Link a memory to another of its scope that belongs to it; undo takes it back."""
    link = store.graph.link(
        arguments.source,
        arguments.target,
        type=arguments.type,
        weight=arguments.weight,
        reason=arguments.reason,
    )
    view = view_of_ids(store, [link.source, link.target])
    text = (
        f"Linked: {view.shorten(link.source)} to {view.shorten(link.target)}, {link.type}, weight"
        f" {link.weight:g}."
    )
    return Answer(text=text, data=link.to_dict())


@tool("Remove links", object_schema("removed"), destroys=True, repeatable=True)
def unlink_memories(store: MemoryStore, arguments: UnlinkMemories) -> Answer:
    """Remove links from a memory to another; undo brings them back."""
    source, target = arguments.source, arguments.target
    removed = store.graph.unlink(source, target, type=arguments.type)
    view = view_of_ids(store, [source, target])
    ends = f"{view.shorten(source)} to {view.shorten(target)}"
    names = ", ".join(link.type for link in removed)
    text = f"Removed from {ends}: {names}." if removed else f"There was no such link from {ends}."
    return Answer(text=text, data={"removed": [link.to_dict() for link in removed]})


@tool("Not what was meant", schema_of(Feedback), repeatable=True)
def not_useful(store: MemoryStore, arguments: NotUseful) -> Answer:
    """Rank a memory lower for queries like one that it does not answer, "not what I meant"."""
    feedback = store.not_useful(arguments.id, arguments.query, take_back=arguments.take_back)
    view = view_of_ids(store, [feedback.id])
    text = describe_feedback(feedback, view.shorten(feedback.id), take_back=arguments.take_back)
    return Answer(text=escape_line(text), data=feedback.to_dict())


GRAPH = (related_memories, link_memories, unlink_memories, not_useful)
"""The tools of the graph."""
