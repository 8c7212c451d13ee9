"""Log the messages of a conversation, each once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import TypeVar, cast

from attrs import evolve, frozen

from infinite_memory.core.errors import IdTaken, InvalidInput, StoreDamaged
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.content_hash import content_hash
from infinite_memory.core.values.conversation.message import (
    ChatMessage,
    check_conversation_id,
    check_messages,
    count_calls,
)
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.core.values.scope import find_spelling
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.scopes import choose_scope
from infinite_memory.engine.services import Services
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.engine.writes.remember import remember_many
from infinite_memory.engine.writes.validation import guard_messages
from infinite_memory.features.attachments.attaching import attach_all, prepare_attachments
from infinite_memory.features.attachments.draft import AttachmentDraft
from infinite_memory.features.chats.log.values import LoggedMessages

_RECENT = timedelta(hours=1)
_MOST_STARTS = 8
_MOST_GAPS = 16


# So many messages in a row are not said again by chance.
_LONG_ROW = 4

Message = TypeVar("Message")
# As many of the last messages are compared with those of a call, and if more may matter.
_LAST, _COMPARED = 64, 2000
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
    listed = list(messages) if isinstance(messages, Iterator) else messages
    given = check_messages(listed, max_bytes=limits.max_text_bytes, zone=zone)
    if not given and (files or not listed):
        raise InvalidInput("messages is empty: give at least one message with role and content")
    name = choose_scope(scope, services, conversation_id)
    given, found = guard_messages(services, given, name)
    logged = load_last(services, name, conversation_id, given[:1], besides=len(given))
    named = list(_name_messages(services, given, logged, conversation_id, name))
    ids = [message.id for message in named]
    stored = load_memories(services, ids)
    for message in named:
        _check_content(message, stored.get(message.id))
    known = find_present(services, ids)
    new = [message for message in {m.id: m for m in named}.values() if message.id not in known]
    drafts = [_make_draft(message, conversation_id, scope) for message in new]
    receipts = remember_many(services, drafts) if drafts else []
    attached_ids = _attach_files(services, ids[-1], files) if files else ()
    return LoggedMessages(
        conversation_id=conversation_id,
        scope=receipts[0].scope if receipts else name,
        ids=tuple(ids),
        stored=len(new),
        known=len(named) - len(new),
        trivial=sum(is_trivial(message.message.content) for message in new),
        unembedded=sum(receipt.searchable is Searchable.WORDS for receipt in receipts),
        attachments=attached_ids,
        secrets=tuple([kind for receipt in receipts for kind in receipt.secrets]),
        masked=found.masked,
        calls=count_calls(cast(Iterable[object], listed)),
    )


def _attach_files(
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
    services: Services,
    scope: str,
    conversation_id: str,
    said: Sequence[ChatMessage],
    *,
    besides: int = 0,
) -> list[Memory]:
    """Return the last 64 messages of the log and `besides`, of every status, oldest first.

    They are the last 2,000 and `besides` if any of `said` was said before those 64.
    """
    spelling = find_spelling(scope, services.storage.scopes())
    if spelling is None:
        return []
    criteria = Criteria(
        scopes=frozenset({spelling}),
        kinds=frozenset({Kind.MESSAGE}),
        conversation_id=conversation_id,
    )
    page = services.storage.find(criteria, limit=_LAST + besides)
    if page.next is not None:
        bare = evolve(page.memories[0], key=None)
        hashes = [content_hash(evolve(bare, speaker=m.speaker, text=m.content)) for m in said]
        same = evolve(criteria, content_hashes=frozenset(hashes))
        if services.storage.find(same, limit=1, after=page.next).memories:
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
    last = max(now, _add_tick(logged[-1].happened_at)) if logged else now
    for position, (message, name) in enumerate(zip(given, ids, strict=True)):
        if message.said_at is not None or position >= count:
            last = _choose_moment(message.said_at, last)
        yield _NamedMessage(message, name, last)


def _choose_moment(said_at: datetime | None, last: datetime) -> datetime:
    """Return the time of a message: as the caller says, or a little after the message before it."""
    return _add_tick(last) if said_at is None else said_at


def _add_tick(moment: datetime) -> datetime:
    """Return the next moment; there is none after the last of the year 9999."""
    return min(moment, _LAST_MOMENT - _MICROSECOND) + _MICROSECOND


def _make_draft(named: _NamedMessage, conversation_id: str, scope: str | None) -> Draft:
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


def count_known(logged: Sequence[Message], given: Sequence[Message], *, recent_from: int) -> int:
    """Return how many leading messages of `given` are in the log already.

    Callers give the new messages alone, or the whole conversation so far, or repeat a call. So the
    longest beginning of `given` that ends the log is known. All of `given` is known if the log has
    it in a row: of two or three messages only if they are recent, since later the same words were
    said again. A single message that equals the end of the log is known only if that is recent.
    The messages of the log from the position `recent_from` on are recent.
    """
    row = find_row(logged, given) if len(given) > 1 else None
    if row is not None and (row >= recent_from or len(given) >= _LONG_ROW):
        return len(given)
    for count in range(min(len(logged), len(given)), 0, -1):
        if logged[-count] == given[0] and list(logged[-count:]) == list(given[:count]):
            is_recent = recent_from < len(logged)
            return count if count > 1 or len(given) > 1 or is_recent else 0
    return 0


def find_row(logged: Sequence[Message], given: Sequence[Message]) -> int | None:
    """Return where the log has `given` in a row the last time, None if it has not."""
    for start in range(len(logged) - len(given), -1, -1):
        if logged[start] == given[0] and list(logged[start : start + len(given)]) == list(given):
            return start
    return None


def name_messages(
    services: Services,
    given: Sequence[ChatMessage],
    logged: Sequence[Memory],
    *,
    conversation_id: str,
    scope: str,
) -> tuple[list[str], int]:
    """Return the id of every message, and how many of the first ones the log was found to have.

    A message is identified by the caller's id, or by its time, speaker and content; without both by
    its speaker, its content, and the message before it. So processes that log the same messages at
    once give them the same ids, and words that are said again are another message.
    """
    namer = _Namer(scope=scope.casefold(), conversation_id=conversation_id)
    ids = _find_known(services, namer, given, logged)
    count = len(ids)
    previous = ids[-1] if ids else logged[-1].id if logged else ""
    for message in given[count:]:
        name = namer.name(message, previous)
        # The call begins with new messages, so an erased one was said again.
        while not ids and not _has_name(message) and services.storage.erased([name]):
            name = namer.name(message, name)
        ids.append(name)
        previous = name
    for position, message in enumerate(given[:count]):
        if _has_name(message):
            ids[position] = namer.name(message, "")
    return ids, count


def find_present(services: Services, ids: Sequence[str]) -> frozenset[str]:
    """Return those of `ids` that were stored, even if they were erased or damaged since."""
    storage = services.storage
    erased = storage.erased(ids)
    try:
        return erased | storage.get(ids, models=()).keys()
    except StoreDamaged:
        pass
    present = set(erased)
    for memory_id in ids:
        try:
            present |= storage.get([memory_id], models=()).keys()
        except StoreDamaged:
            present.add(memory_id)
    return frozenset(present)


@frozen(kw_only=True)
class _Namer:
    """Names the messages of a conversation."""

    scope: str
    conversation_id: str

    def name(self, message: ChatMessage, previous: str) -> str:
        """Return the id of a message, given the id of the message before it, "" for the first."""
        base: list[object] = ["log", self.scope, self.conversation_id, message.speaker]
        if message.id is not None:
            return import_id([*base, "id", message.id])
        if message.said_at is not None:
            return import_id([*base, "at", iso(message.said_at), message.content])
        return import_id([*base, "after", previous, message.content])

    def name_all(self, messages: Sequence[ChatMessage], previous: str) -> Iterator[str]:
        """Yield the ids of messages that follow each other."""
        for message in messages:
            previous = self.name(message, previous)
            yield previous


def _has_name(message: ChatMessage) -> bool:
    """Return whether the caller said what identifies a message."""
    return message.id is not None or message.said_at is not None


def _find_known(
    services: Services, namer: _Namer, given: Sequence[ChatMessage], logged: Sequence[Memory]
) -> list[str]:
    """Return the ids of the first messages of a call that the log has."""
    said = [(memory.speaker, memory.text) for memory in logged]
    pairs = [(message.speaker, message.content) for message in given]
    now = services.clock()
    older = takewhile(lambda memory: now - memory.stored_at > _RECENT, logged)
    count = count_known(said, pairs, recent_from=sum(1 for _ in older))
    row = find_row(said, pairs[:count]) if count else None
    known = [] if row is None else [memory.id for memory in logged[row : row + count]]
    if count == len(given) or len(given) == 1 or not logged:
        return known
    changed = _find_changed(services, namer, given, logged, from_start_only=bool(known))
    return max(changed, known, key=len)


def _find_changed(
    services: Services,
    namer: _Namer,
    given: Sequence[ChatMessage],
    logged: Sequence[Memory],
    *,
    from_start_only: bool,
) -> list[str]:
    """Return the ids of the first messages of a call that goes over the end of the log.

    A message in between was revised or erased since, or the log is longer than what was compared:
    the ids say which messages followed each other when they were logged. The call begins where the
    conversation does, or with a message that was compared unless `from_start_only`.
    """
    first = (given[0].speaker, given[0].content)
    starts = (memory.id for memory in reversed(logged) if (memory.speaker, memory.text) == first)
    for start in ["", *islice(starts, 0 if from_start_only else _MOST_STARTS)]:
        begun = [start] if start else []
        ids = begun + _find_logged(services, namer, given[len(begun) :], start)
        if len(ids) > 1 and logged[-1].id in ids:
            return ids
    return []


def _find_logged(
    services: Services, namer: _Namer, messages: Sequence[ChatMessage], start: str
) -> list[str]:
    """Return the ids of the first messages that were logged after the message `start`, in a row.

    What follows an erased message was logged after that one, or after the message before it.
    """
    ids: list[str] = []
    previous = start
    for _ in range(_MOST_GAPS):
        names = list(namer.name_all(messages[len(ids) :], previous))
        present = find_present(services, names)
        leading = list(takewhile(present.__contains__, names))
        ids += leading
        sound = load_memories(services, leading)
        previous = next((name for name in reversed(leading) if name in sound), previous)
        if not leading or leading[-1] == previous:
            break
    return ids
