"""The messages of a conversation, of a session or of any product, as drafts in their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from attrs import define

from infinite_memory.core.config import Limits
from infinite_memory.core.values.draft import Draft, divide, storable
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.features.sessions.events.event import Event, EventKind

_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)
MAX_ID_CHARS = 128
_MAX_LABEL_CHARS = 200


@define
class Conversation:
    """Makes the drafts of a conversation; `client` names the product.

    Messages without a time follow the message before them, `last`.
    """

    client: str
    id: str
    limits: Limits
    last: datetime
    topic: str | None = None
    _has_begun: bool = False

    def drafts(
        self,
        *identity: object,
        speaker: str,
        text: str,
        said_at: datetime | None,
        details: Mapping[str, object],
    ) -> Iterator[Draft]:
        """Yield the draft of a message, or those of its parts if it is too long for one memory.

        `identity` tells it from every other message, and `speaker` is "user" or "assistant".
        `details` are fields of its context.
        """
        topic = " ".join(storable(self.topic or "").split())[:_MAX_LABEL_CHARS]
        context = {"client": self.client, **({"topic": topic} if topic else {}), **details}
        for number, part in enumerate(divide(text, self.limits.max_text_bytes)):
            self.last = self._choose_moment(said_at)
            yield Draft(
                id=import_id([*identity, number]),
                text=part,
                kind=Kind.MESSAGE,
                speaker=speaker,
                origin=Origin.ASSISTANT if speaker == "assistant" else Origin.USER,
                conversation_id=self.id[:MAX_ID_CHARS],
                happened_at=self.last,
                context=context,
            )

    def _choose_moment(self, said_at: datetime | None) -> datetime:
        """Return when a message was said: a little after the last message of the same time.

        Memories of one moment have no order, and sources give milliseconds.
        """
        if said_at is not None and not self._has_begun:
            self._has_begun = True
            return said_at
        if said_at is None or said_at <= self.last < said_at + _MILLISECOND:
            return self.last + _MICROSECOND
        return said_at


def draft_messages(
    events: Iterable[Event], limits: Limits, folder: str = ""
) -> Iterator[tuple[Event, tuple[str, ...], Draft]]:
    """Yield the messages among events as drafts, each with all ids by which it may be known.

    Their context names the `folder`, unless it is "".
    """
    conversations: dict[str, Conversation] = {}
    details: dict[str, object] = {"folder": folder} if folder else {}
    for event in events:
        if event.kind is not EventKind.MESSAGE:
            continue
        conversation = conversations.get(event.session)
        if conversation is None:
            conversation = Conversation(event.client, event.session, limits, event.at)
            conversations[event.session] = conversation
        drafts = conversation.drafts(
            event.act,
            speaker=event.speaker,
            text=event.text,
            said_at=event.at,
            # A greeting is kept, and no search finds it.
            details=details
            | ({"branch": event.branch} if event.branch else {})
            | ({"indexed": False} if is_trivial(event.text) else {}),
        )
        for part, draft in enumerate(drafts):
            yield event, message_ids(event, part), draft


def message_ids(event: Event, part: int = 0) -> tuple[str, ...]:
    """Return the id of a message, or of a part, and then those that earlier versions gave it.

    They named a message by its session, and by its own id or its line.
    """
    names = (event.name, f"line {event.position}")
    earlier = (import_id([event.client, event.session, name, part]) for name in names)
    return (import_id([event.act, part]), *earlier)
