"""Entries of the journal, as lines for a person and as JSON."""

from __future__ import annotations

from typing import Any

from infinite_memory.cli.render import count
from infinite_memory.model.codec import iso
from infinite_memory.model.entry import Action, Entry

__all__ = ["entry_json", "said"]

_NAMED = 3


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return an entry as a JSON object."""
    action = entry.action
    return {
        "number": entry.number,
        "at": iso(action.at),
        "client": action.actor.client,
        "process": action.actor.process,
        "operation": str(action.operation),
        "memories": [
            {"id": step.id, "before": step.before, "after": step.after} for step in action.memories
        ],
        "scopes": _scope_names(action),
        "links": len(action.links),
        "undoes": action.undoes,
        "reason": action.reason,
        "digest": entry.digest.hex(),
    }


def said(action: Action) -> str:
    """Return what an action did, on one line."""
    parts = [str(action.operation)]
    if action.undoes is not None:
        parts[0] += f" of {action.undoes}"
    ids = [step.id for step in action.memories]
    if ids:
        more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
        parts.append(f"{count(len(ids), 'memory', 'memories')} ({', '.join(ids[:_NAMED])}{more})")
    names = _scope_names(action)
    if names:
        parts.append(f"{count(len(names), 'scope')} ({', '.join(names)})")
    if action.links:
        parts.append(count(len(action.links), "link"))
    if action.reason:
        parts.append(action.reason)
    return ", ".join(parts)


def _scope_names(action: Action) -> list[str]:
    scopes = (step.after or step.before for step in action.scopes)
    return [scope.name for scope in scopes if scope is not None]
