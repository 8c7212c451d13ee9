"""`infinite-memory history`: all that a memory or a key was."""

from __future__ import annotations

import sys

import click

from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import emit_json, emit_table, terminal
from infinite_memory.cli.render import one_line
from infinite_memory.model.codec import to_json
from infinite_memory.model.memory import Memory
from infinite_memory.model.timestamps import show_moment

__all__ = ["command"]

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
def command(context: click.Context, id_or_key: str, *, scopes: tuple[str, ...]) -> None:
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
        [_row(memory, zone, max_chars) for memory in memories],
        widths={"From": 11, "To": 11},
    )


def _row(memory: Memory, zone: str | None, max_chars: int) -> tuple[str, ...]:
    end = "" if memory.valid_to is None else show_moment(memory.valid_to, zone)
    text = one_line(memory.text, max_chars=max_chars)
    return (
        show_moment(memory.held_from, zone),
        end,
        str(memory.status),
        f"{text}\n{memory.id}\nrevision {memory.revision}",
    )
