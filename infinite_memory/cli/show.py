"""`infinite-memory show`: one memory with all its fields."""

from __future__ import annotations

import click

from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines
from infinite_memory.cli.render import memory_lines
from infinite_memory.model.codec import to_json
from infinite_memory.model.memory import Memory

__all__ = ["command"]


@click.command("show")
@click.argument("memory_id", metavar="ID")
@click.option("--history", is_flag=True, help="Show the earlier revisions too, oldest first.")
@common_options
@click.pass_context
def command(context: click.Context, memory_id: str, *, history: bool) -> None:
    """Show the whole text and every field of the memory with this ID, whatever its status."""
    with opened(context) as store:
        memory = store.get(memory_id)
        revisions = store.history(memory_id) if history else []
        zone = store.config.time_zone
    if wants_json(context):
        earlier = {"history": [to_json(revision) for revision in revisions]} if history else {}
        emit_json({**to_json(memory), **earlier})
        return
    shown: list[Memory] = revisions or [memory]
    for number, revision in enumerate(shown):
        if number:
            emit_lines([Line([("", "")])])
        emit_lines(memory_lines(revision, zone))
