"""The commands that list memories in the order of time: `recall` and `list`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.fields import conditions_but_when, filter_options, filter_values
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import emit_json, emit_lines, emit_table, is_terminal, remark
from infinite_memory.apps.cli.render import (
    short_id,
    shorten_ids,
    show_day,
    show_time,
    show_times,
    source_line,
)
from infinite_memory.apps.cli.scope_hints import describe_other_scopes
from infinite_memory.core.clock import system_clock
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.criteria import Inherited
from infinite_memory.core.values.memory import Memory, Status, shown_text
from infinite_memory.core.values.messages import format_count
from infinite_memory.search.text.lines import one_line

if TYPE_CHECKING:
    from infinite_memory.core.values.recall_page import Digest, Landmark, Recalled
    from infinite_memory.store.memory_store import MemoryStore


_MOST_STEPS = 31


@click.command("recall")
@click.argument("when", nargs=-1, metavar="[TIME]...")
@conditions_but_when
@click.option(
    "--limit", "-n", type=int, default=20, show_default=True, help="Show at most this many."
)
@click.option("--after", metavar="CURSOR", help="Go on after the page that printed this cursor.")
@click.option("--newest-first", is_flag=True, help="Begin with the newest memory.")
@common_options
@click.pass_context
def recall_command(
    context: click.Context, /, when: tuple[str, ...], *, newest_first: bool, **options: Any
) -> int:
    """Show what happened in a TIME in words, such as "last week", oldest first.

    If the period holds more than a page, its first and last memory follow, and counts by day, scope
    and kind. Exits with 0 if there is a memory, and with 1 if there is none.
    """
    as_json = wants_json(context)
    words = " ".join(when) if when else None
    with open_store(context) as store:
        recalled = store.recall_by_time(
            **filter_values({**options, "when": words}, store),
            limit=options["limit"],
            after=options["after"],
            newest_first=newest_first,
        )
        if as_json:
            emit_json(recalled.to_dict())
            return ExitCode.DONE if recalled else ExitCode.NO
        hint = describe_other_scopes(store, store.scopes.searched(options["scopes"] or None))
        if recalled:
            emit_rows(recalled.memories, store)
        for sentence in _describe_recall(recalled, store):
            remark(sentence)
    if hint is not None:
        remark(hint)
    return ExitCode.DONE if recalled else ExitCode.NO


def _describe_recall(recalled: Recalled, store: MemoryStore) -> Iterator[str]:
    yield f"{show_times(recalled.said, store.config.time_zone)}."
    if not recalled.total:
        yield "No memory of that period is stored there."
        for side, landmark in (("before", recalled.before), ("after", recalled.after)):
            if landmark is not None:
                yield f"The nearest {side}: {_format_landmark(landmark, store)}"
        return
    if not recalled:
        yield f"No memory follows the {format_count(recalled.total, 'memory', 'memories')}."
        return
    shown = format_count(recalled.total, "memory", "memories")
    if len(recalled) < recalled.total:
        shown = f"{len(recalled):,} of {shown}"
    yield f"{shown}, {recalled.order}."
    if recalled.digest is not None:
        yield from _format_digest(recalled.digest, store)
    if recalled.next is not None:
        yield f"There are more memories: go on with --after {recalled.next}"


def _format_digest(digest: Digest, store: MemoryStore) -> Iterator[str]:
    for name, landmark in (("First", digest.first), ("Last", digest.last)):
        if landmark is not None:
            yield f"{name}: {_format_landmark(landmark, store)}"
    step, counts = digest.by_time(_MOST_STEPS)
    for name, numbers in ((step, counts), ("scope", digest.by_scope), ("kind", digest.by_kind)):
        yield f"By {name}: {_format_counts(numbers)}."


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items())


def _format_landmark(landmark: Landmark, store: MemoryStore) -> str:
    time = show_time(landmark.happened_at, store.config.time_zone)
    return f"{time}  {landmark.heading}  {short_id(store, landmark.id)}"


@click.command("list")
@filter_options
@click.option(
    "--limit", "-n", type=int, default=20, show_default=True, help="Show at most this many."
)
@click.option("--after", metavar="CURSOR", help="Go on after the page that printed this cursor.")
@common_options
@click.pass_context
def list_command(
    context: click.Context, /, *, limit: int, after: str | None, **options: Any
) -> None:
    """List memories, newest first; with --scope, inherited memories come last.

    Into a pipe every memory is a line: time, scope, kind, text and id, with tabs between.
    """
    with open_store(context) as store:
        zone, as_of = store.config.time_zone, options["as_of"]
        if as_of is not None:
            options["as_of"] = as_of = store.times.read(as_of, "as_of")
        conditions = filter_values(options, store)
        if options["scopes"]:
            conditions["inherited"] = Inherited.LAST
        page = store.browse(**conditions, limit=limit, after=after)
        if wants_json(context):
            emit_json({**page.to_dict(), "as_of": iso(as_of)})
            return
        hint = describe_other_scopes(store, store.scopes.searched(options["scopes"] or None))
        if page.memories:
            emit_rows(page.memories, store)
    if not page.memories:
        remark("There are no memories to list.")
    if page.when is not None:
        remark(f"{show_times(page.when.said, zone)}.")
    if as_of is not None:
        remark(f"As of {show_time(as_of, zone)}.")
    if page.next is not None:
        remark(f"There are more memories: go on with --after {page.next}")
    if hint is not None:
        remark(hint)


_PIPE_CHARS = 600


def emit_rows(memories: Sequence[Memory], store: MemoryStore) -> None:
    """Write a line for each memory; into a pipe its time, scope, kind, text and id."""
    if is_terminal(sys.stdout):
        emit_lines(source_line(memory, store) for memory in memories)
        return
    zone, shown = store.config.time_zone, shorten_ids(store, [memory.id for memory in memories])
    now = system_clock()
    emit_table(
        ("When", "Scope", "Kind", "Memory", "Id"),
        [
            (
                show_day(memory.happened_at, zone),
                memory.scope,
                _describe_kind(memory, now),
                one_line(shown_text(memory), max_chars=_PIPE_CHARS),
                shown[memory.id],
            )
            for memory in memories
        ],
    )


def _find_effective_status(memory: Memory, now: datetime) -> str:
    """Return the status of a memory; "ended" for a current memory that held until before now."""
    has_ended = memory.status is Status.CURRENT and memory.ended_by(now)
    return "ended" if has_ended else str(memory.status)


def _describe_kind(memory: Memory, now: datetime) -> str:
    """Return the kind of a memory, with its status unless the memory is current."""
    status = _find_effective_status(memory, now)
    return str(memory.kind) if status == Status.CURRENT else f"{memory.kind}, {status}"
