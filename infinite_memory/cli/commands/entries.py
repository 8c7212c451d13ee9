"""Entries of the journal, as lines for a person and as JSON."""

from __future__ import annotations

from typing import Any

from infinite_memory.cli.render import count, one_line
from infinite_memory.model.codec import iso
from infinite_memory.model.entry import Action, Entry
from infinite_memory.operations.reversal import MemoryChange

__all__ = ["change_json", "change_line", "entry_json", "said"]

_NAMED = 5
_TEXT_CHARS = 60
_NAMED_IN_PART = {"text", "status", "scope"}


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


def change_line(change: MemoryChange) -> str:
    """Return what an undo makes of a memory, on one line."""
    before, after, differing = change.before, change.after, change.differing
    parts = []
    if "text" in differing and not change.is_private:
        parts.append(f"{_shorten(before.text)} → {_shorten(after.text)}")
    elif "text" in differing:
        parts.append("another text")
    if "status" in differing:
        parts.append(f"{before.status} → {after.status}")
    if "scope" in differing:
        parts.append(f"scope {before.scope} → {after.scope}")
    others = [name for name in differing if name not in _NAMED_IN_PART]
    if others:
        parts.append(f"{', '.join(others)} as before")
    same_text = "" if change.is_private or "text" in differing else f" {_shorten(after.text)}"
    return f"{after.id}{same_text}: {', '.join(parts) or 'as it was'}"


def change_json(change: MemoryChange) -> dict[str, Any]:
    """Return what an undo makes of a memory as a JSON object."""
    sides = {"before": change.before, "after": change.after}
    return {
        "id": change.after.id,
        **{
            side: {
                **({} if change.is_private else {"text": memory.text}),
                "status": str(memory.status),
                "scope": memory.scope,
                "revision": memory.revision,
            }
            for side, memory in sides.items()
        },
        "fields": list(change.differing),
    }


def _shorten(text: str) -> str:
    return f'"{one_line(text, max_chars=_TEXT_CHARS)}"'


def _scope_names(action: Action) -> list[str]:
    scopes = (step.after or step.before for step in action.scopes)
    return [scope.name for scope in scopes if scope is not None]
