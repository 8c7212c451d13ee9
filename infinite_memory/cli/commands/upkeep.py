"""`infinite-memory optimize`: run the jobs of the upkeep that are due."""

from __future__ import annotations

from collections.abc import Sequence

import click

from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.opening import open_store
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines
from infinite_memory.cli.render import one_line
from infinite_memory.store import MemoryStore
from infinite_memory.upkeep.describe import describe_report, shown_steps
from infinite_memory.upkeep.jobs import JOBS
from infinite_memory.upkeep.report import UpkeepReport

__all__ = ["optimize_command"]

_UNDO = "infinite-memory undo {}"
_LINE_CHARS = 400


@click.command("optimize")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option(
    "--job",
    "jobs",
    type=click.Choice([job.name for job in JOBS]),
    multiple=True,
    help="Run this job, due or not. May be repeated.",
)
@common_options
@click.pass_context
def optimize_command(context: click.Context, /, *, dry_run: bool, jobs: Sequence[str]) -> int:
    """Do the upkeep that is due now: archive, summarise, link, back up, compact.

    Nothing is erased, unless a rule of the configuration says so. Each job does a bounded part of
    its work, and is taken back by one `infinite-memory undo`. Exits with 1 if a job was given up.
    """
    with open_store(context) as store:
        report = store.upkeep.optimize(dry_run=dry_run, jobs=list(jobs) or None)
        if wants_json(context):
            emit_json(report.to_dict())
        else:
            emit_report(store, report)
    return ExitCode.NO if any(job.failure is not None for job in report.jobs) else ExitCode.DONE


def emit_report(store: MemoryStore, report: UpkeepReport) -> None:
    """Print what the jobs did."""
    ids = dict.fromkeys(step.memory_id for step in shown_steps(report))
    lines = describe_report(report, store.ids.shorten(list(ids)), undo=_UNDO)
    emit_lines(Line([(_on_one_line(line), "")]) for line in lines)


def _on_one_line(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}{one_line(line, max_chars=_LINE_CHARS)}"
