"""`infinite-memory copy`: everything of one store into another, whatever keeps them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from attrs import asdict

from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.options import common_options, refuse_scopes, wanted_store, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines, emit_table, terminal
from infinite_memory.cli.settings import set_up
from infinite_memory.model.copying import Copied, CopyProgress, CopyStep
from infinite_memory.model.findings import Finding
from infinite_memory.model.quantities import format_count
from infinite_memory.operations.copy import copy_store

__all__ = ["copy_command"]


_ONE = {
    "entries": "entry",
    "memories": "memory",
    "embeddings": "embedding",
    "revisions": "revision",
    "scopes": "scope",
    "erased": "erased",
}


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@common_options
@click.pass_context
def copy_command(context: click.Context, /, source: str, target: str) -> int:
    """Copy everything that the store FROM holds into the store TO, and compare the two.

    Each is a folder, mongodb://HOST/DATABASE, or mongodb+managed:// for the server in the home
    folder. Do it again after an interruption: it goes on. Exits with 4 if something could not be
    copied, or is not the same in both.
    """
    refuse_scopes(context, "copy")
    if wanted_store(context) is not None:
        raise click.UsageError("copy takes two stores, FROM and TO: leave out --store", context)
    config = set_up(context)
    with _progress() as progress:
        copied = copy_store(source, target, config=config, progress=progress)
    if wants_json(context):
        emit_json(
            {
                "whole": copied.whole,
                "copied": copied.copied,
                "resumed": copied.resumed,
                "compared": dict(copied.compared),
                "left_out": [_document(finding) for finding in copied.left_out],
                "different": [_document(finding) for finding in copied.different],
            }
        )
    else:
        emit_lines(_summary(copied))
        found = [*copied.left_out, *copied.different]
        if found:
            rows = [(str(f.part), f.what, f.way_out) for f in found]
            emit_table(("Part", "What was found", "What to do"), rows)
    return ExitCode.DONE if copied.whole else ExitCode.STORAGE


def _document(finding: Finding) -> dict[str, object]:
    return {**asdict(finding), "part": str(finding.part)}


def _summary(copied: Copied) -> Iterator[Line]:
    went_on = " more, going on with an earlier copy" if copied.resumed else ""
    yield Line([(f"Copied {format_count(copied.copied, 'memory', 'memories')}{went_on}.", "")])
    equal = ", ".join(
        format_count(number, _ONE.get(part, part), part)
        for part, number in sorted(copied.compared.items())
    )
    yield Line([(f"Compared, and the same in both: {equal or 'nothing'}.", "")])
    if copied.whole:
        yield Line([("The target holds everything that the source does.", "green")])
    if copied.left_out:
        yield Line([(f"{format_count(len(copied.left_out), 'thing', 'things')} left out:", "red")])
    if copied.different:
        yield Line(
            [(f"{format_count(len(copied.different), 'difference', 'differences')}:", "red")]
        )


@contextmanager
def _progress() -> Iterator[CopyProgress | None]:
    """Draw a bar on standard error, if a person looks at it."""
    if not terminal(sys.stderr):
        yield None
        return
    # Late: only a terminal needs it.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks = {step: bar.add_task(step.capitalize(), total=None) for step in CopyStep}
        yield lambda step, done, total: bar.update(tasks[step], completed=done, total=total)
