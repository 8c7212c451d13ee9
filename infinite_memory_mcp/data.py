"""Answers as data: what a program reads, and the JSON Schemas that describe it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import asdict

from infinite_memory.model.codec import iso, to_json
from infinite_memory.model.depth import Depth
from infinite_memory.model.hits import Absence, Hit, Hits
from infinite_memory.model.memory import Memory
from infinite_memory.model.receipt import Receipt
from infinite_memory_mcp.render import NOTICE, shown_text

__all__ = [
    "FOUND",
    "RECEIPT",
    "absence_data",
    "hits_data",
    "memory_data",
    "object_schema",
    "page_data",
    "receipt_data",
]

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}


def object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has at least these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


RECEIPT = object_schema(id=_TEXT, outcome=_TEXT, revision=_WHOLE)
"""The answer to a write."""

FOUND = object_schema(
    hits={"type": "array", "items": object_schema(id=_TEXT, text=_TEXT)},
)
"""The answer to a search."""


def receipt_data(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt."""
    data: dict[str, Any] = {
        "id": receipt.id,
        "outcome": str(receipt.outcome),
        "revision": receipt.revision,
        "scope": receipt.scope,
        "stored_at": iso(receipt.stored_at),
        "searchable": str(receipt.searchable),
    }
    if receipt.erased:
        data["erased"] = list(receipt.erased)
    return data


def memory_data(memory: Memory) -> dict[str, Any]:
    """Return a memory without the fields that say nothing."""
    return {
        name: value
        for name, value in to_json(memory).items()
        if value is not None and value is not False and value not in ([], {})
    }


def hits_data(hits: Hits, ordered: Iterable[Hit], *, pages: bool = False) -> dict[str, Any]:
    """Return the result of a search, its hits in the order `ordered`.

    `pages` tells that the tool takes an offset.
    """
    covered = hits.covered
    data: dict[str, Any] = {
        "notice": NOTICE,
        "depth": str(hits.depth),
        "hits": [_hit_data(hit, hits.depth, covered.get(hit.memory.id)) for hit in ordered],
        "likely": hits.likely,
        "eligible": hits.eligible,
        "matches": hits.matches,
        "offset": hits.offset,
        "more": hits.more,
        "below": hits.below,
        "pending": hits.pending,
    }
    if hits.scopes is not None:
        data["scopes"] = list(hits.scopes)
    if hits.note is not None:
        data["note"] = hits.note
    if pages and hits.next is not None:
        data["next"] = hits.next
    return data


def absence_data(absence: Absence) -> dict[str, Any]:
    """Return why a memory is not found."""
    data = {**asdict(absence), "step": str(absence.step), "unmet": list(absence.unmet)}
    return {name: value for name, value in data.items() if value is not None}


def page_data(memories: Iterable[Memory], cursor: str | None) -> dict[str, Any]:
    """Return one page of memories and the cursor of the next."""
    data: dict[str, Any] = {
        "notice": NOTICE,
        "hits": [memory_data(memory) for memory in memories],
    }
    if cursor is not None:
        data["cursor"] = cursor
    return data


def _hit_data(hit: Hit, depth: Depth, summary: str | None) -> dict[str, Any]:
    data = {**memory_data(hit.memory), "score": round(hit.score, 4)}
    data["text"] = shown_text(hit, depth, covered=summary is not None)
    if depth is Depth.EXHAUSTIVE:
        for name in ("context", "sources", "attachments"):
            if data.pop(name, None):
                data["cut"] = True
    if data["text"] != hit.memory.text:
        data["cut"] = True
    if summary is not None:
        data["covered_by"] = summary
    for name, ids in (("twins", hit.twins), ("covers", hit.covers), ("outdated", hit.outdated)):
        if ids:
            data[name] = list(ids)
    if hit.explanation is not None:
        data["explanation"] = asdict(hit.explanation)
    return data
