"""`infinite-memory insights`: how the work on repositories went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

from infinite_memory.apps.cli.completions import complete_files
from infinite_memory.apps.cli.insights_page.page import make_page
from infinite_memory.apps.cli.insights_page.words import (
    describe_recalls,
    describe_shown,
    describe_solved_again,
    describe_spot,
    format_minutes,
    format_pieces,
    format_share,
    plain_name,
    repository_name,
    shorten_path,
)
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.core.clock import system_clock
from infinite_memory.core.paths import absolute_path
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.archive.exchange.output_file import writing_file
from infinite_memory.features.projects.hard_spots import HardSpot
from infinite_memory.features.projects.insights import Insights
from infinite_memory.search.text.lines import one_line

_MOST_SHOWN = 5
_NAME_CHARS, _SUMMARY_CHARS = 60, 90
_MOST_BARS = 60
_BARS = "▁▂▃▄▅▆▇█"


@click.command("insights")
@click.option(
    "--repository",
    "-r",
    metavar="NAME",
    help="Of this one: HOST/OWNER/NAME, its last part, its address or its folder. By default all"
    " that are not private.",
)
@click.option("--timeframe", metavar="WORDS", help='Only in that time: "last month".')
@click.option("--since", metavar="WORDS", help='Only since that time: "March", "2026-06-05".')
@click.option(
    "--html",
    "page",
    metavar="FILE",
    shell_complete=complete_files,
    help="Write a page with charts into FILE, which a browser shows without a network.",
)
@click.option("--force", is_flag=True, help="Replace FILE.")
@common_options
@click.pass_context
def insights_command(
    context: click.Context,
    /,
    *,
    repository: str | None,
    timeframe: str | None,
    since: str | None,
    page: str | None,
    force: bool,
) -> None:
    """Show how the work on repositories went, from what assistants noted of it.

    Activity, outcomes, time spent, files and components that were hard, problems that came again
    with their fixes, how often earlier work was recalled, what sessions were shown unasked and how
    much of it they used, and how fast known problems were solved again.
    """
    if timeframe is not None and since is not None:
        raise click.UsageError("give --timeframe or --since, not both", context)
    with open_store(context) as store:
        zone = store.config.time_zone
        words = timeframe if since is None else f"since {since}"
        insights = store.projects.insights(repository, timeframe=words)
    path = None if page is None else absolute_path(page)
    if path is not None:
        content = make_page(insights, made_at=system_clock(), zone=zone).encode()
        with writing_file(path, force=force) as file:
            file.write(content)
    if wants_json(context):
        emit_json({**insights.to_dict(), "page": None if path is None else str(path)})
    elif path is None:
        emit_lines(_format_overview(insights, zone))
    else:
        emit_lines([Line([(f"Wrote {path}, about {format_pieces(insights.chunks)}.", "")])])
    if path is not None:
        remark(f"{path} names files and problems in the clear: keep it as you keep the store.")


def _format_overview(insights: Insights, zone: str | None) -> Iterator[Line]:
    if insights.first is None or insights.last is None:
        yield Line([("Nothing is stored of work on repositories in that time.", "")])
        yield from _format_shown(insights)
        return
    days = [in_zone(moment, zone).date() for moment in (insights.first, insights.last)]
    name = "All repositories" if insights.scope is None else repository_name(insights.scope)
    sessions = format_count(insights.sessions, "session")
    more = "; earlier work is left out" if insights.more else ""
    yield Line([(name, "bold"), (f"  {days[0]} to {days[1]}{more}", "dim")])
    yield Line([(f"{format_pieces(insights.chunks)} in {sessions}.", "")])
    yield _format_fact("Activity", f"{_draw_sparkline(insights)} by {insights.step}")
    yield _format_fact("Kinds", _format_counts(insights.kinds))
    share = "" if insights.success is None else f" ({format_share(insights.success)} of ends)"
    yield _format_fact("Outcomes", f"{_format_counts(insights.outcomes)}{share}")
    yield _format_fact("Time", _describe_time(insights))
    yield from _format_spots("Hard files", insights.files)
    yield from _format_spots("Hard components", insights.components)
    yield from _format_problems(insights)
    yield Line([(describe_recalls(insights), "")])
    yield from _format_shown(insights)
    yield from _format_solved_again(insights)


def _format_shown(insights: Insights) -> Iterator[Line]:
    if insights.shown.sessions:
        yield Line([(describe_shown(insights.shown), "")])


def _format_fact(name: str, value: str) -> Line:
    return Line([(f"{name}: ", "dim"), (value, "")])


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {plain_name(name)}" for name, number in counts.items())


def _draw_sparkline(insights: Insights) -> str:
    """Return a bar for every period, the newest last."""
    totals = [sum(period.kinds.values()) for period in insights.periods[-_MOST_BARS:]]
    most = max(totals)
    # What is there at all shows, above an empty period.
    heights = [-(-total * (len(_BARS) - 1) // most) for total in totals]
    return "".join(_BARS[height] for height in heights)


def _describe_time(insights: Insights) -> str:
    if not insights.minutes:
        return "not known"
    named = list(insights.minutes.items())
    shown = ", ".join(
        f"{repository_name(scope)} {format_minutes(minutes)}"
        for scope, minutes in named[:_MOST_SHOWN]
    )
    rest = len(named) - _MOST_SHOWN
    more = f" and {rest:,} more" if rest > 0 else ""
    known = f"known for {insights.timed:,} of {insights.chunks:,}"
    return f"{format_minutes(sum(insights.minutes.values()))} ({known}): {shown}{more}"


def _format_spots(title: str, spots: Sequence[HardSpot]) -> Iterator[Line]:
    if not spots:
        return
    yield Line([(f"{title}:", "bold")])
    for spot in spots[:_MOST_SHOWN]:
        name = shorten_path(one_line(spot.name, max_chars=4 * _NAME_CHARS), _NAME_CHARS)
        yield Line([(name, ""), (f"  {describe_spot(spot)}", "dim")], 2)


def _format_problems(insights: Insights) -> Iterator[Line]:
    if not insights.problems:
        return
    yield Line([("Problems that came again:", "bold")])
    for problem in insights.problems[:_MOST_SHOWN]:
        name = one_line(problem.name, max_chars=_SUMMARY_CHARS)
        yield Line([(f"{problem.count:,} times, {problem.trend}: ", "dim"), (name, "")], 2)
        if problem.fix is not None:
            fix = one_line(problem.fix.summary, max_chars=_SUMMARY_CHARS)
            yield Line([(f"last fix: {fix}", "")], 4)


def _format_solved_again(insights: Insights) -> Iterator[Line]:
    yield Line([(describe_solved_again(insights.solved_again), "")])
    for solved in insights.solved_again[:_MOST_SHOWN]:
        later = ", ".join(map(format_minutes, solved.later_minutes[:_MOST_SHOWN]))
        times = f"{format_minutes(solved.first_minutes)}, later {later}"
        summary = one_line(solved.summary, max_chars=_SUMMARY_CHARS)
        yield Line([(summary, ""), (f"  {times}", "dim")], 2)
