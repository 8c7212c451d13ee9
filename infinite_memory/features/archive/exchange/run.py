"""A run: an import as its entries in the journal name it."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.core.values.entry import Operation
from infinite_memory.engine.services import Services
from infinite_memory.engine.undo.groups import Part, part_of

_LATEST = 200
_NAME_CHARS = 100


def begin_run(services: Services, name: str, total: int) -> Part:
    """Return the part before the first part of an import.

    An import of the same source that was interrupted goes on, so that an undo takes back the parts
    before the interruption too.
    """
    name = name[:_NAME_CHARS]
    undone: set[int] = set()
    for entry in services.storage.journal(limit=_LATEST):
        action = entry.action
        if entry.number in undone:
            continue
        if action.undoes is not None:
            undone.add(action.undoes)
        part = part_of(action)
        if action.operation is Operation.IMPORT and part is not None and part.name == name:
            if part.done < part.total == total:
                return evolve(part, done=0, total=total)
            break
    group = services.random_bytes(4).hex()
    return Part(group=group, name=name, number=0, done=0, total=total)


def next_part(part: Part, count: int) -> Part:
    """Return the part after `part`, which reads `count` memories."""
    done = min(part.done + count, part.total)
    return evolve(part, number=part.number + 1, done=done)
