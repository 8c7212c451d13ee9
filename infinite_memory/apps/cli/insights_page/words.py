"""Words for numbers and names of insights, as the page and the terminal show them."""

from __future__ import annotations

from collections.abc import Sequence

from infinite_memory.core.values.messages import format_count
from infinite_memory.features.projects.hard_spots import HardSpot
from infinite_memory.features.projects.insights import Insights
from infinite_memory.features.projects.solved_again import SolvedAgain
from infinite_memory.features.sessions.scope_names import PREFIX
from infinite_memory.features.sessions.shown import Receipt

_MOMENTS = {
    "start": "the start",
    "prompt": "a prompt",
    "failure": "a failed command",
    "file": "a file",
}


def repository_name(scope: str) -> str:
    """Return the name of a repository without the beginning that all have."""
    return scope[len(PREFIX) :] if scope.casefold().startswith(PREFIX) else scope


def plain_name(name: str) -> str:
    """Return the name of a kind or an outcome in words: "in progress"."""
    return name.replace("_", " ")


def format_minutes(minutes: float) -> str:
    """Return a time in hours and minutes: "3 h 20 min"."""
    hours, rest = divmod(round(minutes), 60)
    if not hours:
        return f"{rest} min"
    return f"{hours:,} h {rest} min" if rest else f"{hours:,} h"


def format_pieces(number: int) -> str:
    """Return a number of chunks as people call them: "2 pieces of work"."""
    return format_count(number, "piece of work", "pieces of work")


def format_share(share: float) -> str:
    """Return a share in percent: "75%"."""
    return f"{share:.0%}"


def shorten_path(name: str, max_chars: int) -> str:
    """Return the end of a long name of a file, which says more than its beginning."""
    return name if len(name) <= max_chars else f"…{name[1 - max_chars :]}"


def describe_spot(spot: HardSpot) -> str:
    """Say why a file or a component was hard."""
    return f"{spot.failed:,} failed, {spot.complex:,} complex, {format_minutes(spot.minutes)}"


def describe_recalls(insights: Insights) -> str:
    """Say how much of the work was recalled later."""
    recalls = insights.recalls
    if not recalls.chunks:
        return "No earlier work was recalled in a later session so far."
    said = (
        f"{format_pieces(recalls.chunks)} from {recalls.sessions:,} of"
        f" {format_count(insights.sessions, 'session')} came up again after the session had ended"
    )
    if not recalls.in_sessions:
        return f"{said}."
    return f"{said}, in at least {format_count(recalls.in_sessions, 'later session')}."


def describe_shown(shown: Receipt) -> str:
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


def describe_solved_again(solved: Sequence[SolvedAgain]) -> str:
    """Say how many known problems were solved faster than the first time."""
    if not solved:
        return "No known problem with a time was solved again so far."
    faster = sum(each.is_faster for each in solved)
    first = sum(each.first_minutes for each in solved) / len(solved)
    later = sum(each.later_median for each in solved) / len(solved)
    return (
        f"{format_count(len(solved), 'problem')} solved again, {faster:,} of them faster: on"
        f" average {format_minutes(first)} the first time, {format_minutes(later)} later."
    )
