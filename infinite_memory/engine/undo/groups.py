"""Groups of entries that one undo reverses together: the parts of an import."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

from infinite_memory.core.values.entry import Action, Entry, Operation
from infinite_memory.engine.services import Services
from infinite_memory.engine.undo.removed_scopes import read_entries

_PART = re.compile(
    r"import ([0-9a-f]{8}) of (.*), part ([0-9]+), ([0-9]+) of ([0-9]+)(?:, from ([0-9a-f]{16}))?",
    re.DOTALL,
)
_GROUPED = frozenset({Operation.IMPORT, Operation.UNDO})


@frozen(kw_only=True)
class Part:
    """A part of an import, as the reason of its entry says it.

    `group` joins the parts, and is 8 hexadecimal digits. `done` of `total` memories of the source
    `name` were read when the part ended. `place` is a digest of the path of the source, "" in an
    entry of an earlier version.
    """

    group: str
    name: str
    number: int
    done: int
    total: int
    place: str = ""

    @property
    def reason(self) -> str:
        """The reason of the entry."""
        origin = f", from {self.place}" if self.place else ""
        return (
            f"import {self.group} of {self.name}, part {self.number}, {self.done} of {self.total}"
            f"{origin}"
        )


def part_of(action: Action) -> Part | None:
    """Return the part of an import that an action made or undid, None for any other action."""
    match = _PART.fullmatch(action.reason) if action.operation in _GROUPED else None
    if match is None:
        return None
    group, name, *numbers, place = match.groups()
    number, done, total = map(int, numbers)
    return Part(group=group, name=name, number=number, done=done, total=total, place=place or "")


def find_group(services: Services, chosen: Entry) -> list[Entry]:
    """Return the entries that are undone together with an entry, newest first, and itself.

    They are the parts of an import that are not undone; or the undos of its parts, which are undone
    together to redo the import.
    """
    part = part_of(chosen.action)
    return [chosen] if part is None else list(_read_group(services, chosen, part))


def _read_group(services: Services, chosen: Entry, part: Part) -> Iterator[Entry]:
    undone: set[int] = set()
    for entry in read_entries(services):
        action = entry.action
        if entry.number != chosen.number and entry.number in undone:
            continue
        if action.undoes is not None:
            undone.add(action.undoes)
        other = part_of(action)
        if other is None or other.group != part.group:
            continue
        if action.operation is chosen.action.operation:
            yield entry
        elif action.operation is Operation.IMPORT:
            return  # every undo is later than the import
        if action.operation is Operation.IMPORT and other.number == 1:
            return
