"""`infinite-memory list`: memories in the order of time."""

from __future__ import annotations

from typing import Any

import click

from infinite_memory.cli.elsewhere import elsewhere, opened_scopes
from infinite_memory.cli.fields import filter_options, filter_values
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import emit_json, remark
from infinite_memory.cli.rows import emit_rows
from infinite_memory.clock import system_clock
from infinite_memory.model.codec import iso, reading_json, to_json
from infinite_memory.model.timestamps import show_moment
from infinite_memory.times import read_as_of

__all__ = ["command"]


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
        zone, week_start = store.config.time_zone, store.config.week_start
        now = system_clock()
        as_of = given["as_of"]
        if as_of is not None:
            given["as_of"] = as_of = read_as_of(as_of, now=now, zone=zone, week_start=week_start)
        page = store.browse(**filter_values(given, zone), limit=limit, after=after)
        as_json = wants_json(context)
        hint = None if as_json else elsewhere(store, opened_scopes(store, given["scopes"]))
    if as_json:
        memories = [to_json(memory) for memory in page.memories]
        when = None if page.when is None else reading_json(page.when)
        emit_json({"memories": memories, "when": when, "as_of": iso(as_of), "next": page.next})
        return
    if page.memories:
        emit_rows(page.memories, zone)
    else:
        remark("There is nothing to list.")
    if page.when is not None:
        remark(f"{page.when.said}.")
    if as_of is not None:
        remark(f"As of {show_moment(as_of, zone)}.")
    if page.next is not None:
        remark(f"There are more: go on with --after {page.next}")
    if hint is not None:
        remark(hint)
