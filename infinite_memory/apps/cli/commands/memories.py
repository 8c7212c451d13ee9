"""The commands on memories by id or key: `show`, `revise`, `history` and `conflicts`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from typing import Any

import click
from attrs import NOTHING

from infinite_memory.apps.cli.completions import MEMORY_ID, complete_scopes
from infinite_memory.apps.cli.fields import (
    OPTION_NAMES,
    create_option,
    field_options,
    field_values,
    read_text,
)
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import (
    Line,
    emit_json,
    emit_lines,
    emit_table,
    is_terminal,
    remark,
)
from infinite_memory.apps.cli.render import (
    key_lines,
    memory_lines,
    quote_memories,
    receipt_sentence,
    shorten_ids,
    show_day,
    show_time,
)
from infinite_memory.apps.cli.scope_hints import name_create_option
from infinite_memory.core.errors import KeyElsewhere
from infinite_memory.core.values.fields import MEMORY_FIELDS
from infinite_memory.core.values.memory import Memory, Status, shown_text
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.record import Usage
from infinite_memory.search.text.lines import one_line


@click.command("show")
@click.argument("memory_id", metavar="ID", type=MEMORY_ID)
@click.option("--history", is_flag=True, help="Show the earlier revisions too, oldest first.")
@click.option(
    "--usage",
    is_flag=True,
    help="Show how often it was recalled, and when last. Also its activation, if any.",
)
@common_options
@click.pass_context
def show_command(context: click.Context, memory_id: str, *, history: bool, usage: bool) -> None:
    """Show the whole text and every field of the memory ID, of any status."""
    with open_store(context) as store:
        memory_id = store.ids.resolve(memory_id)
        memory = store.get(memory_id)
        revisions = store.journal.history(memory_id) if history else []
        recalls = (store.usage(memory_id) if usage else None) or Usage(count=0)
        zone = store.config.time_zone
    if wants_json(context):
        earlier = {"history": [revision.to_dict() for revision in revisions]} if history else {}
        recalled = {"usage": recalls.to_dict()} if usage else {}
        emit_json({**memory.to_dict(), **recalled, **earlier})
        return
    for number, revision in enumerate(revisions or [memory]):
        if number:
            emit_lines([Line([("", "")])])
        emit_lines(memory_lines(revision, zone))
    if usage:
        _remark_usage(recalls, zone)


def _remark_usage(usage: Usage, zone: str | None) -> None:
    if usage.last is None:
        remark("Never recalled.")
    else:
        times = format_count(usage.count, "time")
        remark(f"Recalled {times}, last on {show_time(usage.last, zone)}.")
    if usage.activated_at is not None:
        last = show_time(usage.activated_at, zone)
        remark(f"Activated by searches of conversations: {usage.activation:g}, last on {last}.")


_EMPTY = {
    OPTION_NAMES.get(field.name, field.name.replace("_", "-")): (field.name, field.empty)
    for field in MEMORY_FIELDS
    if field.empty is not NOTHING
}
"""The fields that --clear empties, and the value of an empty field."""


@click.command("revise")
@click.argument("memory_id", metavar="ID", type=MEMORY_ID)
@click.option("--text", help="The new text; - reads it from standard input.")
@field_options
@create_option
@click.option("--important/--not-important", default=None, help="Whether it matters more.")
@click.option(
    "--status",
    type=click.Choice([str(status) for status in Status]),
    help="current brings back a forgotten memory.",
)
@click.option(
    "--supersedes",
    multiple=True,
    type=MEMORY_ID,
    metavar="ID",
    help="A memory that this one replaces from now on. May be repeated.",
)
@click.option(
    "--clear",
    type=click.Choice(list(_EMPTY)),
    multiple=True,
    help="Empty this field. May be repeated.",
)
@click.option(
    "--revision",
    type=int,
    help="Change it only if this is its present revision.",
)
@common_options
@click.pass_context
def revise_command(
    context: click.Context,
    /,
    memory_id: str,
    *,
    text: str | None,
    clear: tuple[str, ...],
    revision: int | None,
    create: bool,
    **options: Any,
) -> None:
    """Change fields of the memory ID; the rest of it stays as it is.

    New tags, sources and attachments replace the present ones. With --supersedes it takes the place
    of other memories, which become history.
    """
    with open_store(context) as store:
        memory_id = store.ids.resolve(memory_id)
        changes = dict(_EMPTY[name] for name in clear)
        changes |= field_values(options, store)
        if changes.get("supersedes"):
            changes["supersedes"] = [store.ids.resolve(old) for old in changes["supersedes"]]
        if text is not None:
            changes["text"] = read_text(text, max_bytes=store.config.limits.max_text_bytes)
        if revision is None:
            revision = store.get(memory_id).revision
        with name_create_option():
            receipt = store.revise(memory_id, revision=revision, create_scope=create, **changes)
        if wants_json(context):
            emit_json(receipt.to_dict())
        else:
            sentence = Line([(receipt_sentence(receipt, store), "")])
            emit_lines([sentence, *key_lines(receipt, store)])


@click.command("share")
@click.argument("memory_id", metavar="ID", type=MEMORY_ID)
@click.option(
    "--to", metavar="SCOPE", required=True, shell_complete=complete_scopes, help="The scope."
)
@click.option("--copy", is_flag=True, help="Store a copy there, and keep the memory where it is.")
@common_options
@click.pass_context
def share_command(context: click.Context, memory_id: str, *, to: str, copy: bool) -> None:
    """Move the memory ID into a scope that others see, or copy it there."""
    with open_store(context) as store, name_create_option("--to", has_create=False):
        receipt = store.share(store.ids.resolve(memory_id), to=to, copy=copy)
        if wants_json(context):
            emit_json(receipt.to_dict())
        else:
            done = "Stored a copy in" if copy else "Moved to"
            told = f"{done} {receipt.scope}: {quote_memories(store, [receipt.id])}."
            emit_lines([Line([(told, "")])])


_TABLE_CHARS, _PIPE_CHARS = 120, 2000


@click.command("history")
@click.argument("id_or_key", metavar="ID|KEY", shell_complete=MEMORY_ID.shell_complete)
@click.option(
    "--scope",
    "scopes",
    shell_complete=complete_scopes,
    metavar="NAME",
    multiple=True,
    help="Search this scope for the KEY, with its parents and Global. Repeatable.",
)
@common_options
@click.pass_context
def history_command(context: click.Context, id_or_key: str, *, scopes: tuple[str, ...]) -> None:
    """Show every value that a KEY had, or every revision of the memory ID.

    Oldest first, by when they began to hold; with an ID also the memories that it replaced or that
    replaced it. Into a pipe every revision is a line: from, to, status, text, id and number, with
    tabs between.
    """
    with open_store(context) as store:
        try:
            memories = store.journal.history(id_or_key, scope=list(scopes) or None)
        except KeyElsewhere as error:
            options = f"--scope {shlex.quote(error.scopes[0])}"
            call = f"`infinite-memory history {shlex.quote(error.key)} {options}`"
            raise KeyElsewhere.of(error.key, error.where, error.scopes, call) from error
        zone = store.config.time_zone
        shown = shorten_ids(store, [memory.id for memory in memories])
    if wants_json(context):
        emit_json({"history": [memory.to_dict() for memory in memories]})
        return
    max_chars = _TABLE_CHARS if is_terminal(sys.stdout) else _PIPE_CHARS
    emit_table(
        ("From", "To", "Status", "Memory", "Id", "Revision"),
        [_make_history_row(memory, zone, shown, max_chars) for memory in memories],
        widths={"From": 11, "To": 11},
    )


def _make_history_row(
    memory: Memory, zone: str | None, shown: Mapping[str, str], max_chars: int
) -> tuple[str, ...]:
    end = "" if memory.valid_to is None else show_day(memory.valid_to, zone)
    text = one_line(shown_text(memory), max_chars=max_chars)
    return (
        show_day(memory.held_from, zone),
        end,
        str(memory.status),
        text,
        shown[memory.id],
        f"revision {memory.revision}",
    )


_CONFLICT_CHARS = 2000


@click.command("conflicts")
@click.option(
    "--scope",
    "scopes",
    shell_complete=complete_scopes,
    metavar="NAME",
    multiple=True,
    help="Search this scope with its parents and Global; ALL for all open scopes. Repeatable.",
)
@common_options
@click.pass_context
def conflicts_command(context: click.Context, *, scopes: tuple[str, ...]) -> None:
    """List current facts that contradict each other: same key, same scope, different texts.

    To decide, `revise` the fact that holds, so that it `--supersedes` the others. Into a pipe
    every memory is a line: scope, key, when it began, text and id, with tabs between.
    """
    with open_store(context) as store:
        groups = store.journal.conflicts(scope=list(scopes) or None)
        zone = store.config.time_zone
        shown = shorten_ids(store, [memory.id for group in groups for memory in group])
    if wants_json(context):
        emit_json({"conflicts": [[memory.to_dict() for memory in group] for group in groups]})
        return
    if not groups:
        remark("No facts disagree.")
    emit_table(
        ("Scope", "Key", "From", "Memory", "Id"),
        [
            (
                memory.scope,
                memory.key or "",
                show_day(memory.held_from, zone),
                one_line(memory.text, max_chars=_CONFLICT_CHARS),
                shown[memory.id],
            )
            for group in groups
            for memory in group
        ],
    )
