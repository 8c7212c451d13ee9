"""Show everything of memories: text, metadata, history, and what belongs to them, with reasons."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.memory import present, shorten, without_feedback
from infinite_memory.core.values.messages import format_count
from infinite_memory.search.text.quotation import NOTICE, quote_label, quote_lines
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory_mcp.budget import fit_count
from infinite_memory_mcp.data import compact, memories_to_data
from infinite_memory_mcp.render import render_memories, render_memory
from infinite_memory_mcp.tool import Answer
from infinite_memory_mcp.view import View, view_of_memories

if TYPE_CHECKING:
    from infinite_memory.core.values.memory import Memory
    from infinite_memory.core.values.record import Usage
    from infinite_memory.features.graph.values import Related
    from infinite_memory.store.memory_store import MemoryStore

_MOST_REVISIONS = 10
_TEXT_CHARS = 240
_CONTEXT_CHARS = 500
_HEAD_TOKENS = 150


def show_related(
    store: MemoryStore,
    given: Sequence[str],
    *,
    types: Collection[str] = (),
    depth: int = 2,
    limit: int = 10,
    budget: int,
) -> Answer:
    """Return the memories with these ids, and what belongs to any of them, strongest first.

    Of a single memory its metadata and its history are shown too. See `store.graph.related`.
    """
    ids = list(dict.fromkeys(given))
    related = store.graph.related(ids, types=types, depth=depth, limit=limit)
    memories = [present(store.get(memory_id)) for memory_id in ids]
    single = memories[0] if len(ids) == 1 else None
    history = [present(m) for m in store.journal.history(ids[0])] if single else []
    usage = store.usage(ids[0]) if single else None
    shown = [*memories, *history, *(item.memory for item in related)]
    further = [i for item in related for i in _list_ids(item)]
    view = view_of_memories(store, shown, [*further, *(single.sources if single else ())])
    parts = [
        render_memories(memories, budget=budget // 2, view=view),
        *(_render_metadata(single, usage, view) if single else ()),
        *_render_history(memories, history, view),
    ]
    left = budget - sum(map(estimate_tokens, parts)) - _HEAD_TOKENS
    parts.append(_render_related(related, view, left))
    data: dict[str, Any] = {
        **memories_to_data(memories, budget=budget // 2),
        "history": [_encode_revision(memory) for memory in history[-_MOST_REVISIONS:]],
        "related": [compact({**item.to_dict(), "text": None}) for item in related],
    }
    if single:
        data["usage"] = None if usage is None else usage.to_dict()
    return Answer(text="\n\n".join(parts), data=data)


def _render_metadata(memory: Memory, usage: Usage | None, view: View) -> Iterator[str]:
    """Yield what the header of a memory leaves out: a line, with its context quoted below it."""
    columns = [f"stored {str(iso(memory.stored_at))[:16]} UTC", f"origin {memory.origin}"]
    if usage is not None and usage.last is not None:
        times = format_count(usage.count, "time", "times")
        columns.append(f"recalled {times}, last {view.format_date(usage.last)}")
    if memory.sources:
        columns.append(f"made from {view.join_ids(memory.sources)}")
    context = without_feedback(memory.context)
    quoted = ""
    if context:
        shown = json.dumps(dict(context), ensure_ascii=False, default=str)
        columns.append("context:")
        quoted = f"\n{quote_lines(shorten(shown, _CONTEXT_CHARS))}"
    yield f"Its metadata: {' · '.join(columns)}{quoted}"


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
    reason = f"weight {item.weight:.2f}: {quote_label(item.reason, max_chars=_TEXT_CHARS)}"
    way = [view.shorten(step.target) for step in item.path[:-1]]
    over = f" (over {', '.join(way)})" if way else ""
    return f"{header}\n{reason}{over}\n{quote_lines(item.snippet)}"


def _list_ids(item: Related) -> Iterator[str]:
    for step in item.path:
        yield step.source
        yield step.target


def _encode_revision(memory: Memory) -> dict[str, Any]:
    return {**compact(memory), "text": shorten(memory.text, _TEXT_CHARS)}
