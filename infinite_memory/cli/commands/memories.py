"""The commands on memories whose id or key is known: `show`, `revise`, `forget`, `history`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.fields import field_options, field_values, read_text
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines, emit_table, remark, terminal
from infinite_memory.cli.render import memory_lines, one_line, receipt_json, receipt_sentence
from infinite_memory.errors import NotFound, StoreDamaged
from infinite_memory.model.codec import iso, to_json
from infinite_memory.model.memory import Memory, Status
from infinite_memory.model.quantities import format_count
from infinite_memory.model.receipt import Receipt
from infinite_memory.model.timestamps import show_moment
from infinite_memory.model.usage import Usage
from infinite_memory.store import MemoryStore

__all__ = [
    "conflicts_command",
    "forget_command",
    "history_command",
    "revise_command",
    "show_command",
]


@click.command("show")
@click.argument("memory_id", metavar="ID")
@click.option("--history", is_flag=True, help="Show the earlier revisions too, oldest first.")
@click.option("--usage", is_flag=True, help="Say how often it was recalled, and when last.")
@common_options
@click.pass_context
def show_command(context: click.Context, memory_id: str, *, history: bool, usage: bool) -> None:
    """Show the whole text and every field of the memory with this ID, whatever its status."""
    with opened(context) as store:
        memory = store.get(memory_id)
        revisions = store.journal.history(memory_id) if history else []
        used = store.usage(memory_id) if usage else None
        zone = store.config.time_zone
    if wants_json(context):
        earlier = {"history": [to_json(revision) for revision in revisions]} if history else {}
        recalled = {"usage": _usage_json(used)} if usage else {}
        emit_json({**to_json(memory), **recalled, **earlier})
        return
    shown: list[Memory] = revisions or [memory]
    for number, revision in enumerate(shown):
        if number:
            emit_lines([Line([("", "")])])
        emit_lines(memory_lines(revision, zone))
    if used is not None:
        times = format_count(used.count, "time")
        remark(f"Recalled {times}, last {show_moment(used.last, zone)}.")
    elif usage:
        remark("Never recalled.")


def _usage_json(used: Usage | None) -> dict[str, object]:
    if used is None:
        return {"count": 0, "last": None}
    return {"count": used.count, "last": iso(used.last)}


_EMPTY: dict[str, tuple[str, Any]] = {
    "title": ("title", None),
    "tags": ("tags", ()),
    "speaker": ("speaker", None),
    "conversation": ("conversation_id", None),
    "key": ("key", None),
    "valid-from": ("valid_from", None),
    "valid-to": ("valid_to", None),
    "context": ("context", {}),
    "sources": ("sources", ()),
    "attachments": ("attachments", ()),
}
"""What can be taken away, and the value of the field without it."""


@click.command("revise")
@click.argument("memory_id", metavar="ID")
@click.option("--text", help="The new text; - reads it from standard input.")
@field_options
@click.option("--important/--not-important", default=None, help="Whether it matters more.")
@click.option(
    "--status",
    type=click.Choice([str(status) for status in Status]),
    help="current brings back what was forgotten.",
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
    help="Change it only if this is its revision; without it, the one it has now.",
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
    **given: Any,
) -> None:
    """Change fields of the memory with this ID; what is not named stays as it is.

    Tags, sources and attachments replace those that it had.
    """
    with opened(context) as store:
        changes = dict(_EMPTY[name] for name in clear)
        changes |= field_values(given, store.config.time_zone)
        if text is not None:
            changes["text"] = read_text(text, max_bytes=store.config.limits.max_text_bytes)
        if revision is None:
            revision = store.get(memory_id).revision
        receipt = store.revise(memory_id, revision=revision, **changes)
    if wants_json(context):
        emit_json(receipt_json(receipt))
    else:
        emit_lines([Line([(receipt_sentence(receipt), "")])])


_TEXT_CHARS = 200


@click.command("forget")
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--hard", is_flag=True, help="Erase for good, with history and vectors.")
@click.option("--yes", is_flag=True, help="Do not ask before erasing.")
@common_options
@click.pass_context
def forget_command(
    context: click.Context, memory_ids: tuple[str, ...], *, hard: bool, yes: bool
) -> int:
    """Take the memories with these IDs out of every result.

    "revise ID --status current" brings one back. With --hard nothing is left of them; that asks
    first, and without a terminal it needs --yes.
    """
    with opened(context) as store:
        # All are looked up before the first is forgotten, so that a wrong id changes nothing.
        lines, receipts = _looked_up(store, memory_ids, hard=hard)
        if hard and lines and not yes and not _confirmed(list(lines.values())):
            remark("Nothing was erased.", style="")
            return ExitCode.NO
        receipts |= {memory_id: store.forget(memory_id, hard=hard) for memory_id in lines}
    if wants_json(context):
        emit_json({"receipts": [receipt_json(receipt) for receipt in receipts.values()]})
    else:
        emit_lines(Line([(receipt_sentence(receipt), "")]) for receipt in receipts.values())
    return ExitCode.DONE


def _looked_up(
    store: MemoryStore, memory_ids: Sequence[str], *, hard: bool
) -> tuple[dict[str, str], dict[str, Receipt]]:
    """Return a line about each memory, and the receipt of each that had been erased before."""
    lines: dict[str, str] = {}
    receipts: dict[str, Receipt] = {}
    for memory_id in memory_ids:
        try:
            text = one_line(store.get(memory_id).text, max_chars=_TEXT_CHARS)
        except StoreDamaged:
            if not hard:
                raise
            text = "(damaged)"
        except NotFound:
            if not hard:
                raise
            # Finishes what is left of one that was erased, and refuses one that never was.
            receipts[memory_id] = store.forget(memory_id, hard=True)
            continue
        lines[memory_id] = f"{memory_id}  {text}"
    return lines, receipts


def _confirmed(lines: Sequence[str]) -> bool:
    if not terminal(sys.stdin):
        raise click.UsageError("--hard erases for good: give --yes, or run it on a terminal")
    for line in lines:
        remark(line, style="")
    number = format_count(len(lines), "memory", "memories")
    return click.confirm(f"Erase {number} for good?", err=True)


_TABLE_CHARS, _PIPE_CHARS = 120, 2000


@click.command("history")
@click.argument("id_or_key", metavar="ID|KEY")
@click.option(
    "--scope",
    "scopes",
    metavar="NAME",
    multiple=True,
    help="Look for the KEY in this scope with its parents and Global. Repeatable.",
)
@common_options
@click.pass_context
def history_command(context: click.Context, id_or_key: str, *, scopes: tuple[str, ...]) -> None:
    """Show every value that a KEY had, or every revision of the memory with this ID.

    Oldest first, by when each began to hold; with an ID also what it replaced, and what replaced
    it. Into a pipe each is a line: from, to, status, text, id and revision, with tabs between.
    """
    with opened(context) as store:
        memories = store.journal.history(id_or_key, scope=list(scopes) or None)
        zone = store.config.time_zone
    if wants_json(context):
        emit_json({"history": [to_json(memory) for memory in memories]})
        return
    max_chars = _TABLE_CHARS if terminal(sys.stdout) else _PIPE_CHARS
    emit_table(
        ("From", "To", "Status", "Memory"),
        [_history_row(memory, zone, max_chars) for memory in memories],
        widths={"From": 11, "To": 11},
    )


def _history_row(memory: Memory, zone: str | None, max_chars: int) -> tuple[str, ...]:
    end = "" if memory.valid_to is None else show_moment(memory.valid_to, zone)
    text = one_line(memory.text, max_chars=max_chars)
    return (
        show_moment(memory.held_from, zone),
        end,
        str(memory.status),
        f"{text}\n{memory.id}\nrevision {memory.revision}",
    )


_CONFLICT_CHARS = 2000


@click.command("conflicts")
@click.option(
    "--scope",
    "scopes",
    metavar="NAME",
    multiple=True,
    help="Look in this scope with its parents and Global; ALL for all open ones. Repeatable.",
)
@common_options
@click.pass_context
def conflicts_command(context: click.Context, *, scopes: tuple[str, ...]) -> None:
    """List facts of one key and one scope that began together and say different things.

    To decide, `revise` one of them, or `remember` one that `--supersedes` the others. Into a pipe
    each memory is a line: scope, key, when it began, text and id, with tabs between.
    """
    with opened(context) as store:
        groups = store.journal.conflicts(scope=list(scopes) or None)
        zone = store.config.time_zone
    if wants_json(context):
        emit_json({"conflicts": [[to_json(memory) for memory in group] for group in groups]})
        return
    if not groups:
        remark("No facts disagree.")
    emit_table(
        ("Scope", "Key", "From", "Memory"),
        [
            (
                memory.scope,
                memory.key or "",
                show_moment(memory.held_from, zone),
                f"{one_line(memory.text, max_chars=_CONFLICT_CHARS)}\n{memory.id}",
            )
            for group in groups
            for memory in group
        ],
    )
