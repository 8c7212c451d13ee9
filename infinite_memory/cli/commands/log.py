"""`infinite-memory log`: the changes, newest first."""

from __future__ import annotations

import click

from infinite_memory.cli.commands.entries import entry_json, said
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import emit_json, emit_table, remark
from infinite_memory.model.timestamps import show_moment

__all__ = ["command"]


@click.command("log")
@click.argument("memory_id", metavar="[ID]", required=False)
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="At most so many.")
@click.option("--before", type=int, metavar="ENTRY", help="Go on with those before this entry.")
@common_options
@click.pass_context
def command(
    context: click.Context, memory_id: str | None, *, limit: int, before: int | None
) -> None:
    """List the entries of the journal, newest first; with an ID those that changed that memory.

    Into a pipe every entry is a line: number, time, client, what it did, and the process, with tabs
    between.
    """
    with opened(context) as store:
        entries = store.journal.entries(limit=limit, before=before, memory_id=memory_id)
        zone = store.config.time_zone
    if wants_json(context):
        emit_json({"entries": [entry_json(entry) for entry in entries]})
        return
    if not entries:
        remark("There is nothing in the journal." if before is None else "There is nothing older.")
    emit_table(
        ("Entry", "When", "Who", "What"),
        [
            (
                str(entry.number),
                show_moment(entry.action.at, zone),
                entry.action.actor.client,
                f"{said(entry.action)}\n{entry.action.actor.process}",
            )
            for entry in entries
        ],
    )
    if len(entries) == limit and entries[-1].number > 1:
        remark(f"There may be more: go on with --before {entries[-1].number}")
