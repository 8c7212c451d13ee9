"""`infinite-memory dream`: run a cycle of the dreamer, and read its diary."""

from __future__ import annotations

import click

from infinite_memory.apps.cli.commands.upkeep import UNDO, emit_report, put_on_one_line
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.apps.cli.render import show_time
from infinite_memory.features.background.dreamer.describe import cycle_ids, describe_cycle
from infinite_memory.features.background.upkeep.report import UpkeepReport

_MOST_CYCLES = 1000


@click.group("dream", invoke_without_command=True)
@click.option(
    "--cycles",
    type=click.IntRange(1, _MOST_CYCLES),
    default=1,
    show_default=True,
    help="How many cycles to run, one after the other.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="The seed of the first cycle; the next ones have the numbers after it. An equal store with"
    " an equal seed gives the same.",
)
@click.option("--scope", metavar="NAME", help="Work on this scope.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@common_options
@click.pass_context
def dream_command(
    context: click.Context,
    /,
    *,
    cycles: int,
    seed: int | None,
    scope: str | None,
    dry_run: bool,
) -> int | None:
    """Link memories that belong together, and write summaries of topics, now.

    Servers do so in the background. Nothing that you stored is changed, and each cycle is taken
    back by one `infinite-memory undo`. Exits with 1 if a cycle was given up.
    """
    if context.invoked_subcommand is not None:
        return None
    with open_store(context) as store:
        reports = []
        for number in range(cycles):
            report = store.dream(
                None if seed is None else seed + number, scope=scope, dry_run=dry_run
            )
            reports.append(report)
            if not wants_json(context):
                emit_report(store, UpkeepReport(dry_run=dry_run, jobs=(report,)))
            if report.failure is not None:
                break
        if wants_json(context):
            emit_json({"dry_run": dry_run, "cycles": [report.to_dict() for report in reports]})
    return ExitCode.NO if any(report.failure is not None for report in reports) else ExitCode.DONE


@dream_command.command("diary")
@click.option(
    "--limit",
    type=click.IntRange(1, _MOST_CYCLES),
    default=5,
    show_default=True,
    help="How many cycles to show.",
)
@click.option(
    "--before", type=click.IntRange(1), metavar="ENTRY", help="Only cycles before this entry."
)
@common_options
@click.pass_context
def diary_command(context: click.Context, /, *, limit: int, before: int | None) -> int:
    """Say what the latest cycles looked at, linked and wrote, and why, newest first.

    Cycles that changed nothing are left out.
    """
    with open_store(context) as store:
        cycles = store.dreams.diary(limit=limit, before=before)
        if wants_json(context):
            emit_json({"cycles": [cycle.to_dict() for cycle in cycles]})
            return ExitCode.DONE
        if not cycles:
            remark("No cycle has changed anything yet. To run one: infinite-memory dream")
        short_ids = store.ids.shorten([name for cycle in cycles for name in cycle_ids(cycle)])
        for cycle in cycles:
            moment = show_time(cycle.at, store.config.time_zone)
            lines = describe_cycle(cycle, short_ids, moment=moment, undo=UNDO)
            emit_lines(Line([(put_on_one_line(line), "")]) for line in lines)
    return ExitCode.DONE
