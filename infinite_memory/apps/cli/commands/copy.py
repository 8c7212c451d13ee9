"""`infinite-memory copy`: copy a store into another store, of any backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
from attrs import asdict

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.options import common_options, refuse_scopes, wanted_store, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table, progress_bars
from infinite_memory.apps.cli.render import format_counts
from infinite_memory.apps.cli.settings import set_up
from infinite_memory.core.values.archive.backup import describe_keys_left_out
from infinite_memory.core.values.archive.copying import Copied, CopyProgress, CopyStep
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.verification import Finding
from infinite_memory.features.archive.copying import copy_store


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option(
    "--with-keys",
    is_flag=True,
    help="Copy the access keys too: whoever holds one of them is let in by a server of TO.",
)
@common_options
@click.pass_context
def copy_command(context: click.Context, /, source: str, target: str, *, with_keys: bool) -> int:
    """Copy everything that the store FROM holds into the store TO, and compare the two.

    FROM and TO are a folder, mongodb://HOST/DATABASE, or mongodb+managed:// for the server in
    the home folder. TO changes when the whole copy is there: after an interruption, run the command
    again. Exits with 4 if something could not be copied, or differs between the two.
    """
    refuse_scopes(context, "copy")
    if wanted_store(context) is not None:
        raise click.UsageError("copy takes two stores, FROM and TO: leave out --store", context)
    config = set_up(context)
    with progress_bars(*(step.capitalize() for step in CopyStep)) as update:
        copied = copy_store(
            source, target, config=config, with_keys=with_keys, progress=_make_progress(update)
        )
    if wants_json(context):
        emit_json(
            {
                "whole": copied.whole,
                "copied": copied.copied,
                "kept": copied.kept,
                "compared": dict(copied.compared),
                "access_keys_left_out": copied.access_keys_left_out,
                "left_out": [_describe_finding(finding) for finding in copied.left_out],
                "different": [_describe_finding(finding) for finding in copied.different],
            }
        )
    else:
        emit_lines(_summarise_copy(copied))
        findings = [*copied.left_out, *copied.different]
        if findings:
            rows = [(str(f.part), f.what, f.way_out) for f in findings]
            emit_table(("Part", "What was found", "What to do"), rows)
    return ExitCode.DONE if copied.whole else ExitCode.STORAGE


def _describe_finding(finding: Finding) -> dict[str, object]:
    return {**asdict(finding), "part": str(finding.part)}


def _summarise_copy(copied: Copied) -> Iterator[Line]:
    yield Line([(f"Copied {format_count(copied.copied, 'memory', 'memories')}.", "")])
    yield Line([(f"Compared: {format_counts(copied.compared) or 'nothing'}.", "")])
    if copied.whole:
        but = " but its access keys" if copied.access_keys_left_out else ""
        yield Line([(f"The target holds everything that the source held{but}.", "green")])
    if copied.access_keys_left_out:
        way = "copy it again with --with-keys to take them"
        yield Line([(describe_keys_left_out(copied.access_keys_left_out, way), "")])
    if copied.kept:
        yield Line([("The target keeps its earlier copy, which may have more.", "red")])
    if copied.left_out:
        yield Line([(f"{format_count(len(copied.left_out), 'record')} left out:", "red")])
    if copied.different:
        yield Line([(f"{format_count(len(copied.different), 'difference')}:", "red")])


def _make_progress(update: Callable[[str, int, int | None], None] | None) -> CopyProgress | None:
    """Return a function that draws the progress of a copy, step by step, if there are bars."""
    if update is None:
        return None
    return lambda step, done, total: update(step.capitalize(), done, total)
