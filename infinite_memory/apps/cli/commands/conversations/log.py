"""`infinite-memory conversations`: list conversations, read them back, and forget them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click

from infinite_memory.apps.cli.completions import complete_conversations, complete_scopes
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import (
    Line,
    emit_json,
    emit_lines,
    emit_table,
    is_terminal,
    remark,
)
from infinite_memory.apps.cli.render import short_id, show_time
from infinite_memory.apps.cli.waiting import waiting
from infinite_memory.core.values.messages import format_count
from infinite_memory.features.chats.log.values import Conversation, ConversationMessages
from infinite_memory.features.chats.short_term.patterns import ConversationStats
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

_ID_CHARS, _HEADING_CHARS = 80, 80

_scope_option = click.option(
    "--scope",
    metavar="NAME",
    shell_complete=complete_scopes,
    help="In this scope; without it every open one is listed, and the default one meant.",
)


@click.group("conversations", invoke_without_command=True)
@common_options
@click.pass_context
def conversations_command(context: click.Context) -> None:
    """List conversations, read their messages, and forget them."""
    if context.invoked_subcommand is None:
        _list(context, None, 100)


@conversations_command.command("list")
@_scope_option
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, 1000),
    metavar="N",
    default=100,
    show_default=True,
    help="Show at most this many.",
)
@common_options
@click.pass_context
def list_conversations(context: click.Context, *, scope: str | None, limit: int) -> None:
    """List the conversations among the newest 10,000 memories, the latest first."""
    _list(context, scope, limit)


@conversations_command.command("show")
@click.argument("conversation_id", metavar="ID", shell_complete=complete_conversations)
@click.option(
    "--start",
    type=click.IntRange(min=1),
    metavar="N",
    help="Begin with this message, counted from 1; the last ones if left out.",
)
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, 1000),
    metavar="N",
    default=100,
    show_default=True,
    help="Show at most this many.",
)
@_scope_option
@common_options
@click.pass_context
def show_conversation(
    context: click.Context,
    *,
    conversation_id: str,
    start: int | None,
    limit: int,
    scope: str | None,
) -> None:
    """Show the messages of the conversation ID, in the order in which they were said."""
    with open_store(context) as store:
        read = store.conversations.read(
            conversation_id, scope=scope, limit=limit, start=None if start is None else start - 1
        )
        if wants_json(context):
            emit_json(read.to_dict())
            return
        emit_lines(_make_lines(read, store))
    remark(_say_where(read))


@conversations_command.command("delete")
@click.argument("conversation_id", metavar="ID", shell_complete=complete_conversations)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@_scope_option
@common_options
@click.pass_context
def delete_conversation(
    context: click.Context, *, conversation_id: str, yes: bool, scope: str | None
) -> int:
    """Forget everything of the conversation ID: its messages, and its memories of both terms.

    It asks first, and needs --yes without a terminal. "infinite-memory undo" brings it all back.
    """
    if not yes and not is_terminal(sys.stdin):
        raise click.UsageError("give --yes to forget without being asked, or run it on a terminal")
    with open_store(context) as store:
        stats = store.conversations.stats(conversation_id, scope=scope)
        if not yes and not _is_agreed(stats):
            remark("Nothing was forgotten.", style="")
            return ExitCode.NO
        with waiting():
            receipt = store.conversations.delete(conversation_id, scope=scope)
    if wants_json(context):
        emit_json(receipt.to_dict())
        return ExitCode.DONE
    number = format_count(len(receipt.ids), "memory", "memories")
    told = (
        f"Forgot {number} of {_name_conversation(conversation_id)}; `infinite-memory undo` brings"
    )
    emit_lines([Line([(f"{told} {'it' if len(receipt.ids) == 1 else 'them'} back.", "")])])
    return ExitCode.DONE


def _list(context: click.Context, scope: str | None, limit: int) -> None:
    with open_store(context) as store:
        conversations = store.conversations.list(scope=scope, limit=limit)
        zone = store.config.time_zone
    if wants_json(context):
        emit_json({"conversations": [conversation.to_dict() for conversation in conversations]})
        return
    if not conversations:
        remark("No conversation is stored yet.")
        return
    emit_table(
        ("Conversation", "Scope", "Messages", "Short-term", "Long-term", "Last", "Heading"),
        [_make_row(conversation, zone) for conversation in conversations],
    )


def _make_row(conversation: Conversation, zone: str | None) -> Sequence[str]:
    return (
        one_line(conversation.id, max_chars=_ID_CHARS),
        conversation.scope,
        f"{conversation.messages:,}",
        f"{conversation.short_term.count:,}",
        f"{conversation.long_term.count:,}",
        show_time(conversation.last, zone),
        one_line(conversation.heading, max_chars=_HEADING_CHARS),
    )


def _make_lines(read: ConversationMessages, store: MemoryStore) -> Iterator[Line]:
    for memory in read.messages:
        speaker = one_line(memory.speaker or "", max_chars=_ID_CHARS)
        time = show_time(memory.happened_at, store.config.time_zone)
        header = [(time, "cyan"), (f"  {speaker}", "bold")]
        yield Line([*header, (f"  {short_id(store, memory.id)}", "dim")])
        yield Line([(memory.text, "")], indent=2)


def _say_where(read: ConversationMessages) -> str:
    """Return which messages are shown, and how to read the others."""
    total = format_count(read.total, "message")
    if not read.messages:
        return f"The conversation has {total}: choose --start from 1 to {read.total}."
    last = read.total if read.next is None else read.next
    first = last - len(read.messages) + 1
    where = f"Messages {first:,} to {last:,} of {read.total:,}."
    if read.next is not None:
        return f"{where} Go on with --start {read.next + 1}."
    return f"{where} Begin earlier with --start 1." if first > 1 else where


def _is_agreed(stats: ConversationStats) -> bool:
    """Say what a conversation has, and ask whether to forget it."""
    parts = [
        format_count(stats.messages, "message"),
        format_count(stats.short_term.count, "short-term memory", "short-term memories"),
        format_count(stats.long_term.count, "long-term memory", "long-term memories"),
    ]
    remark(f"{_name_conversation(stats.conversation_id)}: {', '.join(parts)}.", style="")
    return click.confirm("Forget all that is stored of this conversation?", err=True)


def _name_conversation(conversation_id: str) -> str:
    return f"the conversation {one_line(conversation_id, max_chars=_ID_CHARS)}"
