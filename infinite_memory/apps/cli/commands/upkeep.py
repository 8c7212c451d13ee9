"""`infinite-memory optimize` and `worker`: run the jobs of the upkeep that are due."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, refuse_scopes, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_json_line, emit_lines, remark
from infinite_memory.apps.cli.stopping import stopped_by_signals
from infinite_memory.apps.cli.waiting import end_waiting
from infinite_memory.features.background.upkeep.describe import describe_report, shown_steps
from infinite_memory.features.background.upkeep.report import JobReport, UpkeepReport
from infinite_memory.features.background.worker.jobs import JOBS
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

UNDO = "infinite-memory undo {}"
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


@click.command("worker")
@click.option("--once", is_flag=True, help="Do what is due now, and end.")
@common_options
@click.pass_context
def worker_command(context: click.Context, /, *, once: bool) -> int:
    """Do the upkeep here until a signal, in place of the servers.

    Of all processes that have the store open one does the upkeep; this one waits for its turn, but
    with --once it says who does it, and ends. Heavy jobs wait for the quiet hour. Prints what each
    job did, with --json a line of JSON each. SIGTERM and SIGINT end it within a second, with 0.
    Exits with 1 if --once gave a job up.
    """
    refuse_scopes(context, "worker")
    with stopped_by_signals() as stop, open_store(context) as store:
        end_waiting()
        emit = _emit_each(context, store)
        if once:
            report = store.upkeep.work_once(stop, on_report=emit)
            failed = [job for job in report.jobs if job.failure] if report else []
            if report is None:
                remark(f"{store.health().worker or 'Another process'} does the upkeep.")
            elif not any(job.steps or job.done or job.failure for job in report.jobs):
                remark("There is nothing to do now.")
            return ExitCode.NO if failed else ExitCode.DONE
        holder = store.health().worker
        waits = "" if holder is None else f" once {holder} has ended"
        remark(f"This process does the upkeep{waits}. Ctrl-C ends it.")
        store.upkeep.work(stop, on_report=emit)
    return ExitCode.DONE


def _emit_each(context: click.Context, store: MemoryStore) -> Callable[[JobReport], None]:
    def emit(report: JobReport) -> None:
        if wants_json(context):
            emit_json_line(report.to_dict())
        else:
            emit_report(store, UpkeepReport(dry_run=False, jobs=(report,)))

    return emit


def emit_report(store: MemoryStore, report: UpkeepReport) -> None:
    """Print the report of the jobs."""
    ids = dict.fromkeys(step.memory_id for step in shown_steps(report))
    lines = describe_report(report, store.ids.shorten(list(ids)), undo=UNDO)
    emit_lines(Line([(put_on_one_line(line), "")]) for line in lines)


def put_on_one_line(line: str) -> str:
    """Return a line of a report without control characters, cut, with its indent."""
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}{one_line(line, max_chars=_LINE_CHARS)}"
