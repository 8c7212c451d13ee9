"""Convert answers to data for a program, with the JSON Schemas that describe the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import asdict, evolve

from infinite_memory.core.values.codec import (
    iso,
    key_holder_json,
    landmark_json,
    predecessor_json,
    reached_json,
    reading_json,
    similar_json,
    told_json,
)
from infinite_memory.core.values.conversation.attachment import shown_json
from infinite_memory.core.values.criteria import Depth, Mode
from infinite_memory.core.values.hits import Absence, Hit, Hits
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


RECEIPT = object_schema("id", "outcome", "revision")
"""The schema of the answer to a write."""

HITS = object_schema("hits")
"""The schema of the answer to a search."""


def receipt_to_data(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as JSON data."""
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
    if receipt.superseded:
        data["superseded"] = list(receipt.superseded)
    if receipt.superseded_by is not None:
        data["superseded_by"] = receipt.superseded_by
    if receipt.similar:
        data["notice"] = NOTICE
        data["similar"] = [similar_json(similar) for similar in receipt.similar]
        data["advice"] = advise_on_similar(receipt)
    data.update(_key_data(receipt))
    if receipt.conflicts:
        data["conflicts"] = list(receipt.conflicts)
    if receipt.pending:
        data["pending"] = list(receipt.pending)
    return data


def _key_data(receipt: Receipt) -> dict[str, Any]:
    """Return the memories whose keys bear on the key of a new memory, with advice."""
    data: dict[str, Any] = {}
    if receipt.nearest_key is not None:
        data["nearest_key"] = key_holder_json(receipt.nearest_key)
    if receipt.same_key:
        data["same_key"] = [key_holder_json(holder) for holder in receipt.same_key]
    return {"notice": NOTICE, **data, "key_advice": advise_on_keys(receipt)} if data else data


def memory_to_data(memory: Memory) -> dict[str, Any]:
    """Return a memory as JSON data, without null, false and empty fields, and without feedback."""
    shown = evolve(memory, context=without_feedback(memory.context))
    return {
        name: value
        for name, value in shown_json(shown).items()
        if value is not None and value is not False and value not in ([], {})
    }


def hits_to_data(
    hits: Hits, ordered: Iterable[Hit], *, pages: bool = False, budget: int = DEFAULT_TOKENS
) -> dict[str, Any]:
    """Return the result of a search, its hits in the order `ordered`.

    `pages` says whether the tool takes an offset. Of hits that exceed the budget of tokens the best
    are in it.
    """
    covered = hits.covered
    rows = {
        hit.memory.id: _hit_to_data(hit, hits.depth, covered.get(hit.memory.id)) for hit in hits
    }
    sizes = [estimate_data(row) + 2 for row in rows.values()]
    count = max(1, fit_count(sizes, budget - _AROUND_TOKENS))
    fitting = set(list(rows)[:count])
    data: dict[str, Any] = {
        "notice": NOTICE,
        "depth": str(hits.depth),
        "hits": [rows[hit.memory.id] for hit in ordered if hit.memory.id in fitting],
        "likely": hits.likely,
        "eligible": hits.eligible,
        "matches": hits.matches,
        "offset": hits.offset,
        "more": hits.more,
        "below": hits.below,
        "pending": hits.pending,
    }
    data.update(_scope_data(hits))
    readings = {"when": hits.when, "time": hits.time, "empty_time": hits.empty_time}
    data.update({name: reading_json(value) for name, value in readings.items() if value})
    if hits.newest_conversation is not None:
        data["newest_conversation"] = hits.newest_conversation
    if hits.newest_memories:
        data["newest_memories"] = True
    if hits.archived_best:
        data["archived_best"] = round(hits.archived_best, 4)
    if hits.mode is not Mode.CURRENT:
        data["mode"] = str(hits.mode)
    if hits.as_of is not None:
        data["as_of"] = iso(hits.as_of)
    if hits.note is not None:
        data["note"] = hits.note
    if len(fitting) < len(rows):
        data["cut"] = True
    if pages and len(fitting) < len(rows):
        data["next"] = hits.offset + count
    elif pages and hits.next is not None:
        data["next"] = hits.next
    return data


def _scope_data(hits: Hits) -> dict[str, Any]:
    """Return which scopes were searched, and which the query may name."""
    data: dict[str, Any] = {}
    if hits.scopes is not None:
        data["scopes"] = list(hits.scopes)
    if hits.opened:
        data["opened_scopes"] = list(hits.opened)
    if hits.unopened and not hits.likely:
        data["unopened_scopes"] = list(hits.unopened)
    return data


def absence_to_data(absence: Absence) -> dict[str, Any]:
    """Return why a search does not find a memory."""
    data = {**asdict(absence), "step": str(absence.step), "unmet": list(absence.unmet)}
    return {name: value for name, value in data.items() if value is not None}


def count_fitting(memories: Sequence[Memory], budget: int) -> int:
    """Return how many memories of a page fit in the budget, at least 1 unless it is empty.

    They fit as text and as data, since the cursor of the next page is the same in both.
    """
    sizes = [
        2
        + max(
            estimate_tokens(render_memory(1, memory)),
            estimate_data(_with_excerpt(memory_to_data(memory), beginning_of(memory))),
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
            _with_excerpt(memory_to_data(memory), window_of(memory, offset, share))
            for memory in memories[:count]
        ],
    }
    return data if count == len(memories) else {**data, "more": len(memories) - count}


def page_to_data(memories: Iterable[Memory], cursor: str | None) -> dict[str, Any]:
    """Return a page of memories and the cursor of the next page."""
    data: dict[str, Any] = {
        "notice": NOTICE,
        "hits": [
            _with_excerpt(memory_to_data(memory), beginning_of(memory)) for memory in memories
        ],
    }
    if cursor is not None:
        data["cursor"] = cursor
    return data


def recall_page_to_data(recalled: Recalled) -> dict[str, Any]:
    """Return a page of the memories of a period, with the total, landmarks and digest."""
    data: dict[str, Any] = {
        **page_to_data(recalled, recalled.next),
        "order": recalled.order,
        "total": recalled.total,
    }
    if recalled.when is not None:
        data["when"] = reading_json(recalled.when)
    for name, landmark in (("before", recalled.before), ("after", recalled.after)):
        if landmark is not None:
            data[name] = landmark_json(landmark)
    if recalled.digest is not None:
        step, counts = recalled.digest.by_time(MAX_DIGEST_ROWS)
        scopes, in_other_scopes = recalled.digest.largest_scopes(MAX_DIGEST_ROWS)
        data["digest"] = {
            "first": landmark_json(recalled.digest.first),
            "last": landmark_json(recalled.digest.last),
            f"by_{step}": counts,
            "by_scope": scopes,
            "by_kind": dict(recalled.digest.by_kind),
        }
        if in_other_scopes:
            data["digest"]["in_other_scopes"] = in_other_scopes
    return data


def _hit_to_data(hit: Hit, depth: Depth, summary: str | None) -> dict[str, Any]:
    data = {**memory_to_data(hit.memory), "score": round(hit.score, 4)}
    data = _with_excerpt(data, excerpt_of(hit, depth, covered=summary is not None))
    if depth is Depth.EXHAUSTIVE:
        for name in ("context", "sources", "attachments"):
            if data.pop(name, None):
                data["cut"] = True
    if summary is not None:
        data["covered_by"] = summary
    data.update(_related_data(hit))
    return data


def _with_excerpt(data: dict[str, Any], excerpt: Excerpt) -> dict[str, Any]:
    """Return `data` with its text, and how to read on if the text is cut."""
    data = {**data, "text": excerpt.shown}
    if excerpt.is_cut:
        data |= {"cut": True, "length": excerpt.length}
    if excerpt.is_cut and not excerpt.heading:
        data |= {"start": excerpt.start, "end": excerpt.end}
    return data


def _related_data(hit: Hit) -> dict[str, Any]:
    """Return the fields of a hit that are not fields of its memory, without empty values."""
    data: dict[str, Any] = {
        "twins": list(hit.twins),
        "covers": list(hit.covers),
        "outdated": list(hit.outdated),
        "ended": hit.ended,
        "supersedes": [predecessor_json(predecessor) for predecessor in hit.supersedes],
        "told_later": [told_json(told) for told in hit.told_later],
        "told_earlier": [told_json(told) for told in hit.told_earlier],
        "not_useful_for": list(hit.not_useful_for),
        "reached": None if hit.reached is None else reached_json(hit.reached),
        "explanation": None if hit.explanation is None else asdict(hit.explanation),
    }
    return {name: value for name, value in data.items() if value}
