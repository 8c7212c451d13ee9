"""The end of a reminder: the later memory that tells that it is done.

Told is not stored: a reminder that a later memory probably ends is closed in every list, and stays
as it is until somebody says yes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nsmallest

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.engine.load_memories import load_records
from infinite_memory.engine.scopes import list_open_scopes
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.long_term.book import TrackedMemory
from infinite_memory.features.reminders.retelling import share_of_words

_TELLING = frozenset(Kind) - {Kind.MESSAGE, Kind.REMINDER, Kind.SUMMARY}
# The nearest later memories are judged, of so many reminders in one call.
_COMPARED, _MOST_JUDGED = 8, 32
# By words alone: a reminder and what ends it have more in common than one and a remark on it.
_DONE_SHARE = 0.8
_MICROSECOND = timedelta(microseconds=1)


def find_ends(
    services: Services,
    entries: Sequence[TrackedMemory],
    since: Callable[[TrackedMemory], datetime],
) -> Mapping[str, Memory]:
    """Return the memories that probably end reminders, by the id of the reminder.

    A memory can end a reminder from the moment on that `since` returns. What is found is kept
    until something is stored. A call judges 32 reminders, those first that were judged the longest
    ago, and takes what is known of the others.
    """
    position = services.storage.position()
    stale = (
        entry
        for entry in entries
        if entry.end is None or entry.end[0] != position or entry.end[1] != since(entry)
    )
    for entry in nsmallest(_MOST_JUDGED, stale, lambda entry: entry.end[0] if entry.end else -1):
        moment = since(entry)
        entry.end = position, moment, _find_end(services, entry.memory, moment)
    return {
        entry.memory.id: entry.end[2]
        for entry in entries
        if entry.end is not None and entry.end[2] is not None and entry.end[1] == since(entry)
    }


def _find_end(services: Services, reminder: Memory, since: datetime) -> Memory | None:
    """Return the memory after `since` that tells most surely that a reminder is over.

    It may be of any open scope.
    """
    criteria = Criteria(
        scopes=frozenset({*list_open_scopes(services), reminder.scope}),
        kinds=_TELLING,
        statuses=frozenset({Status.CURRENT}),
        since=since + _MICROSECOND,
        topic_summaries=False,
    )
    try:
        answering = services.models.answering()
        near = answering.index.nearest(reminder.id, criteria, limit=_COMPARED)
    except EmbedderError:  # without a model nothing is near
        return None
    model = answering.name
    records = load_records(services, [reminder.id, *(i for i, _ in near)], models=(model,))
    told = {
        memory_id: (record.memory.text, embedding.vectors[0])
        for memory_id, record in records.items()
        if (embedding := record.embedding_by(model)) is not None and len(embedding.vectors)
    }
    own = told.pop(reminder.id, None)
    later = sorted(
        (records[i].memory for i in told if criteria.admit(records[i].memory)),
        key=lambda memory: memory.happened_at,
    )
    if own is None:
        return None
    completion = services.completion
    if completion.model == model.partition("@")[0]:
        best = completion.find_end(own, [told[memory.id] for memory in later])
        return None if best is None else later[best]
    ending = (m for m in later if share_of_words(reminder.text, m.text) >= _DONE_SHARE)
    return next(ending, None)
