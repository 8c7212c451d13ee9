"""`infinite-memory triggers`: the conditions under which long-term memories come up."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from infinite_memory.apps.cli.completions import complete_triggers
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table, remark
from infinite_memory.apps.cli.render import short_id, show_time
from infinite_memory.core.values.checks import check_labels
from infinite_memory.core.values.conversation.trigger import Trigger
from infinite_memory.core.values.receipt import Outcome, Receipt
from infinite_memory.features.reminders.long_term.values import LongTermMemory
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

_NAME_CHARS, _CONDITION_CHARS, _STATE_CHARS = 40, 60, 160

_conversation_option = click.option(
    "--conversation", metavar="ID", help="Only those of this conversation."
)
_scope_option = click.option(
    "--scope", metavar="NAMES", help="Only those that this scope sees; by default every open scope."
)


@click.group("triggers", invoke_without_command=True)
@common_options
@click.pass_context
def triggers_command(context: click.Context) -> None:
    """List long-term memories, and say which conditions may let one come up."""
    if context.invoked_subcommand is None:
        _list(context, None, None)


@triggers_command.command("list")
@_conversation_option
@_scope_option
@common_options
@click.pass_context
def list_triggers(context: click.Context, *, conversation: str | None, scope: str | None) -> None:
    """List the long-term memories with their conditions, the oldest first."""
    _list(context, conversation, scope)


@triggers_command.command("enable")
@click.argument("names", nargs=-1, required=True, shell_complete=complete_triggers)
@_conversation_option
@_scope_option
@common_options
@click.pass_context
def enable_triggers(
    context: click.Context, names: Sequence[str], *, conversation: str | None, scope: str | None
) -> None:
    """Enable the triggers of NAMES, names or ids, with the conditions they have now.

    A trigger that came with an import, a merge, or a change of the context of a memory does nothing
    before. Look at its condition first: it decides what an assistant gets to read unasked.
    """
    names = check_labels(names, "names")
    with open_store(context) as store:
        receipts = store.triggers.enable(names, conversation_id=conversation, scope=scope)
    _emit_receipts(context, names, receipts, "is enabled", "was enabled already")


@triggers_command.command("disable")
@click.argument("names", nargs=-1, required=True, shell_complete=complete_triggers)
@_conversation_option
@_scope_option
@common_options
@click.pass_context
def disable_triggers(
    context: click.Context, names: Sequence[str], *, conversation: str | None, scope: str | None
) -> None:
    """Disable the triggers of NAMES, names or ids: their memories come up no more."""
    names = check_labels(names, "names")
    with open_store(context) as store:
        receipts = store.triggers.disable(names, conversation_id=conversation, scope=scope)
    _emit_receipts(context, names, receipts, "is disabled", "was disabled already")


def _list(context: click.Context, conversation: str | None, scope: str | None) -> None:
    with open_store(context) as store:
        memories = store.triggers.list(conversation, scope=scope)
        rows = [_make_row(memory, store) for memory in memories]
    if wants_json(context):
        emit_json({"memories": [memory.to_dict() for memory in memories]})
        return
    if not memories:
        remark("There are no long-term memories with a trigger.")
        return
    emit_table(
        ("Name", "Conversation", "Language", "Condition", "State", "Came up", "Id"),
        rows,
    )


def _make_row(memory: LongTermMemory, store: MemoryStore) -> Sequence[str]:
    last, came_up = memory.last_fired_at, f"{memory.firings:,}"
    if last is not None:
        came_up = f"{came_up}, last {show_time(last, store.config.time_zone)}"
    return (
        one_line(memory.name, max_chars=_NAME_CHARS),
        one_line(memory.conversation_id, max_chars=_NAME_CHARS),
        memory.trigger.language.value,
        one_line(_show_condition(memory.trigger), max_chars=_CONDITION_CHARS),
        one_line(_describe_state(memory), max_chars=_STATE_CHARS),
        came_up,
        short_id(store, memory.id),
    )


def _show_condition(trigger: Trigger) -> str:
    condition = trigger.condition
    if isinstance(condition, str):
        return condition
    return json.dumps(condition, ensure_ascii=False)


def _describe_state(memory: LongTermMemory) -> str:
    if memory.disabled_because is not None:
        return f"disabled: {memory.disabled_because}"
    return "enabled" if memory.error is None else f"fails: {memory.error}"


def _emit_receipts(
    context: click.Context,
    names: Sequence[str],
    receipts: Sequence[Receipt],
    done: str,
    unchanged: str,
) -> None:
    if wants_json(context):
        emit_json({"receipts": [receipt.to_dict() for receipt in receipts]})
        return
    emit_lines(
        Line(
            [
                (one_line(name, max_chars=_NAME_CHARS), "bold"),
                (f" {unchanged if receipt.outcome is Outcome.UNCHANGED else done}.", ""),
            ]
        )
        for name, receipt in zip(names, receipts, strict=True)
    )
