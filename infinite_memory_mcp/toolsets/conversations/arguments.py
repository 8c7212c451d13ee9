"""The arguments that the tools of conversations have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from infinite_memory_mcp.arguments import Arguments
from infinite_memory_mcp.foreign.arguments import decode_json


def _make_messages(value: Any) -> Any:
    """Return a list for a single message; the messages are checked by the library."""
    decoded = decode_json(value)
    return [decoded] if isinstance(decoded, dict) else decoded


def _make_list(value: Any) -> Any:
    """Return a list of whatever the library will say of it that it is no message."""
    decoded = _make_messages(value)
    return [decoded] if isinstance(decoded, str) else decoded


Messages = Annotated[
    list[Any],
    BeforeValidator(_make_list),
    WithJsonSchema({"type": "array", "items": {"type": "object", "additionalProperties": True}}),
]
"""Messages, objects with role and content; a single message need not be in a list."""

Attachments = Annotated[list[dict[str, Any]] | None, BeforeValidator(_make_messages)]
"""Attachments, objects with a uri; a single one need not be in a list."""

Weights = Annotated[dict[str, Any] | None, BeforeValidator(decode_json)]
"""The weights of the roles of messages."""


ATTACHMENTS = "{uri, description?, tags?, type?, embedding?, model?}; a uri may be a data: URI"
"""What an argument of attachments holds."""


class ConversationArguments(Arguments):
    """The arguments of a tool on a conversation."""

    conversation_id: str
    scope: str | None = Field(None, description="Only if the conversation is in a scope of its own")


class AnyConversationArguments(ConversationArguments):
    """The arguments of a tool on a conversation, or without its id on every one."""

    conversation_id: str | None = None  # type: ignore[assignment]


def contents_of(messages: Sequence[Any]) -> Iterator[object]:
    """Yield the contents of messages that are not checked yet, and their parts of text."""
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else message
        for part in content if isinstance(content, list) else [content]:
            yield part.get("text") if isinstance(part, dict) else part
