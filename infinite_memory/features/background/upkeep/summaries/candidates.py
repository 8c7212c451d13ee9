"""Which conversations and months are finished, and what of them is archived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.policies.ages import ages_of
from infinite_memory.features.background.upkeep.policies.protected import is_protected
from infinite_memory.features.background.upkeep.policies.verdict import last_touched
from infinite_memory.features.background.upkeep.scan import RollingScan
from infinite_memory.features.background.upkeep.summaries.material import (
    Material,
    find_summaries,
    load_conversation,
    load_month,
    month_of,
    next_month,
)

POSITION_NOTE = "summarise/position"
"""The note of how far the scan came."""

_MOST_READ = 3000


def scan_for_material(context: JobContext) -> RollingScan:
    """Return the scan of the memories that are old enough, from where the last run ended."""
    youngest = timedelta(weeks=context.settings.min_age_weeks)
    criteria = Criteria(until=context.now - youngest, statuses=frozenset({Status.CURRENT}))
    return RollingScan(context, criteria, note=POSITION_NOTE, most=_MOST_READ)


def find_material(context: JobContext, scan: RollingScan | None = None) -> Iterator[Material]:
    """Yield what is old enough to be summarised, and has no summary of all of it yet."""
    seen: set[tuple[str, str]] = set()
    for page in (scan_for_material(context) if scan is None else scan).pages():
        for memory in page:
            name = memory.conversation_id or f"{month_of(memory.happened_at):%Y-%m}"
            if memory.kind is Kind.SUMMARY or (memory.scope, name) in seen:
                continue
            if context.stop():
                return
            seen.add((memory.scope, name))
            parts = load_finished(context, memory)
            yield from (part for part in parts if not _is_summarised(context, part))


def load_finished(context: JobContext, memory: Memory) -> Sequence[Material]:
    """Return the conversation or the month of a memory, in parts; nothing if it is too young."""
    window = ages_of(context.settings, memory.scope).conversation
    if window is None:
        return ()
    latest = context.now - window
    if memory.happened_at > latest:
        return ()
    storage = context.services.storage
    if memory.conversation_id is None:
        if next_month(month_of(memory.happened_at)) > latest:
            return ()
        parts = load_month(storage, memory.scope, memory.happened_at)
    else:
        parts = load_conversation(storage, memory.scope, memory.conversation_id)
    sources = [source for part in parts for source in part.sources]
    # What was archived was touched then, and may be in a summary that is made again.
    is_young = any(
        source.happened_at > latest
        or (source.status is Status.CURRENT and last_touched(source) > latest)
        for source in sources
    )
    return () if is_young else parts


def _is_summarised(context: JobContext, material: Material) -> bool:
    """Return whether all of it was summarised; a summary that was undone or erased counts too."""
    storage = context.services.storage
    name = material.summary_id
    if storage.get([name], models=()) or storage.erased([name]):
        return True
    ids = {memory.id for memory in material.sources}
    return any(set(summary.sources) == ids for summary in find_summaries(storage, material))


def to_archive(material: Material) -> list[Memory]:
    """Return the sources that are archived: the messages of a conversation, unless protected."""
    if material.conversation_id is None:
        return []
    return [
        memory
        for memory in material.sources
        if memory.status is Status.CURRENT and not is_protected(memory)
    ]
