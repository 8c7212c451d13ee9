"""The tool of the log of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.memory import Memory
from infinite_memory.search.text.quotation import quote_label, quote_lines
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory_mcp.arguments import Arguments, Limit, Tokens
from infinite_memory_mcp.budget import DEFAULT_TOKENS, fit_count
from infinite_memory_mcp.data import compact, object_schema
from infinite_memory_mcp.render import render_secrets
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.toolsets.conversations.arguments import (
    Attachments,
    Messages,
    contents_of,
)
from infinite_memory_mcp.toolsets.conversations.phrases import (
    Language,
    explain_errors,
    language_of,
    say,
)
from infinite_memory_mcp.toolsets.conversations.render import render_conversations
from infinite_memory_mcp.view import View, view_of_memories

if TYPE_CHECKING:
    from infinite_memory.features.chats.log.values import Conversation, ConversationMessages
    from infinite_memory.store.memory_store import MemoryStore

_HEAD_TOKENS = 300
_ROW_TOKENS = 15


class LogConversation(Arguments):
    """The arguments of `log_conversation`."""

    conversation_id: str | None = Field(None, description="Without it, conversations are listed")
    messages: Messages = Field(
        [],
        description="{role, content, name?, timestamp?, id?}; left out: reads the log",
    )
    start: int | None = Field(None, description="Read from here; left out: the end")
    limit: Limit = 50
    scope: str | None = None
    attachments: Attachments = Field(None, description="Of the last message: {uri, description?}")
    max_tokens: Tokens = DEFAULT_TOKENS


@tool("Log a conversation", object_schema(), repeatable=True)
def log_conversation(store: MemoryStore, arguments: LogConversation) -> Answer:
    """Log messages of a conversation, or read a log back.

    Repeating a call, or giving the whole conversation so far, stores nothing twice.
    """
    language = language_of(*contents_of(arguments.messages))
    conversation_id = arguments.conversation_id
    with explain_errors(language):
        if conversation_id is None:
            if arguments.messages:
                raise InvalidInput("conversation_id is missing: give the messages a conversation")
            return _render_list(store.conversations.list(scope=arguments.scope))
        if not arguments.messages:
            return _render_messages(
                store,
                store.conversations.read(
                    conversation_id,
                    scope=arguments.scope,
                    limit=arguments.limit,
                    start=arguments.start,
                ),
                arguments.max_tokens,
            )
        logged = store.conversations.log(
            arguments.messages,
            conversation_id,
            scope=arguments.scope,
            attachments=arguments.attachments,
        )
    text = say(
        "logged",
        language,
        id=quote_label(logged.conversation_id),
        stored=logged.stored,
        known=logged.known,
    )
    if logged.trivial:
        text += say("trivial", language, count=logged.trivial)
    if logged.calls:
        text += say("calls", language, count=logged.calls)
    if logged.unembedded:
        text += say("by_words", language, count=logged.unembedded)
    if logged.attachments:
        text += say("attached", language, ids=", ".join(logged.attachments))
    text += render_secrets(logged)
    return Answer(text=text, data=logged.to_dict())


def _render_list(conversations: Sequence[Conversation]) -> Answer:
    data = {"conversations": [conversation.to_dict() for conversation in conversations]}
    return Answer(text=render_conversations(conversations), data=data)


def _render_messages(store: MemoryStore, read: ConversationMessages, budget: int) -> Answer:
    view = view_of_memories(store, read.messages, has_times=True)
    language = language_of(*(memory.text for memory in read.messages))
    blocks = [_render_message(memory, view) for memory in read.messages]
    sizes = [estimate_tokens(block) + _ROW_TOKENS for block in blocks]
    count = max(1, fit_count(sizes, budget - _HEAD_TOKENS))
    end = read.total if read.next is None else read.next
    first = end - len(read.messages)
    shown = blocks[:count]
    following = first + len(shown) if first + len(shown) < read.total else None
    head = say(
        "messages",
        language,
        id=quote_label(read.conversation_id),
        first=first + 1,
        last=first + len(shown),
        total=read.total,
    )
    more = [] if following is None else [say("more_messages", language, next=following)]
    return Answer(
        text="\n\n".join([head, *shown, *more]),
        data={
            "notice": say("notice", Language.ENGLISH),
            "conversation_id": read.conversation_id,
            "messages": [compact(memory) for memory in read.messages[:count]],
            "total": read.total,
            "next": following,
        },
    )


def _render_message(memory: Memory, view: View) -> str:
    speaker = quote_label(memory.speaker or str(memory.origin))
    header = f"{view.format_date(memory.happened_at)} · {speaker}"
    return f"{header} · id {view.shorten(memory.id)}\n{quote_lines(memory.text)}"


LOG = (log_conversation,)
"""The tool of the log."""
