"""`infinite-memory due` and `done`: the reminders that are due, and those that are closed."""

from __future__ import annotations

from datetime import timedelta

import click

from infinite_memory.apps.cli.completions import MEMORY_ID, complete_scopes
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.apps.cli.render import (
    join_pieces,
    receipt_sentence,
    scope_parts,
    short_id,
    show_time,
)
from infinite_memory.core.values.messages import format_count
from infinite_memory.features.reminders.long_term.values import DueReminder, describe_unchecked
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

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

    Dated reminders, overdue or of the days ahead, and long-term memories whose condition holds by
    its time alone. What seems done is left out.
    """
    with open_store(context) as store:
        reminders = store.triggers.due(
            within=timedelta(days=days), conversation_id=conversation, scope=scope
        )
        if wants_json(context):
            emit_json(
                {
                    "reminders": [reminder.to_dict() for reminder in reminders],
                    "conditions": reminders.conditions,
                    "unchecked": list(reminders.unchecked),
                }
            )
        else:
            emit_lines(_make_line(reminder, store) for reminder in reminders)
    if not reminders and not wants_json(context):
        remark(f"Nothing is due within {format_count(days, 'day')}.")
    if reminders.unchecked:
        remark(describe_unchecked(len(reminders.unchecked), reminders.conditions))


@click.command("done")
@click.argument("memory_ids", metavar="[ID]...", nargs=-1, type=MEMORY_ID)
@click.option("--drop", "state", flag_value="dropped", help="It is not to be done any more.")
@click.option("--reopen", "state", flag_value="open", help="It is not done after all.")
@click.option("--probable", is_flag=True, help="Each that `today` asks about, in place of IDs.")
@common_options
@click.pass_context
def done_command(
    context: click.Context, /, memory_ids: tuple[str, ...], *, state: str | None, probable: bool
) -> None:
    """Store that reminders are done, so that they are due no more.

    A reminder that recurs by its text moves on to its next day. `undo` takes a change back.
    """
    if bool(memory_ids) == probable:
        raise click.UsageError("give the IDs of reminders, or --probable")
    with open_store(context) as store:
        ids = [None] if probable else [store.ids.resolve(each) for each in memory_ids]
        receipts = [
            receipt for each in ids for receipt in store.triggers.done(each, state=state or "done")
        ]
        if wants_json(context):
            emit_json([receipt.to_dict() for receipt in receipts])
        elif receipts:
            emit_lines(Line([(receipt_sentence(receipt, store), "")]) for receipt in receipts)
        else:
            remark("No reminder seems done.")


def _make_line(reminder: DueReminder, store: MemoryStore) -> Line:
    name = "" if reminder.name is None else f"{one_line(reminder.name, max_chars=80)}: "
    time = show_time(reminder.due_at, store.config.time_zone)
    text = one_line(reminder.text, max_chars=_TEXT_CHARS)
    source = [*scope_parts(reminder.scope), (short_id(store, reminder.id), "dim")]
    return Line([(f"{time}  ", "cyan"), (name, "bold"), (text, "")], 0, join_pieces(source))
