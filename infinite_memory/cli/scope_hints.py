"""What lies in the scopes that a command did not look at."""

from __future__ import annotations

from collections.abc import Collection

from infinite_memory.model.quantities import format_count
from infinite_memory.model.scope import Scope, Sensitivity, visible_from
from infinite_memory.store import MemoryStore

__all__ = ["elsewhere", "opened_scopes"]

_MOST_NAMED = 3


def elsewhere(store: MemoryStore, searched: Collection[str] | None) -> str | None:
    """Return a sentence about the memories in other scopes than `searched`, None if there are none.

    `searched` None stands for every scope.
    """
    if searched is None:
        return None
    counts = store.stats().by_scope
    # A private scope is neither named nor counted where nobody asked for it; ALL leaves it out.
    others = {
        scope.name: counts[scope.name]
        for scope in store.scopes
        if counts.get(scope.name) and scope.name not in searched and _is_open(scope)
    }
    if not others:
        return None
    largest = sorted(others, key=lambda name: (-others[name], name))[:_MOST_NAMED]
    named = ", ".join(f"{name} {others[name]:,}" for name in largest)
    dots = ", ..." if len(others) > _MOST_NAMED else ""
    total = format_count(sum(others.values()), "memory", "memories")
    return f"Other scopes hold {total} ({named}{dots}): try --scope ALL."


def _is_open(scope: Scope) -> bool:
    return scope.active and scope.sensitivity is Sensitivity.NORMAL


def opened_scopes(store: MemoryStore, asked: tuple[str, ...]) -> set[str] | None:
    """Return the scopes that are searched where these were `asked` for, None for all."""
    if any(name.strip().casefold() == "all" for name in asked):
        return None
    scopes = {scope.name: scope for scope in store.scopes}
    names = [store.scopes[name].name for name in asked] or [store.config.default_scope]
    return {seen for name in names for seen in (name, *visible_from(name, scopes))}
