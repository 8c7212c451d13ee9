"""`infinite-memory due`: the reminders whose moment has come, or comes soon."""

from __future__ import annotations

from datetime import timedelta

import click

from infinite_memory.apps.cli.completions import complete_scopes
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.timestamps import show_moment
from infinite_memory.features.reminders.long_term.values import DueReminder, describe_unchecked
from infinite_memory.search.text.lines import one_line

_TEXT_CHARS = 240


@click.command("due")
@click.option(
    "--days",
    type=click.IntRange(0, 366),
    metavar="N",
    default=7,
    show_default=True,
    help="Look so many days ahead.",
)
@click.option("--conversation", metavar="ID", help="Only those of this conversation.")
@click.option(
    "--scope",
    metavar="NAMES",
    shell_complete=complete_scopes,
    help="Only those that this scope sees; by default every open scope.",
)
@common_options
@click.pass_context
def due_command(
    context: click.Context, *, days: int, conversation: str | None, scope: str | None
) -> None:
    """List the reminders that are due, the earliest first.

    Dated reminders of the last week and of the days ahead, and long-term memories whose condition
    holds by its time alone.
    """
    with open_store(context) as store:
        reminders = store.triggers.due(
            within=timedelta(days=days), conversation_id=conversation, scope=scope
        )
        zone = store.config.time_zone
    if wants_json(context):
        emit_json(
            {
                "reminders": [reminder.to_dict() for reminder in reminders],
                "conditions": reminders.conditions,
                "unchecked": list(reminders.unchecked),
            }
        )
    elif reminders:
        emit_lines(_make_line(reminder, zone) for reminder in reminders)
    else:
        remark(f"Nothing is due within {format_count(days, 'day')}.")
    if reminders.unchecked:
        remark(describe_unchecked(len(reminders.unchecked), reminders.conditions))


def _make_line(reminder: DueReminder, zone: str | None) -> Line:
    name = "" if reminder.name is None else f"{one_line(reminder.name, max_chars=80)}: "
    return Line(
        [
            (show_moment(reminder.due_at, zone), "cyan"),
            (f"  {reminder.scope}  ", "magenta"),
            (name, "bold"),
            (one_line(reminder.text, max_chars=_TEXT_CHARS), ""),
            (f"  {reminder.id}", "dim"),
        ]
    )
