"""The tools about the changes themselves: what was done, what was before, and taking it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pydantic import Field

from infinite_memory.model.codec import iso
from infinite_memory_mcp.arguments import Arguments, Limit, Scopes
from infinite_memory_mcp.data import FOUND, object_schema, page_data
from infinite_memory_mcp.quotation import escape_label, quote_lines
from infinite_memory_mcp.render import NOTICE, whole_text
from infinite_memory_mcp.tool import Answer, ToolSpec

if TYPE_CHECKING:
    from infinite_memory.model.entry import Entry
    from infinite_memory.operations.undo.reversal import MemoryChange
    from infinite_memory.operations.undo.undo import Undone
    from infinite_memory.store import MemoryStore

__all__ = ["CHANGES"]

_NAMED = 5
_TEXT_CHARS = 200


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

    entry: int | None = Field(None, description="By default the last change of this server")
    dry_run: bool = Field(False, description="Only show what it would take back")


def memory_history(store: MemoryStore, asked: MemoryHistory) -> Answer:
    """Tell all that a memory or the key of a fact was, oldest first."""
    memories = store.journal.history(asked.id_or_key, scope=asked.scope)
    return Answer(text=whole_text(memories), data=page_data(memories, None))


def memory_log(store: MemoryStore, asked: MemoryLog) -> Answer:
    """List the changes, newest first: who did what, and when."""
    entries = store.journal.entries(limit=asked.limit, before=asked.before, memory_id=asked.id)
    lines = [_line(entry) for entry in entries] or ["There is nothing in the journal."]
    return Answer(text="\n".join(lines), data={"entries": [_entry_data(each) for each in entries]})


def undo(store: MemoryStore, asked: UndoChange) -> Answer:
    """Reverse a change when the user asks for it. Undoing that entry in turn does it again."""
    done = store.undo(asked.entry, dry_run=asked.dry_run)
    return Answer(
        text="\n".join(_undone_lines(done)),
        data={
            "entry": done.entry,
            "undone": _entry_data(done.undone),
            "memories": list(done.memories),
            "scopes": list(done.scopes),
            "erased": list(done.erased),
            "skipped": [
                {"number": entry.number, "reason": reason} for entry, reason in done.skipped
            ],
        },
    )


def _undone_lines(done: Undone) -> Iterator[str]:
    if done.entry is None:
        yield f"Nothing was changed. Would be undone: {_line(done.undone)}"
    else:
        yield f"Undone by entry {done.entry}: {_line(done.undone)}"
    if done.changes:
        yield NOTICE
    for change in done.changes[:_NAMED]:
        yield _change_line(change)
        if not change.is_private:
            yield quote_lines(_shorten(change.after.text))
    rest = len(done.changes) - _NAMED
    if rest > 0:
        yield f"and {_count(rest, 'more memory', 'more memories')}"
    if done.scopes:
        yield f"{_named('scope', 'scopes', map(escape_label, done.scopes))}"
    if done.erased:
        yield f"Erased for good since, and left out: {_named('memory', 'memories', done.erased)}"
    for entry, reason in done.skipped[:_NAMED]:
        yield f"Skipped entry {entry.number}: {escape_label(reason)}"
    rest = len(done.skipped) - _NAMED
    if rest > 0:
        yield f"Skipped {_count(rest, 'more entry', 'more entries')}"


def _change_line(change: MemoryChange) -> str:
    """Return what an undo makes of a memory; its text, as it becomes, follows below."""
    before, after = change.before, change.after
    status = "" if before.status == after.status else f" · {before.status} to {after.status}"
    scope = "" if before.scope == after.scope else f" · moved to {escape_label(after.scope)}"
    others = [name for name in change.differing if name not in {"status", "scope"}]
    fields = f" · {', '.join(others)} as before" if others else ""
    return f"memory {after.id}{status}{scope}{fields}"


def _shorten(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}…"


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _named(singular: str, plural: str, names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return f"{singular if len(listed) == 1 else plural} {', '.join(listed[:_NAMED])}{more}"


def _line(entry: Entry) -> str:
    action = entry.action
    said = [f"entry {entry.number}", str(iso(action.at)), escape_label(action.actor.client)]
    said.append(
        str(action.operation)
        if action.undoes is None
        else f"{action.operation} of entry {action.undoes}"
    )
    ids = [step.id for step in action.memories]
    if ids:
        said.append(_named("memory", "memories", ids))
    if action.scopes:
        said.append(_count(len(action.scopes), "scope", "scopes"))
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
