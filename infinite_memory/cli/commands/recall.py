"""`infinite-memory recall`: what happened in a stretch of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import click

from infinite_memory.cli.elsewhere import elsewhere, opened_scopes
from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.fields import conditions_but_when, filter_values
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import emit_json, remark
from infinite_memory.cli.render import count
from infinite_memory.cli.rows import emit_rows
from infinite_memory.model.codec import iso, landmark_json, reading_json, to_json
from infinite_memory.model.recall_page import Digest, Landmark, Recalled
from infinite_memory.model.timestamps import show_moment

__all__ = ["command"]

_MOST_STEPS = 31


@click.command("recall")
@click.argument("when", nargs=-1, metavar="[TIME]...")
@conditions_but_when
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="At most so many.")
@click.option("--after", metavar="CURSOR", help="Go on from the page that named this cursor.")
@click.option("--newest-first", is_flag=True, help="Begin with the end of the time.")
@common_options
@click.pass_context
def command(
    context: click.Context, /, when: tuple[str, ...], *, newest_first: bool, **given: Any
) -> int:
    """Show what happened in a TIME in words, such as "last week", oldest first.

    Where the time holds more than the page, its first and last memory follow, and how many there
    are by day, scope and kind. Exits with 0 if there is a memory, and with 1 if there is none.
    """
    as_json = wants_json(context)
    words = " ".join(when) if when else None
    with opened(context) as store:
        zone = store.config.time_zone
        recalled = store.recall_by_time(
            **filter_values({**given, "when": words}, zone),
            limit=given["limit"],
            after=given["after"],
            newest_first=newest_first,
        )
        hint = None if as_json else elsewhere(store, opened_scopes(store, given["scopes"]))
    if as_json:
        emit_json(_document(recalled))
        return ExitCode.DONE if recalled else ExitCode.NO
    if recalled:
        emit_rows(recalled, zone)
    for sentence in _sentences(recalled, zone):
        remark(sentence)
    if hint is not None:
        remark(hint)
    return ExitCode.DONE if recalled else ExitCode.NO


def _sentences(recalled: Recalled, zone: str | None) -> Iterator[str]:
    yield f"{recalled.said}."
    if not recalled.total:
        yield "Nothing of that time is stored there."
        for side, landmark in (("before", recalled.before), ("after", recalled.after)):
            if landmark is not None:
                yield f"The nearest {side}: {_shown(landmark, zone)}"
        return
    if not recalled:
        yield f"There is nothing after the {count(recalled.total, 'memory', 'memories')}."
        return
    shown = count(recalled.total, "memory", "memories")
    if len(recalled) < recalled.total:
        shown = f"{len(recalled):,} of {shown}"
    yield f"{shown}, {recalled.order}."
    if recalled.digest is not None:
        yield from _digest_lines(recalled.digest, zone)
    if recalled.next is not None:
        yield f"There are more: go on with --after {recalled.next}"


def _digest_lines(digest: Digest, zone: str | None) -> Iterator[str]:
    for name, landmark in (("First", digest.first), ("Last", digest.last)):
        if landmark is not None:
            yield f"{name}: {_shown(landmark, zone)}"
    step, counts = digest.by_time(_MOST_STEPS)
    for name, numbers in ((step, counts), ("scope", digest.by_scope), ("kind", digest.by_kind)):
        yield f"By {name}: {_counts(numbers)}."


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items())


def _shown(landmark: Landmark, zone: str | None) -> str:
    return f"{show_moment(landmark.happened_at, zone)}  {landmark.heading}  {landmark.id}"


def _document(recalled: Recalled) -> dict[str, Any]:
    digest = recalled.digest
    return {
        "memories": [to_json(memory) for memory in recalled],
        "order": recalled.order,
        "total": recalled.total,
        "window": _window(recalled.window.start, recalled.window.end),
        "when": None if recalled.when is None else reading_json(recalled.when),
        "digest": None if digest is None else _digest_json(digest),
        "before": landmark_json(recalled.before),
        "after": landmark_json(recalled.after),
        "next": recalled.next,
    }


def _window(start: datetime | None, end: datetime | None) -> dict[str, str | None]:
    return {"since": iso(start), "until": iso(end)}


def _digest_json(digest: Digest) -> dict[str, Any]:
    return {
        "first": landmark_json(digest.first),
        "last": landmark_json(digest.last),
        "by_day": {day.isoformat(): number for day, number in digest.by_day.items()},
        "by_scope": dict(digest.by_scope),
        "by_kind": dict(digest.by_kind),
    }
