"""What a storage does for the deadline of a call."""

from __future__ import annotations

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.values.commit import Commit


def note_change(commit: Commit) -> None:
    """Note for the call that runs that `commit` is durable, if a client waits for it."""
    deadline = current_deadline()
    if deadline.is_awaited and commit.entry is not None:
        deadline.changes.append(len(commit.entry.memories))
