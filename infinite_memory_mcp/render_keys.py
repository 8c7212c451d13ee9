"""Render the memories whose keys bear on the key of a new memory, and the way to settle them."""

from __future__ import annotations

from infinite_memory.core.values.checks import MAX_LABEL_CHARS
from infinite_memory.core.values.receipt import KeyHolder, Receipt
from infinite_memory.search.text.quotation import NOTICE, quote_label, quote_lines
from infinite_memory_mcp.view import PLAIN, View


def render_keys(receipt: Receipt, view: View = PLAIN) -> str:
    """Return the memories with the nearest key and with the same key, framed as data."""
    holders = [*receipt.same_key]
    if receipt.nearest_key is not None:
        holders.append(receipt.nearest_key)
    if not holders:
        return ""
    shown = {similar.id for similar in (*receipt.replaces, *receipt.similar)}
    notice = "" if shown else f" {NOTICE}"
    blocks = [_render_holder(holder, receipt, view) for holder in holders if holder.id not in shown]
    return "".join(f"\n\n{part}" for part in (f"{advise_on_keys(receipt, view)}{notice}", *blocks))


def advise_on_keys(receipt: Receipt, view: View = PLAIN) -> str:
    """Return sentences on the keys that bear on the key of a new memory, and the calls to make."""
    sentences = []
    nearest = receipt.nearest_key
    if nearest is not None:
        arguments = [f'id="{view.shorten(receipt.id)}"', f"key={_quote_key(nearest.key)}"]
        if nearest.scope == receipt.scope:
            arguments.append(f'supersedes=["{view.shorten(nearest.id)}"]')
        sentences.append(
            f"nearest key: {quote_label(nearest.key)}; if it is the same fact, call"
            f" update_memory({', '.join(arguments)}). If not, leave it."
        )
    if receipt.same_key:
        is_single = len(receipt.same_key) == 1
        scopes = dict.fromkeys(quote_label(holder.scope) for holder in receipt.same_key)
        old_id = f'"{view.shorten(receipt.same_key[0].id)}"' if is_single else "its id"
        sentences.append(
            f"The same key is also in {', '.join(scopes)}, and holds there. If that is wrong by"
            f' now, call update_memory(id={old_id}, status="superseded").'
        )
    return " ".join(sentences)


def _render_holder(holder: KeyHolder, receipt: Receipt, view: View) -> str:
    header = [view.format_date(holder.happened_at), f"id {view.shorten(holder.id)}"]
    if holder.scope != receipt.scope:
        header.append(f"scope {quote_label(holder.scope)}")
    lines = [" · ".join([*header, f"key {quote_label(holder.key)}"])]
    if holder.text is not None:
        lines.append(quote_lines(holder.text))
    return "\n".join(lines)


def _quote_key(key: str) -> str:
    return quote_label(key, max_chars=MAX_LABEL_CHARS, always=True)
