"""Whether the owner of a store approved the condition of a long-term memory.

A condition decides what an assistant gets to read unasked, so text from elsewhere must not bring
its own. The journal says where a revision came from: it is chained, it is never merged or imported,
and only `add`, `update` and `enable` make entries of the operation TRIGGER. A mark within the
memory could be copied, whatever it was made of: an export names the identity of its store.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.conversation.trigger import Trigger
from infinite_memory.core.values.entry import Action, MemoryStep, Operation
from infinite_memory.core.values.memory import Memory
from infinite_memory.features.reminders.long_term.context import read_enabled_at, read_trigger_of

_log = logging.getLogger(__name__)
_PAGE = 64
_FOREIGN = frozenset({Operation.IMPORT, Operation.MERGE})


def is_approved(storage: Storage, memory: Memory, trigger: Trigger) -> bool:
    """Return whether an entry of the journal approves the condition that the memory has now.

    A later change of the condition by any other way takes the approval away; an undo that brings
    the approved condition back brings the approval back. An import or a merge that changes what an
    assistant reads, or switches the trigger, takes it away too, until that is undone.
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


def _is_changed(storage: Storage, step: MemoryStep) -> bool:
    """Return whether a change left another text, name or switch; its revisions tell."""
    states = [
        (revision.text, revision.title, read_enabled_at(revision))
        for revision in storage.history(step.id)
        if revision.revision in (step.before, step.after)
    ]
    return len(states) < 2 or states[0] != states[1]


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
    for action, step in _standing_steps(storage, memory_id):
        is_foreign = action.operation in _FOREIGN
        if step.after == 0 or (is_foreign and _is_changed(storage, step)):
            return
        if action.operation is Operation.TRIGGER:
            yield step.after


def _standing_steps(storage: Storage, memory_id: str) -> Iterator[tuple[Action, MemoryStep]]:
    """Yield the changes of a memory with their actions, newest first, without those undone."""
    before: int | None = None
    undone: set[int] = set()
    while True:
        page = storage.journal(before=before, limit=_PAGE, memory_id=memory_id)
        for entry in page:
            if entry.number in undone:
                continue
            if entry.action.undoes is not None:
                undone.add(entry.action.undoes)
            yield from [
                (entry.action, step) for step in entry.action.memories if step.id == memory_id
            ]
        if len(page) < _PAGE:
            return
        before = page[-1].number
