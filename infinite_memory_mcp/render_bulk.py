"""The answers to forgetting many memories: the preview with its token, and the receipt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from infinite_memory.search.text.quotation import NOTICE, escape_line, quote_label, quote_lines
from infinite_memory_mcp.data import compact
from infinite_memory_mcp.render import count_memories, format_moment
from infinite_memory_mcp.tool import Answer

if TYPE_CHECKING:
    from infinite_memory.core.values.memory import Memory
    from infinite_memory.core.values.receipt import BulkReceipt, Preview

_TEXT_CHARS = 160
_MAX_SCOPES = 5


def render_preview(
    preview: Preview, choice: Mapping[str, Any], refusal: str | None = None
) -> Answer:
    """Return the memories that would be forgotten, and the call that confirms it.

    `choice` are the arguments that choose the memories. `refusal` says why an earlier preview was
    not carried out.
    """
    lines = [] if refusal is None else [f"{escape_line(refusal[:1].upper() + refusal[1:])}."]
    data: dict[str, Any] = {"outcome": "preview", "count": preview.count}
    if refusal is not None:
        data["refused"] = refusal
    if not preview.count:
        # Without a match there is no new preview to look at, as a refusal of the token asks.
        again = "" if refusal is None else " any more"
        told = _describe_elsewhere(preview)
        lines = [f"Nothing matches{again}, and nothing was forgotten. {told}"]
        elsewhere = {"elsewhere": dict(preview.elsewhere)} if preview.elsewhere else {}
        return Answer(text="\n".join(lines).rstrip(), data={**data, **elsewhere})
    confirmed = {**choice, "confirm": preview.token}
    advice = (
        "To forget just these, after the user has agreed, call delete_memory with"
        f" {json.dumps(confirmed, ensure_ascii=False)}"
    )
    scopes = _list_counts(preview.by_scope)
    lines.append(
        f"Nothing is forgotten yet. {count_memories(preview.count)} would be: {scopes}."
        f" {advice}. {NOTICE}"
    )
    for number, memory in enumerate(preview.memories, 1):
        lines += [_render_header(number, memory), quote_lines(_shorten_text(memory.text))]
    rest = preview.count - len(preview.memories)
    if rest:
        lines.append(f"and {rest:,} more")
    data |= {
        "token": preview.token,
        "by_scope": dict(preview.by_scope),
        "advice": advice,
        "notice": NOTICE,
        "hits": [
            {**compact(memory), "text": _shorten_text(memory.text)} for memory in preview.memories
        ],
    }
    return Answer(text="\n".join(lines), data=data)


def render_bulk_receipt(receipt: BulkReceipt) -> Answer:
    """Return how many memories were forgotten, and how to bring them back."""
    count = len(receipt.ids)
    text = (
        f"Forgotten: {count_memories(count)}, in one change. `infinite-memory undo`, or the tool"
        " undo where it is offered, brings all of them back; update_memory with status current"
        " brings one back."
    )
    # The journal has all ids.
    return Answer(text=text, data={"outcome": "forgotten", "count": count})


def _describe_elsewhere(preview: Preview) -> str:
    if not preview.elsewhere:
        return "retrieve_memory finds memories, and delete_memory with an id forgets one."
    scopes = _list_counts(preview.elsewhere)
    return f"A scope is meant alone: other scopes hold what matches, {scopes}; name the scope."


def _list_counts(counts: Mapping[str, int]) -> str:
    shown = [
        f"{quote_label(name)} {number:,}" for name, number in list(counts.items())[:_MAX_SCOPES]
    ]
    more = len(counts) - len(shown)
    return ", ".join([*shown, *([f"{more} more scopes"] if more else [])])


def _render_header(number: int, memory: Memory) -> str:
    status = "" if memory.status == "current" else f" · status {memory.status}"
    return (
        f"[{number}] {format_moment(memory.happened_at)} · scope {quote_label(memory.scope)}"
        f"{status} · id {memory.id}"
    )


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_CHARS else f"{line[: _TEXT_CHARS - 1]}…"
