"""What lies in the scopes that a command did not look at."""

from __future__ import annotations

from collections.abc import Collection

from infinite_memory.cli.render import count
from infinite_memory.store import MemoryStore

__all__ = ["elsewhere"]

_MOST_NAMED = 3


def elsewhere(store: MemoryStore, searched: Collection[str] | None) -> str | None:
    """Return a sentence about the memories in other scopes than `searched`, None if there are none.

    `searched` None stands for every scope.
    """
    if searched is None:
        return None
    others = {
        name: number
        for name, number in store.stats().by_scope.items()
        if number and name not in searched
    }
    if not others:
        return None
    largest = sorted(others, key=lambda name: (-others[name], name))[:_MOST_NAMED]
    named = ", ".join(f"{name} {others[name]:,}" for name in largest)
    dots = ", ..." if len(others) > _MOST_NAMED else ""
    total = count(sum(others.values()), "memory", "memories")
    return f"Other scopes hold {total} ({named}{dots}): try --scope ALL."
