"""`infinite-memory stats`: how much is stored, and where."""

from __future__ import annotations

import click
from attrs import asdict

from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import emit_json, emit_table
from infinite_memory.cli.render import size
from infinite_memory.model.codec import iso
from infinite_memory.model.timestamps import show_moment
from infinite_memory.operations.stats import Stats

__all__ = ["command"]


@click.command("stats")
@common_options
@click.pass_context
def command(context: click.Context) -> None:
    """Count what is stored, by scope, kind and status."""
    with opened(context) as store:
        counted, zone = store.stats(), store.config.time_zone
    if wants_json(context):
        times = {"oldest": iso(counted.oldest), "newest": iso(counted.newest)}
        emit_json({**asdict(counted), **times})
        return
    emit_table(("What", "How much"), _rows(counted, zone))


def _rows(stats: Stats, zone: str | None) -> list[tuple[str, str]]:
    rows = [("memories", f"{stats.memories:,}")]
    for noun, counts in (
        ("scope", stats.by_scope),
        ("kind", stats.by_kind),
        ("status", stats.by_status),
    ):
        rows += [(f"{noun} {name}", f"{number:,}") for name, number in counts.items()]
    rows += [("found by meaning", f"{stats.embedded:,}")]
    rows += [(f"vectors by {name}", f"{number:,}") for name, number in stats.by_model.items()]
    rows += [("earlier revisions", f"{stats.revisions:,}"), ("size", size(stats.size_bytes))]
    if stats.oldest is not None and stats.newest is not None:
        rows += [("oldest", show_moment(stats.oldest, zone))]
        rows += [("newest", show_moment(stats.newest, zone))]
    rows += [("model", stats.model)]
    if stats.answering != stats.model:
        done = stats.by_model.get(stats.model, 0)
        rows += [("change of the model", f"{done:,} of {stats.memories:,} memories embedded anew")]
        rows += [("answers meanwhile", stats.answering)]
    return rows
