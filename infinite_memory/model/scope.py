"""Scopes: the compartments that memories live in."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen

from infinite_memory.model.memory import GLOBAL

__all__ = ["Scope", "Sensitivity", "fold_name", "visible_from"]


class Sensitivity(StrEnum):
    """Whether a question that names a scope opens it; a private one it does not."""

    NORMAL = "normal"
    PRIVATE = "private"


@frozen(kw_only=True)
class Scope:
    """A compartment: a search of one sees it, its parents and `Global`, and never another.

    `keywords` are other names by which a question may mean this scope. An inactive scope keeps its
    memories and is left out of every search that does not name it.
    """

    name: str
    description: str = ""
    parent: str | None = None
    keywords: tuple[str, ...] = ()
    active: bool = True
    sensitivity: Sensitivity = Sensitivity.NORMAL


def fold_name(name: str) -> str:
    """Return the form in which names of scopes and tags are compared.

    Letter case does not count, nor whether an accent is a character of its own (NFC).
    """
    return unicodedata.normalize("NFC", name.strip().casefold())


def visible_from(name: str, scopes: Mapping[str, Scope]) -> list[str]:
    """Return the scopes that a search of `name` sees: itself, its parents in order, then `Global`.

    A parent that does not exist, or that was seen already, ends the walk. In a store that was
    opened for other scopes alone there is no `Global`.
    """
    seen: list[str] = []
    step: str | None = name
    while step is not None and step in scopes and step not in seen:
        seen.append(step)
        step = scopes[step].parent
    if GLOBAL not in seen and GLOBAL in scopes:
        seen.append(GLOBAL)
    return seen
