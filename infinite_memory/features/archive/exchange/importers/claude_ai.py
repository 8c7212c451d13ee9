"""Account exports of Claude: `conversations.json`, alone, in its folder, or in its zip file.

Messages come with their times. The text of a file that was attached is a note of its own; calls of
tools, their results and thoughts are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.ids import import_id
from infinite_memory.features.archive.exchange.importers.json_items import (
    conversation_files,
    read_conversations,
)
from infinite_memory.features.archive.exchange.reading import Options, read_time_text, text_of
from infinite_memory.features.archive.exchange.records import DraftRecord, Item
from infinite_memory.features.archive.exchange.source import Source
from infinite_memory.features.sessions.conversation import Conversation

_CLIENT = "claude"
_SPEAKERS = {"human": "user", "assistant": "assistant"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_claude(source: Source) -> bool:
    """Return whether a source holds conversations with the key that only Claude has."""
    return any(b'"chat_messages"' in source.head(file) for file in conversation_files(source))


def read_claude(source: Source, options: Options) -> Iterator[Item]:
    """Yield the messages of every conversation.

    Raises:
        OSError: a file cannot be read.
    """
    for conversation, shown, where in read_conversations(source):
        if isinstance(conversation, ImportProblem):
            yield conversation
        else:
            yield from _read_conversation(conversation, shown, where, options)


def _read_conversation(value: object, file: str, where: str, options: Options) -> Iterator[Item]:
    try:
        if not isinstance(value, dict) or not isinstance(value.get("chat_messages"), list):
            raise ValueError("it is no conversation with chat_messages")
        conversation = Conversation(
            client=_CLIENT,
            id=str(text_of(value, "uuid") or ""),
            limits=options.limits,
            last=read_time_text(value.get("created_at"), "UTC") or _EPOCH,
            topic=text_of(value, "name"),
        )
        if not conversation.id:
            raise ValueError("the conversation has no uuid")
    except ValueError as error:
        yield ImportProblem(file=file, where=where, what=str(error))
        return
    counts = Counter[str]()
    for number, message in enumerate(value["chat_messages"]):
        place = f"{where}.chat_messages[{number}]"
        try:
            yield from _read_message(message, number, counts, conversation, file, place)
        except ValueError as error:
            yield ImportProblem(file=file, where=place, what=str(error))


def _read_message(
    message: object,
    number: int,
    counts: Counter[str],
    conversation: Conversation,
    file: str,
    where: str,
) -> Iterator[DraftRecord]:
    if not isinstance(message, dict):
        raise ValueError(f"the message is {message!r:.60}, and no object")
    speaker = _SPEAKERS.get(str(message.get("sender")))
    if speaker is None:
        raise ValueError(f"the sender {message.get('sender')!r:.60} is neither human nor assistant")
    name, former = text_of(message, "uuid") or "", str(number)
    if not name:
        name = import_id([speaker, message.get("created_at"), list(_list_texts(message))])
        counts[name] += 1
        name = f"{name}/{counts[name]}"
    said_at = read_time_text(message.get("created_at"), "UTC")
    for part, (text, details) in enumerate(_list_texts(message)):
        drafts = conversation.drafts(
            *(_CLIENT, conversation.id, name if not part else f"{name}/{part}"),
            speaker=speaker,
            text=text,
            said_at=said_at,
            details=details,
        )
        for place, draft in enumerate(drafts):
            earlier = [_CLIENT, conversation.id, former if not part else f"{former}/{part}", place]
            yield DraftRecord(
                file=file,
                where=where,
                draft=draft,
                earlier_ids=(import_id(earlier),),
                is_final=True,
            )


def _list_texts(message: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what was written, and the text of every attached file with its name."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    written = [
        block["text"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
        and block["text"].strip()
    ]
    yield ("\n\n".join(written) or text_of(message, "text") or "", {})
    attached = message.get("attachments")
    for attachment in attached if isinstance(attached, list) else []:
        if isinstance(attachment, dict) and (text := text_of(attachment, "extracted_content")):
            yield text, {"file": str(attachment.get("file_name") or "attachment")[:200]}
