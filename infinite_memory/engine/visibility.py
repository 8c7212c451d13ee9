"""Decide which stored text and which scope names an error may quote."""

from __future__ import annotations

from collections.abc import Mapping

from infinite_memory.core.values.memory import Memory, shorten
from infinite_memory.core.values.scope import Scope, Sensitivity, find_spelling, visible_from
from infinite_memory.engine.services import Services


def may_quote(services: Services, memory: Memory, scope: str | None = None) -> bool:
    """Return whether an error may show the text of `memory`, or another field that was stored.

    True if its scope is visible from the `scope` of the call, None for the default scope, or if
    this process has recalled the memory within the hour and its scope is not private.
    """
    scopes = services.storage.scopes()
    if memory.scope in _list_visible(services, scope, scopes):
        return True
    return _is_public(memory.scope, scopes) and services.recent_recalls.was_recalled(
        memory.id, services.clock()
    )


def may_name_scope(services: Services, name: str, scope: str | None = None) -> bool:
    """Return whether an error may name a scope: it is not private, or visible from the call."""
    scopes = services.storage.scopes()
    return _is_public(name, scopes) or name in _list_visible(services, scope, scopes)


def quote_text(
    services: Services, memory: Memory, scope: str | None = None, *, max_chars: int
) -> str:
    """Return the quoted text of `memory`, or a hint how to read it if it must not be shown."""
    if may_quote(services, memory, scope):
        return repr(shorten(memory.text, max_chars))
    return "not shown here, since it is in another scope (get it by its id to read it)"


def public_names(scopes: Mapping[str, Scope]) -> list[str]:
    """Return the names of the scopes that are not private."""
    return [name for name in scopes if _is_public(name, scopes)]


def visible_names(services: Services, scopes: Mapping[str, Scope]) -> list[str]:
    """Return the names of the scopes that are not private, or visible from the default scope."""
    visible = _list_visible(services, None, scopes)
    return [name for name in scopes if name in visible or _is_public(name, scopes)]


def _list_visible(
    services: Services, scope: str | None, scopes: Mapping[str, Scope]
) -> frozenset[str]:
    viewpoint = services.default_scope if scope is None else scope
    spelling = find_spelling(viewpoint, scopes) or viewpoint
    return frozenset({spelling, *visible_from(spelling, scopes)})


def _is_public(name: str, scopes: Mapping[str, Scope]) -> bool:
    """Return whether a scope is not private; False if its record is missing or damaged."""
    scope = scopes.get(name)
    return scope is not None and scope.sensitivity is Sensitivity.NORMAL
