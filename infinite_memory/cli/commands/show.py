"""`infinite-memory show`: one memory with all its fields."""

from __future__ import annotations

import click

from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.cli.render import count, memory_lines
from infinite_memory.model.codec import iso, to_json
from infinite_memory.model.memory import Memory
from infinite_memory.model.timestamps import show_moment
from infinite_memory.model.usage import Usage

__all__ = ["command"]


@click.command("show")
@click.argument("memory_id", metavar="ID")
@click.option("--history", is_flag=True, help="Show the earlier revisions too, oldest first.")
@click.option("--usage", is_flag=True, help="Say how often it was recalled, and when last.")
@common_options
@click.pass_context
def command(context: click.Context, memory_id: str, *, history: bool, usage: bool) -> None:
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
        times = count(used.count, "time")
        remark(f"Recalled {times}, last {show_moment(used.last, zone)}.")
    elif usage:
        remark("Never recalled.")


def _usage_json(used: Usage | None) -> dict[str, object]:
    if used is None:
        return {"count": 0, "last": None}
    return {"count": used.count, "last": iso(used.last)}
