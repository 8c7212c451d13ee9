"""`infinite-memory today`: today, the days ahead, what is overdue, and what seems done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import click

from infinite_memory.apps.cli.completions import complete_scopes
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.apps.cli.render import join_pieces, scope_parts, short_id
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.reminders.coming import Coming, ComingDay
from infinite_memory.features.reminders.long_term.values import describe_unchecked
from infinite_memory.features.reminders.states import When
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

_TEXT_CHARS = 240
_TITLES = {
    When.OVERDUE: "Overdue",
    When.TODAY: "Today",
    When.AHEAD: "Ahead",
    When.DONE: "Done? Then: infinite-memory done ID",
}


@click.command("today")
@click.option(
    "--days",
    type=click.IntRange(0, 366),
    metavar="N",
    default=7,
    show_default=True,
    help="Look so many days ahead.",
)
@click.option(
    "--scope",
    metavar="NAMES",
    shell_complete=complete_scopes,
    help="Only what this scope sees; by default every open scope.",
)
@common_options
@click.pass_context
def today_command(context: click.Context, *, days: int, scope: str | None) -> None:
    """Print today, the days ahead and what is overdue, each thing once.

    Reminders, and the days that facts, decisions and notes name. A reminder that seems done by a
    later memory is asked about, and never printed as due.
    """
    with open_store(context) as store:
        coming = store.triggers.coming(within=timedelta(days=days), scope=scope)
        if wants_json(context):
            emit_json(coming.to_dict())
        else:
            emit_lines(_make_lines(coming, store))
    if not coming.days and not wants_json(context):
        remark(f"Nothing comes within {format_count(days, 'day')}, and nothing is overdue.")
    if coming.unchecked:
        remark(describe_unchecked(len(coming.unchecked), coming.conditions))


def _make_lines(coming: Coming, store: MemoryStore) -> Iterator[Line]:
    for when, title in _TITLES.items():
        days = coming.of(when)
        if days:
            yield Line([(title, "bold")])
        for day in days:
            yield _make_line(day, store)


def _make_line(day: ComingDay, store: MemoryStore) -> Line:
    local, memory = in_zone(day.at, store.config.time_zone), day.memory
    date = f"{local:%a} {local.date().isoformat()}" + (f" {local:%H:%M}" if day.is_timed else "")
    told = "" if day.told_by is None else f": {one_line(day.told_by.text, max_chars=_TEXT_CHARS)}"
    text = one_line(memory.text, max_chars=_TEXT_CHARS)
    source = [*scope_parts(memory.scope), (short_id(store, memory.id), "dim")]
    return Line([(f"{date:20}  ", "cyan"), (text, ""), (told, "dim")], 2, join_pieces(source))
