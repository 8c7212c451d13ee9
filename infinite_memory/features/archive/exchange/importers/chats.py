"""Exports of Open WebUI and LibreChat: what the person and the assistant wrote, on every branch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from infinite_memory.core.values.ids import import_id
from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.reading import (
    Faults,
    Options,
    read_seconds,
    read_time_text,
)
from infinite_memory.features.archive.exchange.records import DraftRecord, Item
from infinite_memory.features.sessions.conversation import Conversation

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Open WebUI writes thoughts, and calls of tools with their results, into the text.
_HIDDEN = re.compile(r"<details type=.*?(?:</details>\n?|\Z)", re.DOTALL)


def is_chat(value: Any) -> bool:
    """Return whether a value is a conversation of one of the two."""
    return isinstance(value, dict) and isinstance(_find_messages(value), list)


def _find_messages(value: Mapping[str, Any]) -> Any:
    # Open WebUI also gives a chat alone, without the record around it.
    chat = value.get("chat")
    history = (chat if isinstance(chat, dict) else value).get("history")
    messages = history.get("messages") if isinstance(history, dict) else None
    if isinstance(messages, dict):
        return list(messages.values())
    if isinstance(chat, dict):
        return chat.get("messages")
    return value.get("messages") if "conversationId" in value else None


def read_chat(found: Value, options: Options) -> Iterator[Item]:
    """Yield the messages of a conversation.

    Raises:
        ValueError: it is no conversation.
    """
    value = found.value
    if not is_chat(value):
        raise ValueError("it is no conversation with messages")
    title, messages = value.get("title"), _find_messages(value)
    first = next((each for each in messages if isinstance(each, dict)), {})
    conversation = Conversation(
        client="librechat" if "conversationId" in value else "open-webui",
        id=str(value.get("id") or value.get("conversationId") or first.get("id") or ""),
        limits=options.limits,
        last=_EPOCH,
        topic=title if isinstance(title, str) else None,
    )
    # In LibreChat a message may hold the answers to it.
    waiting = [*reversed(messages)]
    number = 0
    while waiting:
        message = waiting.pop()
        faults = Faults(found.file, f"{found.where}.messages[{number}]".lstrip("."))
        number += 1
        if isinstance(message, dict):
            answers = message.get("children")
            waiting += reversed(answers) if isinstance(answers, list) else ()
            yield from _read_message(message, conversation, faults)
        else:
            faults.add(f"the message is {message!r:.60}, and no object")
        yield from faults.problems


def _read_time(written: object) -> datetime | None:
    return read_time_text(written, "UTC") if isinstance(written, str) else read_seconds(written)


def _read_message(
    message: Mapping[str, Any], conversation: Conversation, faults: Faults
) -> Iterator[DraftRecord]:
    speaker = message.get("role") or ("user" if message.get("isCreatedByUser") else "assistant")
    content = message.get("content") or message.get("text")
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    text = _HIDDEN.sub("", "\n\n".join(each for each in texts if isinstance(each, str))).strip()
    if speaker not in ("user", "assistant") or not text:
        return
    written = message.get("timestamp") or message.get("createdAt")
    said_at = faults.try_read(_read_time, written)
    name = message.get("id") or message.get("messageId") or import_id([speaker, text, written])
    for draft in conversation.drafts(
        *(conversation.client, conversation.id, str(name)),
        speaker=speaker,
        text=text,
        said_at=said_at,
        details={},
    ):
        yield DraftRecord(file=faults.file, where=faults.where, draft=draft, is_final=True)
