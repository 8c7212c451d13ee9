"""Fit the plain data of values into an answer, with the JSON Schemas that describe it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import NOTHING, AttrsInstance, fields

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.criteria import Depth
from infinite_memory.core.values.hits import Hit, Hits
from infinite_memory.core.values.memory import Memory, without_feedback
from infinite_memory.core.values.recall_page import Recalled
from infinite_memory.core.values.receipt import Receipt
from infinite_memory.search.text.quotation import NOTICE
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory_mcp.budget import DEFAULT_TOKENS, estimate_data, fit_count
from infinite_memory_mcp.excerpt import Excerpt, beginning_of, excerpt_of, window_of
from infinite_memory_mcp.render import advise_on_similar, render_memory
from infinite_memory_mcp.render_keys import advise_on_keys
from infinite_memory_mcp.render_recall import MAX_DIGEST_ROWS

# For what stands around the entries of an answer.
_AROUND_TOKENS = 800
_ENTRY_TOKENS = 250


# A tool list costs tokens in every conversation, so a schema names only the required properties.
def object_schema(*names: str) -> dict[str, Any]:
    """Return the JSON Schema of an object with the required properties `names`."""
    return {"type": "object", "required": list(names)}


def schema_of(kind: type[AttrsInstance]) -> dict[str, Any]:
    """Return the JSON Schema of the data of a value: its fields without a default are required."""
    return object_schema(*(each.name for each in fields(kind) if each.default is NOTHING))


RECEIPT = schema_of(Receipt)
"""The schema of the answer to a write."""

HITS = object_schema("hits")
"""The schema of the answer to a search."""


def compact(value: Any) -> Any:
    """Return plain data as an answer has it: no null, false and empty fields, four digits.

    A context stays as it was told, but for the questions of feedback.
    """
    if isinstance(value, PlainData):
        return compact(value.to_dict())
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, list):
        return [compact(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {
        name: without_feedback(item) if name == "context" else compact(item)
        for name, item in value.items()
    }
    return {
        name: item
        for name, item in kept.items()
        if not (item is None or item is False or item == [] or item == {})
    }


def receipt_to_data(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as data, with advice on the memories that it names and on its key."""
    data: dict[str, Any] = compact(receipt)
    if receipt.replaces or receipt.similar:
        data |= {"notice": NOTICE, "advice": advise_on_similar(receipt)}
    if receipt.nearest_key is not None or receipt.same_key:
        data |= {"notice": NOTICE, "key_advice": advise_on_keys(receipt)}
    return data


def hits_to_data(
    hits: Hits, ordered: Iterable[Hit], *, pages: bool = False, budget: int = DEFAULT_TOKENS
) -> dict[str, Any]:
    """Return the result of a search, its hits in the order `ordered`.

    `pages` says whether the tool takes an offset. Of hits that exceed the budget of tokens the best
    are in it.
    """
    covered = hits.covered
    given = hits.to_dict()
    rows = {row["id"]: row for row in given.pop("hits")}
    for hit in hits:
        rows[hit.id] = _cut_hit(hit, rows[hit.id], hits.depth, covered.get(hit.id))
    sizes = [estimate_data(row) + 2 for row in rows.values()]
    count = max(1, fit_count(sizes, budget - _AROUND_TOKENS))
    fitting = set(list(rows)[:count])
    if len(fitting) < len(rows):
        given |= {"cut": True, "next": hits.offset + count}
    if not pages:
        del given["next"]
    return {
        "notice": NOTICE,
        "hits": [rows[hit.id] for hit in ordered if hit.id in fitting],
        **compact(given),
        "likely": hits.likely,
    }


def count_fitting(memories: Sequence[Memory], budget: int) -> int:
    """Return how many memories of a page fit in the budget, at least 1 unless it is empty.

    They fit as text and as data, since the cursor of the next page is the same in both.
    """
    sizes = [
        2
        + max(
            estimate_tokens(render_memory(1, memory)),
            estimate_data(_add_excerpt(compact(memory), beginning_of(memory))),
        )
        for memory in memories
    ]
    # The digest of a period stands around its first page.
    around = min(2 * _AROUND_TOKENS, budget // 2)
    return min(len(sizes), max(1, fit_count(sizes, budget - around)))


def memories_to_data(
    memories: Sequence[Memory], *, budget: int = DEFAULT_TOKENS, offset: int = 0
) -> dict[str, Any]:
    """Return memories requested by their ids; texts begin at `offset` and are cut to the budget."""
    count = min(len(memories), max(1, (budget - _AROUND_TOKENS) // _ENTRY_TOKENS))
    share = max(50, (budget - _AROUND_TOKENS) // (count or 1) - _ENTRY_TOKENS)
    data: dict[str, Any] = {
        "notice": NOTICE,
        "hits": [
            _add_excerpt(compact(memory), window_of(memory, offset, share))
            for memory in memories[:count]
        ],
    }
    return data if count == len(memories) else {**data, "more": len(memories) - count}


def page_to_data(memories: Iterable[Memory], cursor: str | None) -> dict[str, Any]:
    """Return a page of memories and the cursor of the next page."""
    data: dict[str, Any] = {
        "notice": NOTICE,
        "hits": [_add_excerpt(compact(memory), beginning_of(memory)) for memory in memories],
    }
    if cursor is not None:
        data["cursor"] = cursor
    return data


def recall_page_to_data(recalled: Recalled) -> dict[str, Any]:
    """Return a page of the memories of a period, with the total, landmarks and digest."""
    given = recalled.to_dict()
    digest = given["digest"]
    for name in ("memories", "next", "digest"):
        del given[name]
    data = {**page_to_data(recalled, recalled.next), **compact(given)}
    if recalled.digest is not None:
        step, counts = recalled.digest.by_time(MAX_DIGEST_ROWS)
        scopes, others = recalled.digest.largest_scopes(MAX_DIGEST_ROWS)
        del digest["by_day"]
        digest |= {f"by_{step}": counts, "by_scope": scopes, "in_other_scopes": others}
        data["digest"] = digest if others else compact({**digest, "in_other_scopes": None})
    return data


def _cut_hit(hit: Hit, row: dict[str, Any], depth: Depth, summary: str | None) -> dict[str, Any]:
    """Return the data of a hit with the part of its text that is shown."""
    data = compact({**row, "highlight": None, "covered_by": summary})
    data = _add_excerpt(data, excerpt_of(hit, depth, covered=summary is not None))
    if depth is Depth.EXHAUSTIVE:
        for name in ("context", "sources", "attachments"):
            if data.pop(name, None):
                data["cut"] = True
    return data


def _add_excerpt(data: dict[str, Any], excerpt: Excerpt) -> dict[str, Any]:
    """Return `data` with its text, and how to read on if the text is cut."""
    data = {**data, "text": excerpt.shown}
    if excerpt.is_cut:
        data |= {"cut": True, "length": excerpt.length}
    if excerpt.is_cut and not excerpt.heading:
        data |= {"start": excerpt.start, "end": excerpt.end}
    return data
