"""The commands on the journal: `log` and `undo`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from infinite_memory.apps.cli.completions import MEMORY_ID
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table, remark
from infinite_memory.apps.cli.render import shorten_ids, show_time
from infinite_memory.core.errors import NotFound
from infinite_memory.core.values.entry import Action, Actor
from infinite_memory.core.values.memory import shown_text
from infinite_memory.core.values.messages import format_count
from infinite_memory.search.text.lines import one_line

if TYPE_CHECKING:
    from infinite_memory.engine.undo.reversal import MemoryChange
    from infinite_memory.engine.undo.undo import Undone


@click.command("log")
@click.argument("memory_id", metavar="[ID]", required=False, type=MEMORY_ID)
@click.option(
    "--limit", "-n", type=int, default=20, show_default=True, help="How many entries at most."
)
@click.option("--before", type=int, metavar="ENTRY", help="List the entries before this one.")
@click.option("--reads", is_flag=True, help="List who was shown what, where that is recorded.")
@common_options
@click.pass_context
def log_command(
    context: click.Context, memory_id: str | None, *, limit: int, before: int | None, reads: bool
) -> None:
    """List the entries of the journal, newest first; with an ID only the changes of that memory.

    With --reads it lists who was shown which memories, if the setting audit.reads is true. Into a
    pipe every entry is a line: number, time, client, change and process, with tabs between.
    """
    if reads:
        _list_reads(context, memory_id, limit=limit, before=before)
        return
    with open_store(context) as store:
        memory_id = None if memory_id is None else store.ids.resolve(memory_id)
        entries = store.journal.entries(limit=limit, before=before, memory_id=memory_id)
        zone = store.config.time_zone
        shown = shorten_ids(store, _list_ids(entry.action for entry in entries))
    if wants_json(context):
        emit_json({"entries": [entry.to_dict() for entry in entries]})
        return
    if not entries:
        about = "The journal is empty" if memory_id is None else f"No entry is about {memory_id!r}"
        remark(f"{about}." if before is None else "There are no older entries.")
    emit_table(
        ("Entry", "When", "Who", "What"),
        [
            (
                str(entry.number),
                show_time(entry.action.at, zone),
                _name_actor(entry.action.actor),
                f"{_describe_action(entry.action, shown)}\n{entry.action.actor.process}",
            )
            for entry in entries
        ],
    )
    if len(entries) == limit and entries[-1].number > 1:
        remark(f"There may be more entries: go on with --before {entries[-1].number}")


def _list_reads(
    context: click.Context, memory_id: str | None, *, limit: int, before: int | None
) -> None:
    if before is not None:
        raise click.UsageError("--before is the number of an entry, which reads do not have")
    with open_store(context) as store:
        memory_id = None if memory_id is None else store.ids.resolve(memory_id)
        reads = store.journal.reads(limit=limit, memory_id=memory_id)
        config = store.config
        shown = shorten_ids(store, [i for read in reads for i in read.memories[:_NAMED]])
    if not config.audit.reads:
        remark("Reads are not recorded: set audit.reads to true to record them.")
    if wants_json(context):
        emit_json({"reads": [read.to_dict() for read in reads]})
        return
    if not reads:
        remark("No read is recorded.")
    emit_table(
        ("When", "Who", "How", "What"),
        [
            (
                show_time(read.at, config.time_zone),
                _name_actor(read.actor),
                read.operation,
                _describe_ids(read.memories, shown) or "nothing was found",
            )
            for read in reads
        ],
    )


def _name_actor(actor: Actor) -> str:
    """Return the name of a client, with the id of the access key that it showed."""
    return f"{actor.client} (key {actor.key})" if actor.key else actor.client


_LISTED, _LEAST = 5, 8


class _EntryNumber(click.types.IntParamType):
    """The number of an entry of the journal."""

    def convert(self, value: Any, *place: Any) -> Any:
        try:
            return super().convert(value, *place)
        except click.BadParameter:
            self.fail(f"{value!r} is no number of an entry: `infinite-memory log` has it", *place)


@click.command("undo")
@click.argument("entry", type=_EntryNumber(), required=False)
@click.option(
    "--session",
    metavar="ID",
    help="Take back everything that this session left; 8 characters of its id do.",
)
@click.option("--dry-run", is_flag=True, help="Show what the undo would do, and change nothing.")
@common_options
@click.pass_context
def undo_command(
    context: click.Context, entry: int | None, *, session: str | None, dry_run: bool
) -> None:
    """Reverse the change of an ENTRY of the log, by default the last change made with this program.

    Memories that it stored are forgotten; memories that it changed or forgot are as before. The
    undo is an entry of its own, and can be undone. Without an ENTRY, changes that cannot be undone
    are skipped and named.

    With --session all that a session of a client left is forgotten in one change: its messages, the
    statements found in them, and its pieces of work.
    """
    if session is not None:
        if entry is not None:
            raise click.UsageError("give an ENTRY or --session, not both")
        _undo_session(context, session, dry_run=dry_run)
        return
    with open_store(context) as store:
        # Each command is a process of its own.
        done = store.undo(entry, dry_run=dry_run, last_of="machine")
        ids = [*_list_ids([done.undone.action]), *(change.after.id for change in done.changes)]
        shown = shorten_ids(store, ids)
    if wants_json(context):
        emit_json(done.to_dict())
        return
    emit_lines(_format_undo(done, shown))
    for skipped, reason in done.skipped[:_LISTED]:
        remark(f"Skipped entry {skipped.number}: {reason}.")
    if len(done.skipped) > _LISTED:
        remark(
            f"Skipped {format_count(len(done.skipped) - _LISTED, 'more entry', 'more entries')}."
        )


def _undo_session(context: click.Context, session: str, *, dry_run: bool) -> None:
    with open_store(context) as store:
        undo = partial(store.conversations.undo, dry_run=dry_run)
        try:
            done = undo(session)
        except NotFound:
            known = {conversation.id for conversation in store.conversations.list(limit=1000)}
            alike = [name for name in known if session in (name[:_LEAST], name[-_LEAST:])]
            if len(alike) != 1:
                raise
            done = undo(alike[0])
    if wants_json(context):
        emit_json(done.to_dict())
        return
    others = len(done.memories) - done.messages - done.statements
    counts = [format_count(done.messages, "message"), format_count(done.statements, "statement")]
    counts += [f"{others:,} more"] if others else []
    verb = "Would forget" if done.entry is None else "Forgot"
    redo = "" if done.entry is None else f" To bring it back: infinite-memory undo {done.entry}"
    emit_lines([Line([(f"{verb} what the session left: {', '.join(counts)}.{redo}", "")])])


def _list_ids(actions: Iterable[Action]) -> Iterator[str]:
    """Yield the ids that a line of an action names: those of its first memories."""
    return (step.id for action in actions for step in action.memories[:_NAMED])


def _format_undo(done: Undone, shown: Mapping[str, str]) -> Iterator[Line]:
    what = f"entry {done.undone.number}: {_describe_action(done.undone.action, shown)}."
    if done.entry is None:
        yield Line([(f"Would undo {what} Nothing was changed.", "")])
    else:
        redo = f"To redo it: infinite-memory undo {done.entry}"
        yield Line([(f"Undid {what} {redo}", "")])
    if done.further:
        number = format_count(len(done.further), "other part", "other parts")
        listed = ", ".join(map(str, done.further[:_LISTED]))
        yield Line([(f"with {number} of the same import: {listed}", "")], indent=2)
    for change in done.changes[:_LISTED]:
        yield Line([(_describe_change(change, shown), "")], indent=2)
    if len(done.changes) > _LISTED:
        more = format_count(len(done.changes) - _LISTED, "more memory", "more memories")
        yield Line([(f"and {more}", "")], indent=2)
    if done.scopes:
        yield Line(
            [(f"{format_count(len(done.scopes), 'scope')}: {', '.join(done.scopes)}", "")], indent=2
        )
    if done.erased:
        listed = ", ".join(done.erased[:_LISTED])
        more = f" and {len(done.erased) - _LISTED:,} more" if len(done.erased) > _LISTED else ""
        yield Line([(f"left out, since erased for good: {listed}{more}", "")], indent=2)


_NAMED = 5
_TEXT_CHARS = 60
_NAMED_IN_PART = {"text", "status", "scope"}


def _describe_action(action: Action, shown: Mapping[str, str]) -> str:
    """Describe an action in a line."""
    parts = [str(action.operation)]
    if action.undoes is not None:
        parts[0] += f" of {action.undoes}"
    if action.memories:
        parts.append(_describe_ids([step.id for step in action.memories], shown))
    names = action.scope_names
    if names:
        parts.append(f"{format_count(len(names), 'scope')} ({', '.join(names)})")
    if action.links:
        parts.append(format_count(len(action.links), "link"))
    if action.reason:
        parts.append(action.reason)
    return ", ".join(parts)


def _describe_ids(ids: Sequence[str], shown: Mapping[str, str]) -> str:
    """Return the number of some memories with the first ids, "" for none."""
    if not ids:
        return ""
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    named = ", ".join(shown[memory_id] for memory_id in ids[:_NAMED])
    return f"{format_count(len(ids), 'memory', 'memories')} ({named}{more})"


def _describe_change(change: MemoryChange, shown: Mapping[str, str]) -> str:
    """Describe the effect of an undo on a memory in a line."""
    before, after, differing = change.before, change.after, change.differing
    parts = []
    if "text" in differing and not change.is_private:
        parts.append(f"{_shorten_text(shown_text(before))} → {_shorten_text(shown_text(after))}")
    elif "text" in differing:
        parts.append("another text")
    if "status" in differing:
        parts.append(f"{before.status} → {after.status}")
    if "scope" in differing:
        parts.append(f"scope {before.scope} → {after.scope}")
    further = [name for name in differing if name not in _NAMED_IN_PART]
    if further:
        parts.append(f"{', '.join(further)} as before")
    same_text = (
        "" if change.is_private or "text" in differing else f" {_shorten_text(shown_text(after))}"
    )
    return f"{shown[after.id]}{same_text}: {', '.join(parts) or 'as it was'}"


def _shorten_text(text: str) -> str:
    return f'"{one_line(text, max_chars=_TEXT_CHARS)}"'
