"""The tools of the graph: what belongs to a memory, and links by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from infinite_memory.graph.values import Relation
from infinite_memory.model.conversation.attachment import present
from infinite_memory.model.link import LinkType
from infinite_memory.model.memory import shorten
from infinite_memory.model.receipt import describe_feedback
from infinite_memory_mcp.arguments import (
    Arguments,
    Labels,
    Limit,
    MemoryId,
    MemoryIds,
    Tokens,
    list_choices,
)
from infinite_memory_mcp.budget import DEFAULT_TOKENS, estimate_tokens, fit_count
from infinite_memory_mcp.data import memories_to_data, memory_to_data, object_schema
from infinite_memory_mcp.quotation import escape_label, quote_lines
from infinite_memory_mcp.render import NOTICE, render_memories, render_memory
from infinite_memory_mcp.tool import Answer, ToolSpec
from infinite_memory_mcp.view import View, view_of_ids, view_of_memories

if TYPE_CHECKING:
    from infinite_memory.graph.values import Related
    from infinite_memory.model.memory import Memory
    from infinite_memory.store import MemoryStore

__all__ = ["GRAPH"]

_BY_HAND = list_choices(LinkType.SEMANTIC, LinkType.TEMPORAL, LinkType.CONTEXT, LinkType.INTENT)
_MOST_REVISIONS = 10
_TEXT_CHARS = 240
_HEAD_TOKENS = 150


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


def related_memories(store: MemoryStore, arguments: RelatedMemories) -> Answer:
    """Show everything of a memory: its text, its history, and what belongs to it, with reasons.

    With several ids, what belongs to any of them. It goes by links, conversation, project, topic,
    location, meaning and time.
    """
    ids = list(dict.fromkeys(arguments.ids))
    related = store.graph.related(
        ids, types=arguments.types, depth=arguments.depth, limit=arguments.limit
    )
    memories = [present(store.get(memory_id)) for memory_id in ids]
    history = [present(m) for m in store.journal.history(ids[0])] if len(ids) == 1 else []
    shown = [*memories, *history, *(item.memory for item in related)]
    view = view_of_memories(store, shown, [i for item in related for i in _ids_of(item)])
    budget = arguments.max_tokens
    parts = [
        render_memories(memories, budget=budget // 2, view=view),
        *_render_history(memories, history, view),
    ]
    left = budget - sum(map(estimate_tokens, parts)) - _HEAD_TOKENS
    parts.append(_render_related(related, view, left))
    data: dict[str, Any] = {
        **memories_to_data(memories, budget=budget // 2),
        "history": [_revision_to_data(memory) for memory in history[-_MOST_REVISIONS:]],
        "related": [_related_to_data(item) for item in related],
    }
    return Answer(text="\n\n".join(parts), data=data)


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


def unlink_memories(store: MemoryStore, arguments: UnlinkMemories) -> Answer:
    """Remove links from a memory to another; undo brings them back."""
    source, target = arguments.source, arguments.target
    removed = store.graph.unlink(source, target, type=arguments.type)
    view = view_of_ids(store, [source, target])
    ends = f"{view.shorten(source)} to {view.shorten(target)}"
    names = ", ".join(link.type for link in removed)
    text = f"Removed from {ends}: {names}." if removed else f"There was no such link from {ends}."
    return Answer(text=text, data={"removed": [link.to_dict() for link in removed]})


def not_useful(store: MemoryStore, arguments: NotUseful) -> Answer:
    """Rank a memory lower for queries like one that it does not answer, "not what I meant"."""
    feedback = store.not_useful(arguments.id, arguments.query, take_back=arguments.take_back)
    view = view_of_ids(store, [feedback.id])
    text = describe_feedback(feedback, view.shorten(feedback.id), take_back=arguments.take_back)
    return Answer(text=escape_label(text), data=feedback.to_dict())


def _render_history(
    memories: Sequence[Memory], history: Sequence[Memory], view: View
) -> Iterator[str]:
    """Yield the earlier revisions and the memories before and after it, oldest first."""
    others = [memory for memory in history if memory not in memories]
    if not others:
        return
    left = len(others) - _MOST_REVISIONS
    more = f" {left} older ones: memory_history." if left > 0 else ""
    yield f"Its history, oldest first.{more}"
    for memory in others[-_MOST_REVISIONS:]:
        header = f"{view.format_date(memory.happened_at)} · id {view.shorten(memory.id)}"
        text = quote_lines(shorten(memory.text, _TEXT_CHARS))
        yield f"{header} · revision {memory.revision} · {memory.status}\n{text}"


def _render_related(related: Sequence[Related], view: View, budget: int) -> str:
    if not related:
        return "Nothing belongs to it by these types."
    blocks = [_render_item(number, item, view) for number, item in enumerate(related, 1)]
    count = max(1, fit_count([estimate_tokens(block) + 2 for block in blocks], budget))
    left = len(blocks) - count
    more = f" {left} more do not fit: raise max_tokens." if left > 0 else ""
    head = f"What belongs to it, strongest first.{more} {NOTICE}"
    return "\n\n".join([head, *blocks[:count]])


def _render_item(number: int, item: Related, view: View) -> str:
    # Only the header: the snippet stands below it.
    header = render_memory(number, item.memory, view=view).splitlines()[0]
    reason = f"weight {item.weight:.2f}: {escape_label(item.reason)}"
    way = [view.shorten(step.target) for step in item.path[:-1]]
    over = f" (over {', '.join(way)})" if way else ""
    return f"{header}\n{reason}{over}\n{quote_lines(item.snippet)}"


def _ids_of(item: Related) -> Iterator[str]:
    for step in item.path:
        yield step.source
        yield step.target


def _revision_to_data(memory: Memory) -> dict[str, Any]:
    return {**memory_to_data(memory), "text": shorten(memory.text, _TEXT_CHARS)}


def _related_to_data(item: Related) -> dict[str, Any]:
    own = memory_to_data(item.memory)
    own.pop("text", None)
    return {
        **own,
        "weight": item.weight,
        "reason": item.reason,
        "snippet": item.snippet,
        "path": [step.to_dict() for step in item.path],
    }


GRAPH = (
    ToolSpec(
        run=related_memories,
        arguments=RelatedMemories,
        title="What belongs to a memory",
        answers=object_schema("related"),
        reads=True,
    ),
    ToolSpec(
        run=link_memories,
        arguments=LinkMemories,
        title="Link memories",
        answers=object_schema("source", "target", "type"),
        repeatable=True,
    ),
    ToolSpec(
        run=unlink_memories,
        arguments=UnlinkMemories,
        title="Remove links",
        answers=object_schema("removed"),
        destroys=True,
        repeatable=True,
    ),
    ToolSpec(
        run=not_useful,
        arguments=NotUseful,
        title="Not what was meant",
        answers=object_schema("id", "outcome", "queries"),
        repeatable=True,
    ),
)
"""The tools of the graph."""
