"""`infinite-memory embed`: give vectors to what still waits for them."""

from __future__ import annotations

import click

from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines
from infinite_memory.cli.render import count

__all__ = ["command"]


@click.command("embed")
@click.option(
    "--drop-others",
    is_flag=True,
    help="Then remove the vectors of every other model, once this one has embedded everything.",
)
@common_options
@click.pass_context
def command(context: click.Context, *, drop_others: bool) -> None:
    """Embed what waits for the configured model.

    Some memories wait where a process ended between storing and embedding, where a text is very
    long, and after another model was configured. This may be interrupted and started again.
    """
    done = 0
    dropped: dict[str, int] = {}
    with opened(context) as store:
        while batch := store.models.catch_up():
            done += batch
        if drop_others:
            dropped = store.models.drop_others()
    if wants_json(context):
        emit_json({"embedded": done, **({"dropped": dropped} if drop_others else {})})
        return
    lines = [f"Embedded {count(done, 'memory', 'memories')}."]
    lines += [
        f"Removed the vectors of {count(number, 'memory', 'memories')} by {name}."
        for name, number in dropped.items()
    ]
    if drop_others and not dropped:
        lines.append("No other model has vectors here.")
    emit_lines([Line([(line, "")]) for line in lines])
