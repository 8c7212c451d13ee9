"""Hints at memories in the scopes that a command did not search."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from infinite_memory.core.errors import ScopeNotCreated
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.store.memory_store import MemoryStore

_MOST_NAMED = 3


def describe_other_scopes(store: MemoryStore, searched: Collection[str] | None) -> str | None:
    """Return a sentence on the memories in scopes other than `searched`, None without any.

    `searched` None stands for every scope.
    """
    if searched is None:
        return None
    counts = store.scopes.count_memories()
    # A private scope is neither named nor counted where nobody asked for it; ALL leaves it out.
    counts_elsewhere = {
        scope.name: counts[scope.name]
        for scope in store.scopes
        if counts.get(scope.name) and scope.name not in searched and _is_open(scope)
    }
    if not counts_elsewhere:
        return None
    largest = sorted(counts_elsewhere, key=lambda name: (-counts_elsewhere[name], name))[
        :_MOST_NAMED
    ]
    named = ", ".join(f"{name} {counts_elsewhere[name]:,}" for name in largest)
    dots = ", ..." if len(counts_elsewhere) > _MOST_NAMED else ""
    total = format_count(sum(counts_elsewhere.values()), "memory", "memories")
    return f"Other scopes hold {total} ({named}{dots}): try --scope ALL."


def _is_open(scope: Scope) -> bool:
    return scope.active and scope.sensitivity is Sensitivity.NORMAL


@contextmanager
def name_create_option(option: str = "--scope", *, has_create: bool = True) -> Iterator[None]:
    """Let the refusal of a new scope name the options that go on from there."""
    try:
        yield
    except ScopeNotCreated as error:
        nearest = None if error.nearest is None else f"{option} {shlex.quote(error.nearest)}"
        before = f"`infinite-memory scopes create {shlex.quote(error.name)}` before it"
        raise ScopeNotCreated.of(
            error.name, error.nearest, scope=nearest, create="--create" if has_create else before
        ) from error
