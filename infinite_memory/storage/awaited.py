"""What a storage does for the deadline of a call."""

from __future__ import annotations

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.values.commit import Commit


def note_change(commit: Commit, number: int) -> None:
    """Note for the call that runs that `commit` is durable, if a client waits for it.

    `number` is that of the last entry of the journal, which is the one of the commit if it has one.
    """
    deadline = current_deadline()
    if deadline.is_awaited and commit.entry is not None:
        deadline.changes[number] = len(commit.entry.memories)
