"""The commands that look after a store: `stats` and `verify`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from attrs import asdict

from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines, emit_table, terminal
from infinite_memory.model.codec import iso
from infinite_memory.model.findings import Verification
from infinite_memory.model.quantities import format_count, format_size
from infinite_memory.model.timestamps import show_moment
from infinite_memory.operations.remember import Progress
from infinite_memory.operations.stats import Stats

__all__ = ["stats_command", "verify_command"]


@click.command("stats")
@common_options
@click.pass_context
def stats_command(context: click.Context) -> None:
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
    rows += [("earlier revisions", f"{stats.revisions:,}"), ("size", format_size(stats.size_bytes))]
    if stats.oldest is not None and stats.newest is not None:
        rows += [("oldest", show_moment(stats.oldest, zone))]
        rows += [("newest", show_moment(stats.newest, zone))]
    rows += [("model", stats.model)]
    if stats.answering != stats.model:
        done = stats.by_model.get(stats.model, 0)
        rows += [("change of the model", f"{done:,} of {stats.memories:,} memories embedded anew")]
        rows += [("answers meanwhile", stats.answering)]
    return rows


@click.command("verify")
@click.option(
    "--mend",
    is_flag=True,
    help="Make anew what was derived from sound records: vectors and the index.",
)
@common_options
@click.pass_context
def verify_command(context: click.Context, /, *, mend: bool) -> int:
    """Look at every record, its history and vectors, and the index, and say what is damaged.

    Nothing is changed, unless --mend is given; a record is never repaired. Exits with 4 if
    anything is damaged.
    """
    with opened(context) as store, _progress() as progress:
        verified = store.verify(mend=mend, progress=progress)
    if wants_json(context):
        emit_json(
            {
                "sound": verified.sound,
                "counts": dict(verified.counts),
                "findings": [
                    {**asdict(finding), "part": str(finding.part)} for finding in verified.findings
                ],
                "mended": verified.mended,
            }
        )
    else:
        emit_lines(_summary(verified))
        if verified.findings:
            rows = [(str(f.part), f.what, f.way_out) for f in verified.findings]
            emit_table(("Part", "What was found", "What to do"), rows)
    return ExitCode.DONE if verified.sound else ExitCode.STORAGE


def _summary(verified: Verification) -> Iterator[Line]:
    looked = ", ".join(f"{number:,} {part}" for part, number in sorted(verified.counts.items()))
    yield Line([(f"Looked at {looked or 'nothing'}.", "")])
    if verified.sound:
        yield Line([("Everything is as it was written.", "green")])
    else:
        yield Line([(f"{format_count(len(verified.findings), 'finding', 'findings')}:", "red")])
    if verified.mended:
        yield Line([(f"{verified.mended:,} made anew.", "")])


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """Draw a bar on standard error, if a person looks at it."""
    if not terminal(sys.stderr):
        yield None
        return
    # Late: only a terminal needs it.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("Verifying", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
