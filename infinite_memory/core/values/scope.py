"""Scopes: compartments of memories."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property

from attrs import frozen

from infinite_memory.core.plain import PlainData, is_placeholder
from infinite_memory.core.values.memory import GLOBAL

PROJECT = "project"
"""Stands for the scope of the repository at work, where a scope is given."""

_RESERVED = {"all": "stands for every scope", PROJECT: "stands for the scope of the repository"}


class Sensitivity(StrEnum):
    """Whether a question that names the scope opens it; a private scope stays closed."""

    NORMAL = "normal"
    PRIVATE = "private"


@frozen(kw_only=True)
class Scope(PlainData):
    """A compartment of memories: a search of a scope sees the scope, its parents and `Global`.

    `keywords` are further names for the scope in a question. An inactive scope keeps its memories
    and is omitted from every search that does not name it.
    """

    name: str
    description: str = ""
    parent: str | None = None
    keywords: tuple[str, ...] = ()
    active: bool = True
    sensitivity: Sensitivity = Sensitivity.NORMAL

    @cached_property
    def folded_name(self) -> str:
        """The form of its name that is compared; kept, since each write compares all names."""
        return fold_name(self.name)


def fold_name(name: str) -> str:
    """Return the form in which names of scopes and tags are compared.

    It ignores letter case and surrounding white space, and is in Unicode NFC.
    """
    return unicodedata.normalize("NFC", name.strip().casefold())


def find_name_problem(name: str) -> str | None:
    """Return why no new scope may have a name that means something else elsewhere, or None."""
    if "*" in name:
        return "a * makes it a pattern of scopes"
    if "," in name:
        return "a comma makes it a list of scopes"
    if is_placeholder(name):
        return "it stands for no scope"
    if meaning := _RESERVED.get(fold_name(name)):
        return f"it {meaning}"
    return None


def find_spelling(name: str, scopes: Mapping[str, Scope]) -> str | None:
    """Return the stored spelling of a scope name, None if no scope has this name."""
    if name in scopes:
        return name
    folded = fold_name(name)
    return next((n for n, scope in scopes.items() if scope.folded_name == folded), None)


def visible_from(name: str, scopes: Mapping[str, Scope]) -> list[str]:
    """Return the scopes that a search of `name` sees: itself, its parents in order, then `Global`.

    A missing parent, or a cycle, ends the walk. In a store that is confined to scopes, `Global` may
    not exist.
    """
    seen: list[str] = []
    step: str | None = name
    while step is not None and step in scopes and step not in seen:
        seen.append(step)
        step = scopes[step].parent
    if GLOBAL not in seen and GLOBAL in scopes:
        seen.append(GLOBAL)
    return seen
