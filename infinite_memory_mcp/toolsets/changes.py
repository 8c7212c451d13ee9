"""The tools of the journal: the history of a memory, the list of changes, and undo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pydantic import Field

from infinite_memory.core.errors import InvalidInput, KeyElsewhere
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.memory import shown_text
from infinite_memory.core.values.messages import format_count
from infinite_memory.search.text.quotation import NOTICE, escape_line, quote_label, quote_lines
from infinite_memory_mcp.arguments import Arguments, Limit, MemoryId, Scopes
from infinite_memory_mcp.data import HITS, compact, memories_to_data, object_schema
from infinite_memory_mcp.render import render_memories
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.view import MAX_IDS, View, view_of_ids, view_of_memories

if TYPE_CHECKING:
    from infinite_memory.core.observe.reads import Read
    from infinite_memory.core.values.entry import Actor, Entry
    from infinite_memory.engine.undo.reversal import MemoryChange
    from infinite_memory.engine.undo.undo import Undone
    from infinite_memory.store.memory_store import MemoryStore

_TEXT_CHARS = 200


class MemoryHistory(Arguments):
    """The arguments of `memory_history`."""

    id_or_key: str
    scope: Scopes = Field(None, description="Where to look for a key")


class MemoryLog(Arguments):
    """The arguments of `memory_log`."""

    id: MemoryId | None = Field(None, description="Only changes of this memory")
    limit: Limit = 20
    before: int | None = Field(None, description="Only entries before this one")
    reads: bool = Field(False, description="Who was shown what, where that is recorded")


class UndoChange(Arguments):
    """The arguments of `undo`."""

    entry: int | None = Field(None, description="Left out: the last change")
    dry_run: bool = Field(False, description="Only show it")


@tool("History of a memory", HITS, reads=True)
def memory_history(store: MemoryStore, arguments: MemoryHistory) -> Answer:
    """Show every revision of a memory, or of the facts with a key, oldest first."""
    try:
        memories = store.journal.history(arguments.id_or_key, scope=arguments.scope)
    except KeyElsewhere as error:
        call = f"memory_history(id_or_key={error.key!r}, scope={error.scopes[0]!r})"
        raise KeyElsewhere.of(error.key, error.where, error.scopes, call) from error
    view = view_of_memories(store, memories)
    return Answer(text=render_memories(memories, view=view), data=memories_to_data(memories))


@tool("List changes", object_schema(), reads=True)
def memory_log(store: MemoryStore, arguments: MemoryLog) -> Answer:
    """List the changes, newest first: who did what, and when. With reads, who was shown what."""
    if arguments.reads:
        return _list_reads(store, arguments)
    entries = store.journal.entries(
        limit=arguments.limit, before=arguments.before, memory_id=arguments.id
    )
    view = view_of_ids(store, _list_entry_ids(entries))
    lines = [_render_entry(entry, view) for entry in entries] or [
        "There is nothing in the journal."
    ]
    return Answer(
        text="\n".join(lines), data={"entries": [_encode_entry(entry) for entry in entries]}
    )


def _list_reads(store: MemoryStore, arguments: MemoryLog) -> Answer:
    if arguments.before is not None:
        raise InvalidInput(
            f"before {arguments.before} is the number of an entry, which reads do not have: leave"
            " it out, and raise limit"
        )
    reads = store.journal.reads(limit=arguments.limit, memory_id=arguments.id)
    view = view_of_ids(store, (i for read in reads for i in read.memories[:MAX_IDS]))
    lines = [_render_read(read, view) for read in reads] or ["No read is recorded."]
    if not store.config.audit.reads:
        lines.append("Reads are not recorded: the setting audit.reads is false.")
    return Answer(text="\n".join(lines), data={"reads": [read.to_dict() for read in reads]})


def _render_read(read: Read, view: View) -> str:
    columns = [str(iso(read.at)), _render_actor(read.actor), read.operation]
    ids = [view.shorten(memory_id) for memory_id in read.memories]
    columns.append(_join_names("memory", "memories", ids) if ids else "nothing was found")
    return " · ".join(columns)


def _render_actor(actor: Actor) -> str:
    """Return the name of a client, with the id of the access key that it showed."""
    name = quote_label(actor.client)
    return f"{name} (key {quote_label(actor.key)})" if actor.key else name


@tool("Undo a change", object_schema("entry"), destroys=True)
def undo(store: MemoryStore, arguments: UndoChange) -> Answer:
    """Undo a change when the user asks for it. To undo that entry does it again."""
    report = store.undo(arguments.entry, dry_run=arguments.dry_run)
    changed = [change.after.id for change in report.changes[:MAX_IDS]]
    view = view_of_ids(store, [*changed, *_list_entry_ids([report.undone])])
    data = report.to_dict() | {"undone": _encode_entry(report.undone)}
    # The text has the changes, where it can quote them.
    del data["changes"]
    return Answer(text="\n".join(_describe_undo(report, view)), data=data)


def _encode_entry(entry: Entry) -> dict[str, Any]:
    """Return an entry without what is for the owner of the machine alone."""
    data: dict[str, Any] = compact(entry.to_dict() | {"process": None, "digest": None})
    return data


def _describe_undo(report: Undone, view: View) -> Iterator[str]:
    if report.entry is None:
        yield f"Nothing was changed. Would be undone: {_render_entry(report.undone, view)}"
    else:
        yield f"Undone by entry {report.entry}: {_render_entry(report.undone, view)}"
    if report.changes:
        yield NOTICE
    for change in report.changes[:MAX_IDS]:
        yield _render_change(change, view)
        if not change.is_private:
            yield quote_lines(_shorten_text(shown_text(change.after)))
    more = len(report.changes) - MAX_IDS
    if more > 0:
        yield f"and {format_count(more, 'more memory', 'more memories')}"
    if report.scopes:
        yield f"{_join_names('scope', 'scopes', map(quote_label, report.scopes))}"
    if report.erased:
        erased = _join_names("memory", "memories", report.erased)
        yield f"Erased for good since, and left out: {erased}"
    for entry, reason in report.skipped[:MAX_IDS]:
        yield f"Skipped entry {entry.number}: {escape_line(reason)}"
    more = len(report.skipped) - MAX_IDS
    if more > 0:
        yield f"Skipped {format_count(more, 'more entry', 'more entries')}"


def _render_change(change: MemoryChange, view: View) -> str:
    """Return a line on the change that an undo makes to a memory; the new text follows below."""
    before, after = change.before, change.after
    status = "" if before.status == after.status else f" · {before.status} to {after.status}"
    scope = "" if before.scope == after.scope else f" · moved to {quote_label(after.scope)}"
    other_fields = [name for name in change.differing if name not in {"status", "scope"}]
    fields = f" · {', '.join(other_fields)} as before" if other_fields else ""
    return f"memory {view.shorten(after.id)}{status}{scope}{fields}"


def _shorten_text(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}…"


def _join_names(singular: str, plural: str, names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - MAX_IDS} more" if len(listed) > MAX_IDS else ""
    return f"{singular if len(listed) == 1 else plural} {', '.join(listed[:MAX_IDS])}{more}"


def _list_entry_ids(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the ids that the lines of the entries name."""
    for entry in entries:
        yield from (step.id for step in entry.action.memories[:MAX_IDS])


def _render_entry(entry: Entry, view: View) -> str:
    action = entry.action
    columns = [f"entry {entry.number}", str(iso(action.at)), _render_actor(action.actor)]
    columns.append(
        str(action.operation)
        if action.undoes is None
        else f"{action.operation} of entry {action.undoes}"
    )
    ids = [view.shorten(step.id) for step in action.memories]
    if ids:
        columns.append(_join_names("memory", "memories", ids))
    if action.scopes:
        columns.append(format_count(len(action.scopes), "scope", "scopes"))
    return " · ".join(columns)


CHANGES = (memory_history, memory_log, undo)
"""The tools of the journal."""
