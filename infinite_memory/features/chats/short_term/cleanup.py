"""Which short-term memories have faded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from infinite_memory.core.config import ShortTerm
from infinite_memory.features.chats.short_term.choosing import Candidate
from infinite_memory.features.chats.short_term.relevance import vitality


def find_faded(
    candidates: Sequence[Candidate], now: datetime, constants: ShortTerm
) -> tuple[str, ...]:
    """Return the ids of the memories of a conversation that have faded, the least alive first.

    A memory has faded if it is older than `keep_days`, or if its `vitality` is under
    `least_vitality`. At least `keep` memories stay: if fewer have not faded, those of the faded
    that are most alive stay with them; of equal ones the later. The rules are those of
    memory-mcp-server (https://github.com/win10ogod/memory-mcp-server), which deletes what we
    archive.
    """
    oldest = now - timedelta(days=constants.keep_days)
    alive = {
        candidate.id: vitality(
            happened_at=candidate.happened_at,
            activation=candidate.activation,
            now=now,
            constants=constants,
        )
        for candidate in candidates
    }
    faded = [
        candidate
        for candidate in candidates
        if candidate.happened_at < oldest or alive[candidate.id] < constants.least_vitality
    ]
    staying = len(candidates) - len(faded)
    missing = max(0, constants.keep - staying)
    faded.sort(key=lambda c: (alive[c.id], c.happened_at, c.id))
    return tuple([candidate.id for candidate in faded[: max(0, len(faded) - missing)]])
