"""`infinite-memory insights`: how the work on repositories went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.projects.hard_spots import HardSpot
from infinite_memory.features.projects.insights import Insights
from infinite_memory.features.projects.solved_again import SolvedAgain
from infinite_memory.features.sessions.scope_names import PREFIX
from infinite_memory.features.sessions.shown import Receipt
from infinite_memory.search.text.lines import one_line

_MOST_SHOWN = 5
_NAME_CHARS, _SUMMARY_CHARS = 60, 90
_MOST_BARS = 60
_BARS = "▁▂▃▄▅▆▇█"
_MOMENTS = {
    "start": "the start",
    "prompt": "a prompt",
    "failure": "a failed command",
    "file": "a file",
}


def _refuse_page(context: click.Context, _: click.Parameter, value: str | None) -> None:
    """Refuse the page of charts that the command once wrote."""
    if value is not None:
        raise click.UsageError(
            f"no page is written into {value!r:.100}: `infinite-memory web` shows the insights in a"
            " browser; leave out --html to see the numbers here",
            context,
        )


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
    metavar="FILE",
    hidden=True,
    expose_value=False,
    callback=_refuse_page,
    help="The page of `infinite-memory web` shows the insights.",
)
@common_options
@click.pass_context
def insights_command(
    context: click.Context,
    /,
    *,
    repository: str | None,
    timeframe: str | None,
    since: str | None,
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
    if wants_json(context):
        emit_json(insights.to_dict())
    else:
        emit_lines(_format_overview(insights, zone))


def _format_overview(insights: Insights, zone: str | None) -> Iterator[Line]:
    if insights.first is None or insights.last is None:
        yield Line([("Nothing is stored of work on repositories in that time.", "")])
        yield from _format_shown(insights)
        return
    days = [in_zone(moment, zone).date() for moment in (insights.first, insights.last)]
    name = "All repositories" if insights.scope is None else _repository_name(insights.scope)
    sessions = format_count(insights.sessions, "session")
    more = "; earlier work is left out" if insights.more else ""
    yield Line([(name, "bold"), (f"  {days[0]} to {days[1]}{more}", "dim")])
    yield Line([(f"{_format_pieces(insights.chunks)} in {sessions}.", "")])
    yield _format_fact("Activity", f"{_draw_sparkline(insights)} by {insights.step}")
    yield _format_fact("Kinds", _format_counts(insights.kinds))
    share = "" if insights.success is None else f" ({_format_share(insights.success)} of ends)"
    yield _format_fact("Outcomes", f"{_format_counts(insights.outcomes)}{share}")
    yield _format_fact("Time", _describe_time(insights))
    yield from _format_spots("Hard files", insights.files)
    yield from _format_spots("Hard components", insights.components)
    yield from _format_problems(insights)
    yield Line([(_describe_recalls(insights), "")])
    yield from _format_shown(insights)
    yield from _format_solved_again(insights)


def _format_shown(insights: Insights) -> Iterator[Line]:
    if insights.shown.sessions:
        yield Line([(_describe_shown(insights.shown), "")])


def _format_fact(name: str, value: str) -> Line:
    return Line([(f"{name}: ", "dim"), (value, "")])


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {_plain_name(name)}" for name, number in counts.items())


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
        f"{_repository_name(scope)} {_format_minutes(minutes)}"
        for scope, minutes in named[:_MOST_SHOWN]
    )
    rest = len(named) - _MOST_SHOWN
    more = f" and {rest:,} more" if rest > 0 else ""
    known = f"known for {insights.timed:,} of {insights.chunks:,}"
    return f"{_format_minutes(sum(insights.minutes.values()))} ({known}): {shown}{more}"


def _format_spots(title: str, spots: Sequence[HardSpot]) -> Iterator[Line]:
    if not spots:
        return
    yield Line([(f"{title}:", "bold")])
    for spot in spots[:_MOST_SHOWN]:
        name = _shorten_path(one_line(spot.name, max_chars=4 * _NAME_CHARS), _NAME_CHARS)
        yield Line([(name, ""), (f"  {_describe_spot(spot)}", "dim")], 2)


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
    yield Line([(_describe_solved_again(insights.solved_again), "")])
    for solved in insights.solved_again[:_MOST_SHOWN]:
        later = ", ".join(map(_format_minutes, solved.later_minutes[:_MOST_SHOWN]))
        times = f"{_format_minutes(solved.first_minutes)}, later {later}"
        summary = one_line(solved.summary, max_chars=_SUMMARY_CHARS)
        yield Line([(summary, ""), (f"  {times}", "dim")], 2)


def _repository_name(scope: str) -> str:
    """Return the name of a repository without the beginning that all have."""
    return scope[len(PREFIX) :] if scope.casefold().startswith(PREFIX) else scope


def _plain_name(name: str) -> str:
    """Return the name of a kind or an outcome in words: "in progress"."""
    return name.replace("_", " ")


def _format_minutes(minutes: float) -> str:
    """Return a time in hours and minutes: "3 h 20 min"."""
    hours, rest = divmod(round(minutes), 60)
    if not hours:
        return f"{rest} min"
    return f"{hours:,} h {rest} min" if rest else f"{hours:,} h"


def _format_pieces(number: int) -> str:
    """Return a number of chunks as people call them: "2 pieces of work"."""
    return format_count(number, "piece of work", "pieces of work")


def _format_share(share: float) -> str:
    """Return a share in percent: "75%"."""
    return f"{share:.0%}"


def _shorten_path(name: str, max_chars: int) -> str:
    """Return the end of a long name of a file, which says more than its beginning."""
    return name if len(name) <= max_chars else f"…{name[1 - max_chars :]}"


def _describe_spot(spot: HardSpot) -> str:
    """Say why a file or a component was hard."""
    return f"{spot.failed:,} failed, {spot.complex:,} complex, {_format_minutes(spot.minutes)}"


def _describe_recalls(insights: Insights) -> str:
    """Say how much of the work was recalled later."""
    recalls = insights.recalls
    if not recalls.chunks:
        return "No earlier work was recalled in a later session so far."
    said = (
        f"{_format_pieces(recalls.chunks)} from {recalls.sessions:,} of"
        f" {format_count(insights.sessions, 'session')} came up again after the session had ended"
    )
    if not recalls.in_sessions:
        return f"{said}."
    return f"{said}, in at least {format_count(recalls.in_sessions, 'later session')}."


def _describe_shown(shown: Receipt) -> str:
    """Say what sessions were shown unasked, and how much of it they used."""
    if not shown.sessions:
        return "No session was shown anything unasked."
    times = ", ".join(
        f"{count:,} at {_MOMENTS.get(name, name)}" for name, count in shown.times.items()
    )
    return (
        f"Shown without being asked: {format_count(shown.memories, 'memory', 'memories')} in"
        f" {format_count(shown.sessions, 'session')} ({times}), in {shown.tokens:,} tokens;"
        f" {shown.used:,} used."
    )


def _describe_solved_again(solved: Sequence[SolvedAgain]) -> str:
    """Say how many known problems were solved faster than the first time."""
    if not solved:
        return "No known problem with a time was solved again so far."
    faster = sum(each.is_faster for each in solved)
    first = sum(each.first_minutes for each in solved) / len(solved)
    later = sum(each.later_median for each in solved) / len(solved)
    return (
        f"{format_count(len(solved), 'problem')} solved again, {faster:,} of them faster: on"
        f" average {_format_minutes(first)} the first time, {_format_minutes(later)} later."
    )
