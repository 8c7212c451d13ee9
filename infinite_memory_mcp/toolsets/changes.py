"""The tools about the changes themselves: what was done, what was before, and taking it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from infinite_memory.model.codec import iso
from infinite_memory_mcp.arguments import Arguments, Limit, Scopes
from infinite_memory_mcp.data import FOUND, object_schema, page_data
from infinite_memory_mcp.render import whole_text
from infinite_memory_mcp.tool import Answer, ToolSpec
from infinite_memory_mcp.wire import one_line

if TYPE_CHECKING:
    from infinite_memory.model.entry import Entry
    from infinite_memory.store import MemoryStore

__all__ = ["CHANGES"]

_NAMED = 5


class MemoryHistory(Arguments):
    """What `memory_history` takes."""

    id_or_key: str
    scope: Scopes = Field(None, description="Where to look for a key")


class MemoryLog(Arguments):
    """What `memory_log` takes."""

    id: str | None = Field(None, description="Only changes of this memory")
    limit: Limit = 20
    before: int | None = Field(None, description="Only entries before this one")


class UndoChange(Arguments):
    """What `undo` takes."""

    entry: int | None = Field(None, description="By default your last change")


def memory_history(store: MemoryStore, asked: MemoryHistory) -> Answer:
    """Tell all that a memory or the key of a fact was, oldest first."""
    memories = store.history(asked.id_or_key, scope=asked.scope)
    return Answer(text=whole_text(memories), data=page_data(memories, None))


def memory_log(store: MemoryStore, asked: MemoryLog) -> Answer:
    """List the changes, newest first: who did what, and when."""
    entries = store.log(limit=asked.limit, before=asked.before, memory_id=asked.id)
    lines = [_line(entry) for entry in entries] or ["There is nothing in the journal."]
    return Answer(text="\n".join(lines), data={"entries": [_entry_data(each) for each in entries]})


def undo(store: MemoryStore, asked: UndoChange) -> Answer:
    """Reverse a change when the user asks for it. Undoing that entry in turn does it again."""
    done = store.undo(asked.entry)
    return Answer(
        text=f"Undone by entry {done.entry}: {_line(done.undone)}",
        data={
            "entry": done.entry,
            "undone": _entry_data(done.undone),
            "memories": list(done.memories),
            "scopes": list(done.scopes),
        },
    )


def _line(entry: Entry) -> str:
    action = entry.action
    said = [f"entry {entry.number}", str(iso(action.at)), one_line(action.actor.client)]
    said.append(
        str(action.operation)
        if action.undoes is None
        else f"{action.operation} of entry {action.undoes}"
    )
    ids = [step.id for step in action.memories]
    if ids:
        more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
        said.append(f"memories {', '.join(ids[:_NAMED])}{more}")
    if action.scopes:
        said.append(f"{len(action.scopes)} scopes")
    return " · ".join(said)


def _entry_data(entry: Entry) -> dict[str, Any]:
    action = entry.action
    return {
        "number": entry.number,
        "at": iso(action.at),
        "client": action.actor.client,
        "operation": str(action.operation),
        "memories": [step.id for step in action.memories],
        **({} if action.undoes is None else {"undoes": action.undoes}),
    }


CHANGES = (
    ToolSpec(
        run=memory_history,
        arguments=MemoryHistory,
        title="History of a memory",
        answers=FOUND,
        reads=True,
    ),
    ToolSpec(
        run=memory_log,
        arguments=MemoryLog,
        title="List changes",
        answers=object_schema("entries"),
        reads=True,
    ),
    ToolSpec(
        run=undo,
        arguments=UndoChange,
        title="Undo a change",
        answers=object_schema("entry"),
        destroys=True,
    ),
)
"""The tools of the journal."""
