"""`infinite-memory conflicts`: facts that disagree about a key."""

from __future__ import annotations

import click

from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import emit_json, emit_table, remark
from infinite_memory.cli.render import one_line
from infinite_memory.model.codec import to_json
from infinite_memory.model.timestamps import show_moment

__all__ = ["command"]

_CHARS = 2000


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
def command(context: click.Context, *, scopes: tuple[str, ...]) -> None:
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
                f"{one_line(memory.text, max_chars=_CHARS)}\n{memory.id}",
            )
            for group in groups
            for memory in group
        ],
    )
