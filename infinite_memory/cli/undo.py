"""`infinite-memory undo`: reverse a change."""

from __future__ import annotations

import click

from infinite_memory.cli.entries import entry_json, said
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines

__all__ = ["command"]


@click.command("undo")
@click.argument("entry", type=int, required=False)
@common_options
@click.pass_context
def command(context: click.Context, entry: int | None) -> None:
    """Reverse the change of that ENTRY of the log, by default the last made with this program.

    What it stored is forgotten; what it changed or forgot is as it was before. The undo is an entry
    of its own, and can be undone.
    """
    with opened(context) as store:
        done = store.undo(entry)
    if wants_json(context):
        emit_json(
            {
                "entry": done.entry,
                "undone": entry_json(done.undone),
                "memories": list(done.memories),
                "scopes": list(done.scopes),
            }
        )
        return
    sentence = (
        f"Undid entry {done.undone.number}: {said(done.undone.action)}. "
        f"To redo it: infinite-memory undo {done.entry}"
    )
    emit_lines([Line([(sentence, "")])])
