"""Log the messages of a conversation, each once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from attrs import frozen

from infinite_memory.core.errors import IdTaken, InvalidInput
from infinite_memory.core.values.conversation.message import (
    ChatMessage,
    check_conversation_id,
    check_messages,
)
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.core.values.scope import find_spelling
from infinite_memory.engine.conversation_scopes import unnamed_scope
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.remember import remember_many
from infinite_memory.features.attachments.attaching import attach_all, prepare_attachments
from infinite_memory.features.attachments.draft import AttachmentDraft
from infinite_memory.features.chats.log.naming import find_present, name_messages
from infinite_memory.features.chats.log.trivial import is_trivial
from infinite_memory.features.chats.log.values import LoggedMessages

# As many of the last messages are compared with those of a call.
_COMPARED = 2000
_MICROSECOND = timedelta(microseconds=1)
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
_ORIGINS = {"user": Origin.USER, "assistant": Origin.ASSISTANT, "tool": Origin.TOOL}


@frozen
class _NamedMessage:
    """A message with the id of its memory, and the time of the memory."""

    message: ChatMessage
    id: str
    at: datetime


def log_messages(
    services: Services,
    messages: object,
    conversation_id: str,
    *,
    scope: str | None,
    attachments: object = None,
) -> LoggedMessages:
    """Store the messages that are not in the log; see `Conversations.log`."""
    conversation_id = check_conversation_id(conversation_id)
    files = prepare_attachments(services, attachments)
    limits, zone = services.config.limits, services.config.time_zone
    given = check_messages(messages, max_bytes=limits.max_text_bytes, zone=zone)
    if not given:
        raise InvalidInput("messages is empty: give at least one message with role and content")
    name = unnamed_scope(services, conversation_id) if scope is None else scope
    logged = load_last(services, name, conversation_id, besides=len(given))
    named = list(_name_messages(services, given, logged, conversation_id, name))
    ids = [message.id for message in named]
    stored = load_memories(services, ids)
    for message in named:
        _check_content(message, stored.get(message.id))
    known = find_present(services, ids)
    new = [message for message in {m.id: m for m in named}.values() if message.id not in known]
    drafts = [_draft_of(message, conversation_id, scope) for message in new]
    receipts = remember_many(services, drafts) if drafts else []
    attached_ids = _attach(services, ids[-1], files) if files else ()
    return LoggedMessages(
        conversation_id=conversation_id,
        scope=receipts[0].scope if receipts else name,
        ids=tuple(ids),
        stored=len(new),
        known=len(named) - len(new),
        trivial=sum(is_trivial(message.message.content) for message in new),
        unembedded=sum(receipt.searchable is Searchable.WORDS for receipt in receipts),
        attachments=attached_ids,
    )


def _attach(
    services: Services, memory_id: str, files: Sequence[AttachmentDraft]
) -> tuple[str, ...]:
    """Attach files to a message; one that was forgotten or erased since stays as it is."""
    memory = load_memories(services, [memory_id]).get(memory_id)
    if memory is None or memory.status is Status.FORGOTTEN:
        return ()
    return tuple([receipt.id for receipt in attach_all(services, memory_id, files)])


def _check_content(named: _NamedMessage, stored: Memory | None) -> None:
    """Refuse an id of the caller that belongs to a message with another content.

    Raises:
        IdTaken: it does. A message that was revised since may have any content.
    """
    if stored is None or stored.revision > 1 or stored.text == named.message.content:
        return
    raise IdTaken(
        f"the message id {named.message.id!r:.100} belongs to another message of this conversation,"
        f" {stored.heading!r}: give this message an id of its own; nothing was stored"
    )


def load_last(
    services: Services, scope: str, conversation_id: str, *, besides: int = 0
) -> list[Memory]:
    """Return the last 2,000 messages of the log and `besides`, of every status, oldest first."""
    spelling = find_spelling(scope, services.storage.scopes())
    if spelling is None:
        return []
    criteria = Criteria(
        scopes=frozenset({spelling}),
        kinds=frozenset({Kind.MESSAGE}),
        conversation_id=conversation_id,
    )
    page = services.storage.find(criteria, limit=_COMPARED + besides)
    return [memory for memory in reversed(page.memories) if criteria.admit(memory)]


def _name_messages(
    services: Services,
    given: Sequence[ChatMessage],
    logged: Sequence[Memory],
    conversation_id: str,
    scope: str,
) -> Iterator[_NamedMessage]:
    """Yield every message with its id and its time."""
    now = services.clock()
    ids, count = name_messages(
        services, given, logged, conversation_id=conversation_id, scope=scope
    )
    last = max(now, _after(logged[-1].happened_at)) if logged else now
    for position, (message, name) in enumerate(zip(given, ids, strict=True)):
        if message.said_at is not None or position >= count:
            last = _next_moment(message.said_at, last)
        yield _NamedMessage(message, name, last)


def _next_moment(said_at: datetime | None, last: datetime) -> datetime:
    """Return the time of a message: as the caller says, or a little after the message before it."""
    return _after(last) if said_at is None else said_at


def _after(moment: datetime) -> datetime:
    """Return the next moment; there is none after the last of the year 9999."""
    return min(moment, _LAST_MOMENT - _MICROSECOND) + _MICROSECOND


def _draft_of(named: _NamedMessage, conversation_id: str, scope: str | None) -> Draft:
    message = named.message
    context: dict[str, object] = {"role": message.role}
    if is_trivial(message.content):
        context["indexed"] = False
    return Draft(
        id=named.id,
        text=message.content,
        kind=Kind.MESSAGE,
        scope=scope,
        speaker=message.speaker,
        origin=_ORIGINS.get(message.role, Origin.TOOL),
        conversation_id=conversation_id,
        happened_at=named.at,
        context=context,
    )
