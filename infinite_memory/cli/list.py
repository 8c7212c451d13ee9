"""`infinite-memory list`: memories in the order of time."""

from __future__ import annotations

import sys
from typing import Any

import click

from infinite_memory.cli.elsewhere import elsewhere
from infinite_memory.cli.fields import filter_options, filter_values
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import emit_json, emit_table, remark, terminal
from infinite_memory.cli.render import one_line
from infinite_memory.model.codec import to_json
from infinite_memory.model.moments import show_moment
from infinite_memory.model.scope import visible_from
from infinite_memory.store import MemoryStore

__all__ = ["command"]

# On a terminal enough to recognise a memory, in a pipe enough to search in.
_TABLE_CHARS, _PIPE_CHARS = 120, 2000
# A time takes two lines, the date and the time of day.
_WIDTHS = {"When": 11, "Scope": 16}


@click.command("list")
@filter_options
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="At most so many.")
@click.option("--after", metavar="CURSOR", help="Go on from the page that named this cursor.")
@common_options
@click.pass_context
def command(context: click.Context, /, *, limit: int, after: str | None, **given: Any) -> None:
    """List memories, newest first.

    Into a pipe every memory is a line: time, scope, kind, text and id, with tabs between.
    """
    with opened(context) as store:
        zone = store.config.time_zone
        page = store.browse(**filter_values(given, zone), limit=limit, after=after)
        as_json = wants_json(context)
        hint = None if as_json else elsewhere(store, _opened_scopes(store, given["scopes"]))
    if as_json:
        emit_json({"memories": [to_json(memory) for memory in page.memories], "next": page.next})
        return
    if page.memories:
        max_chars = _TABLE_CHARS if terminal(sys.stdout) else _PIPE_CHARS
        emit_table(
            ("When", "Scope", "Kind", "Memory"),
            [
                (
                    show_moment(memory.happened_at, zone),
                    memory.scope,
                    str(memory.kind),
                    f"{one_line(memory.text, max_chars=max_chars)}\n{memory.id}",
                )
                for memory in page.memories
            ],
            widths=_WIDTHS,
        )
    else:
        remark("There is nothing to list.")
    if page.next is not None:
        remark(f"There are more: go on with --after {page.next}")
    if hint is not None:
        remark(hint)


def _opened_scopes(store: MemoryStore, asked: tuple[str, ...]) -> set[str] | None:
    """Return the scopes that the list came from, None for all."""
    if any(name.strip().casefold() == "all" for name in asked):
        return None
    scopes = {scope.name: scope for scope in store.scopes}
    names = [store.scopes[name].name for name in asked] or [store.config.default_scope]
    return {seen for name in names for seen in (name, *visible_from(name, scopes))}
