"""Whether the owner of a store approved the condition of a long-term memory.

A condition decides what an assistant gets to read unasked, so text from elsewhere must not bring
its own. The journal says where a revision came from: it is chained, it is never merged or imported,
and only `add`, `update` and `enable` make entries of the operation TRIGGER. A mark within the
memory could be copied, whatever it was made of: an export names the identity of its store.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from infinite_memory.conversations.long_term.context import read_trigger_of
from infinite_memory.errors import StoreDamaged
from infinite_memory.model.conversation.trigger import Trigger
from infinite_memory.model.entry import Operation
from infinite_memory.model.memory import Memory
from infinite_memory.protocols import Storage

__all__ = ["is_approved"]

_log = logging.getLogger(__name__)
_PAGE = 64


def is_approved(storage: Storage, memory: Memory, trigger: Trigger) -> bool:
    """Return whether an entry of the journal approves the condition that the memory has now.

    A later change of the condition by any other way takes the approval away; an undo that brings
    the approved condition back brings the approval back.
    """
    try:
        approved = set(_approved_revisions(storage, memory.id))
        if not approved:
            return False
        if memory.revision in approved:
            return True
        revisions = [r for r in storage.history(memory.id) if r.revision in approved]
    except StoreDamaged as error:
        _log.error("%s", error)
        return False
    return any(_has_condition(revision, trigger) for revision in revisions)


def _has_condition(revision: Memory, trigger: Trigger) -> bool:
    earlier = read_trigger_of(revision)
    if earlier is None:
        return False
    return (earlier.language, earlier.condition) == (trigger.language, trigger.condition)


def _approved_revisions(storage: Storage, memory_id: str) -> Iterator[int]:
    """Yield the revisions that entries of the operation TRIGGER left, newest first.

    An erased memory has nothing in common with a later memory of its id. An entry that was undone
    approves nothing, unless that undo was undone.
    """
    before: int | None = None
    undone: set[int] = set()
    while True:
        page = storage.journal(before=before, limit=_PAGE, memory_id=memory_id)
        for entry in page:
            if entry.number in undone:
                continue
            if entry.action.undoes is not None:
                undone.add(entry.action.undoes)
            for step in entry.action.memories:
                if step.id != memory_id:
                    continue
                if step.after == 0:
                    return
                if entry.action.operation is Operation.TRIGGER:
                    yield step.after
        if len(page) < _PAGE:
            return
        before = page[-1].number
