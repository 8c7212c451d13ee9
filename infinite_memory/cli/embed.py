"""`infinite-memory embed`: give vectors to what still waits for them."""

from __future__ import annotations

import click

from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines
from infinite_memory.cli.render import count

__all__ = ["command"]


@click.command("embed")
@common_options
@click.pass_context
def command(context: click.Context) -> None:
    """Embed what is found by its words alone so far.

    Some memories wait where a process ended between storing and embedding, where a text is very
    long, and after another model was configured. This may be interrupted and started again.
    """
    done = 0
    with opened(context) as store:
        while batch := store.catch_up():
            done += batch
    if wants_json(context):
        emit_json({"embedded": done})
        return
    emit_lines([Line([(f"Embedded {count(done, 'memory', 'memories')}.", "")])])
