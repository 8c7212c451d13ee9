"""What an error may quote: the text of a memory, and the name of a scope, that the call may see."""

from __future__ import annotations

from collections.abc import Mapping

from infinite_memory.model.memory import Memory
from infinite_memory.model.scope import Scope, Sensitivity, fold_name, visible_from
from infinite_memory.operations.services import Services

__all__ = ["may_name_scope", "may_quote", "public_names", "quote_text"]


def may_quote(services: Services, memory: Memory, scope: str | None = None) -> bool:
    """Return whether an error may show the text of `memory`, or another field that was stored.

    That is so where its scope is visible from the `scope` of the call, None for the default one;
    or where this process has recalled the memory a short while ago and its scope is not private.
    """
    scopes = services.storage.scopes()
    if _is_visible(services, memory.scope, scope, scopes):
        return True
    return _is_public(memory.scope, scopes) and services.lately.recalled(
        memory.id, services.clock()
    )


def may_name_scope(services: Services, name: str, scope: str | None = None) -> bool:
    """Return whether an error may name a scope: one that is not private, or that the call sees."""
    scopes = services.storage.scopes()
    return _is_public(name, scopes) or _is_visible(services, name, scope, scopes)


def quote_text(
    services: Services, memory: Memory, scope: str | None = None, *, max_chars: int
) -> str:
    """Return the text of `memory` in quotes, or how to read it where an error may not show it."""
    if may_quote(services, memory, scope):
        return f"{memory.text!r:.{max_chars}}"
    return "not shown here, since it is in another scope (get it by its id to read it)"


def public_names(scopes: Mapping[str, Scope]) -> list[str]:
    """Return the names of the scopes that are not private."""
    return [name for name in scopes if _is_public(name, scopes)]


def _is_visible(
    services: Services, name: str, scope: str | None, scopes: Mapping[str, Scope]
) -> bool:
    place = services.config.default_scope if scope is None else scope
    spelling = {fold_name(known): known for known in scopes}.get(fold_name(place), place)
    return name == spelling or name in visible_from(spelling, scopes)


def _is_public(name: str, scopes: Mapping[str, Scope]) -> bool:
    """Return whether a scope is known not to be private; of a damaged record nobody knows."""
    found = scopes.get(name)
    return found is not None and found.sensitivity is Sensitivity.NORMAL
