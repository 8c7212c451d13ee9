"""Store a summary that somebody else has written, such as a connected assistant."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from attrs import evolve

from infinite_memory.core.errors import InvalidInput, NotFound
from infinite_memory.core.values.checks import check_labels
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.receipts import receipt_of
from infinite_memory.engine.writes.validation import guard_fields
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.summaries.candidates import (
    load_finished,
    to_archive,
)
from infinite_memory.features.background.upkeep.summaries.material import (
    MOST_SOURCES,
    Material,
    find_summaries,
    make_summary,
)
from infinite_memory.features.background.upkeep.summaries.writing import (
    check_given,
    finish_summaries,
    name_client,
    summary_commit,
)

_ID_DIGITS = 32
_MAX_LISTED = 3


def store_summary(
    services: Services, text: str, *, sources: Sequence[str], title: str | None
) -> Receipt:
    """Store a summary with links to its sources; see `Upkeep.store_summary`.

    Raises:
        InvalidInput: a value cannot be used, or the sources are in several scopes, forgotten, or
            summaries.
        NotFound: a source does not exist.
        Conflict: other clients kept changing the sources.
    """
    checked, heading = check_given(text, title, max_bytes=services.config.limits.max_text_bytes)
    ids = [check_id(source) for source in check_labels(sources, "sources")]
    if not 1 <= len(set(ids)) <= MOST_SOURCES:
        raise InvalidInput(f"sources has {len(set(ids)):,} ids: give 1 to {MOST_SOURCES}")
    for attempt in attempts():
        material = _load_material(services, ids)
        values: dict[str, Any] = {"text": checked, "title": heading}
        found = guard_fields(services, values, material.scope)
        summary = _build_summary(services, material, values["text"], values["title"])
        present = services.storage.get([summary.id], models=()).get(summary.id)
        if present is not None:
            is_forgotten = present.memory.status is Status.FORGOTTEN
            searchable = Searchable.NOT if is_forgotten else Searchable.WORDS
            return receipt_of(present.memory, Outcome.UNCHANGED, searchable)
        replaced = [
            memory
            for memory in find_summaries(services.storage, material)
            if set(memory.sources) <= set(ids)
        ]
        with attempt:
            services.storage.commit(_make_commit(services, summary, material, replaced))
            break
    embedded = finish_summaries(services, [summary])
    if embedded is None:
        raise NotFound("a source was erased or moved at the same moment: the summary is erased")
    found_by = Searchable.MEANING if summary.id in embedded else Searchable.WORDS
    receipt = found.tell(receipt_of(summary, Outcome.STORED, found_by))
    pending = () if embedded.failure is None else (embedded.failure,)
    return evolve(receipt, superseded=tuple([memory.id for memory in replaced]), pending=pending)


def _load_material(services: Services, ids: Sequence[str]) -> Material:
    """Return the sources in the order of time."""
    memories = load_memories(services, ids)
    missing = [memory_id for memory_id in dict.fromkeys(ids) if memory_id not in memories]
    if missing:
        raise NotFound(
            f"there is no memory with the id {', '.join(map(repr, missing[:_MAX_LISTED]))}: give"
            " the sources as summaries_wanted lists them"
        )
    unusable = [
        memory.id
        for memory in memories.values()
        if memory.status is Status.FORGOTTEN or memory.kind is Kind.SUMMARY
    ]
    if unusable:
        raise InvalidInput(
            f"the source {unusable[0]!r} is forgotten, or is a summary itself: leave it out"
        )
    if len({memory.scope for memory in memories.values()}) > 1:
        raise InvalidInput(
            "the sources are in several scopes, and a summary is in the scope of its sources: write"
            " one for each scope"
        )
    in_order = sorted(memories.values(), key=lambda memory: (memory.happened_at, memory.id))
    conversations = {memory.conversation_id for memory in in_order}
    return Material(
        scope=in_order[0].scope,
        sources=tuple(in_order),
        conversation_id=next(iter(conversations)) if len(conversations) == 1 else None,
    )


def _build_summary(services: Services, material: Material, text: str, title: str | None) -> Memory:
    """Return the summary; the same text of the same sources has the same id."""
    digest = hashlib.sha256(f"{material.summary_id}\0{text}".encode()).hexdigest()
    summary = make_summary(
        material,
        text,
        made_by=name_client(services),
        origin=Origin.ASSISTANT,
        now=services.clock(),
        zone=services.config.time_zone,
        memory_id=f"summary:{digest[:_ID_DIGITS]}",
    )
    return summary if title is None else evolve(summary, title=title)


def _make_commit(
    services: Services, summary: Memory, material: Material, replaced: Sequence[Memory]
) -> Commit:
    """Return the commit of the summary, which archives what the upkeep would have archived."""
    context = JobContext(services, notes={})
    ids = {memory.id for memory in material.sources}
    is_kept = material.scope in context.scopes and material.is_part
    archived = [
        memory
        for part in (load_finished(context, material.sources[-1]) if is_kept else ())
        if {memory.id for memory in part.sources} == ids
        for memory in to_archive(part)
    ]
    commit = summary_commit(context, summary, replaced=replaced, archived=archived)
    return with_entry(services, Operation.REMEMBER, commit, reason="a summary")
