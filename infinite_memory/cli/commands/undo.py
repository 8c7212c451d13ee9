"""`infinite-memory undo`: reverse a change."""

from __future__ import annotations

from collections.abc import Iterator

import click

from infinite_memory.cli.commands.entries import change_json, change_line, entry_json, said
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.cli.render import count
from infinite_memory.operations.undo import Undone

__all__ = ["command"]

_LISTED = 5


@click.command("undo")
@click.argument("entry", type=int, required=False)
@click.option("--dry-run", is_flag=True, help="Show what it would take back, and change nothing.")
@common_options
@click.pass_context
def command(context: click.Context, entry: int | None, *, dry_run: bool) -> None:
    """Reverse the change of that ENTRY of the log, by default the last made with this program.

    What it stored is forgotten; what it changed or forgot is as it was before. The undo is an entry
    of its own, and can be undone. Without an ENTRY, what cannot be undone is skipped and named.
    """
    with opened(context) as store:
        # Each command is a process of its own.
        done = store.undo(entry, dry_run=dry_run, last_of="machine")
    if wants_json(context):
        emit_json(
            {
                "entry": done.entry,
                "undone": entry_json(done.undone),
                "memories": list(done.memories),
                "scopes": list(done.scopes),
                "erased": list(done.erased),
                "changes": [change_json(change) for change in done.changes],
                "skipped": [
                    {"number": skipped.number, "reason": reason} for skipped, reason in done.skipped
                ],
            }
        )
        return
    emit_lines(_lines(done))
    for skipped, reason in done.skipped[:_LISTED]:
        remark(f"Skipped entry {skipped.number}: {reason}.")
    if len(done.skipped) > _LISTED:
        remark(f"Skipped {count(len(done.skipped) - _LISTED, 'more entry', 'more entries')}.")


def _lines(done: Undone) -> Iterator[Line]:
    what = f"entry {done.undone.number}: {said(done.undone.action)}."
    if done.entry is None:
        yield Line([(f"Would undo {what} Nothing was changed.", "")])
    else:
        redo = f"To redo it: infinite-memory undo {done.entry}"
        yield Line([(f"Undid {what} {redo}", "")])
    for change in done.changes[:_LISTED]:
        yield Line([(change_line(change), "")], indent=2)
    if len(done.changes) > _LISTED:
        more = count(len(done.changes) - _LISTED, "more memory", "more memories")
        yield Line([(f"and {more}", "")], indent=2)
    if done.scopes:
        yield Line(
            [(f"{count(len(done.scopes), 'scope')}: {', '.join(done.scopes)}", "")], indent=2
        )
    if done.erased:
        listed = ", ".join(done.erased[:_LISTED])
        more = f" and {len(done.erased) - _LISTED:,} more" if len(done.erased) > _LISTED else ""
        yield Line([(f"erased for good since, and left out: {listed}{more}", "")], indent=2)
