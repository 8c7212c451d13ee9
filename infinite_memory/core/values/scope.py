"""Scopes: compartments of memories."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from enum import StrEnum
from typing import TypeVar, cast

from attrs import frozen

from infinite_memory.core.plain import PlainData, is_placeholder
from infinite_memory.core.values.memory import GLOBAL

PROJECT = "project"
"""Stands for the scope of the repository at work, where a scope is given."""

_T = TypeVar("_T")
_Group = Callable[["Scope"], Iterable[Hashable]]
_Values = dict[Hashable, dict[str, None]]

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

    @property
    def folded_name(self) -> str:
        """The form of its name that is compared; to keep it would take longer than to fold it."""
        return fold_name(self.name)


class ScopeTable(dict[str, Scope]):
    """The scopes of a store by name; a table is never changed once it is made.

    What is derived from it is kept with it, so that no call walks over all scopes: groups pass to
    the table that comes after a change, all else is derived anew after a change.
    """

    def __init__(self, scopes: Mapping[str, Scope] | None = None) -> None:
        super().__init__(scopes or {})
        self._groups: dict[_Group, _Values] = {}
        self._derived: dict[Callable[[ScopeTable], object], object] = {}

    @classmethod
    def of(cls, scopes: Mapping[str, Scope]) -> ScopeTable:
        """Return `scopes` as a table."""
        return scopes if isinstance(scopes, ScopeTable) else cls(scopes)

    def names_by(self, group: _Group) -> Mapping[Hashable, Collection[str]]:
        """Return the names of the scopes by each value that `group` gives for them."""
        if group not in self._groups:
            names: _Values = {}
            for name, scope in self.items():
                for value in group(scope):
                    names.setdefault(value, {})[name] = None
            self._groups[group] = names
        return self._groups[group]

    def derive(self, make: Callable[[ScopeTable], _T]) -> _T:
        """Return what `make` gives for this table; it is called once."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast(_T, self._derived[make])

    def change(self, scopes: Iterable[Scope], erased: Iterable[str] = ()) -> ScopeTable:
        """Return the table after the scopes `erased` are removed, then `scopes` are stored."""
        stored = {scope.name: scope for scope in scopes}
        gone = dict.fromkeys(name for name in erased if name not in stored)
        table = ScopeTable(self)
        for name in gone:
            table.pop(name, None)
        table.update(stored)
        for group, values in list(self._groups.items()):
            table._groups[group] = _regroup(group, values, self, table, [*gone, *stored])
        return table


def _regroup(
    group: _Group, values: _Values, before: ScopeTable, after: ScopeTable, changed: Iterable[str]
) -> _Values:
    """Return the `values` of a group after the scopes `changed` are others or gone."""
    copied: _Values = {}
    for name in changed:
        former, present = (
            dict.fromkeys(group(table[name]) if name in table else ()) for table in (before, after)
        )
        for value in {**former, **present}:
            if value not in copied:
                copied[value] = dict(values.get(value, ()))
            if value in present:
                copied[value][name] = None
            else:
                del copied[value][name]
    return values | copied


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
    return next(iter(names_spelled(name, ScopeTable.of(scopes))), None)


def names_spelled(name: str, scopes: ScopeTable) -> Collection[str]:
    """Return the names of the scopes that are `name` in some letter case."""
    return scopes.names_by(_group).get(("name", fold_name(name)), ())


def names_within(name: str, scopes: ScopeTable) -> Collection[str]:
    """Return the names of the scopes whose parent is `name`."""
    return scopes.names_by(_group).get(("parent", name), ())


def _group(scope: Scope) -> tuple[Hashable, Hashable]:
    return ("name", fold_name(scope.name)), ("parent", scope.parent)


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
