"""The results of the log of conversations."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Memory


@frozen(kw_only=True)
class LoggedMessages(PlainData):
    """What became of the messages that were logged.

    `ids` has the id of every message with words in the order given. `stored` of them are new,
    `known` were in the log before. `trivial` of the new ones say nothing, such as "ok": they are
    kept, and no search finds them. `unembedded` of the new ones are found by their words now, and
    by meaning as soon as they are embedded. `attachments` are the ids of what was attached to the
    last of them.
    `calls` of tools were left out, as an import does, with the messages that hold nothing else.
    """

    conversation_id: str
    scope: str
    ids: tuple[str, ...]
    stored: int
    known: int
    trivial: int
    unembedded: int = 0
    attachments: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    calls: int = 0


@frozen(kw_only=True)
class ConversationMessages(PlainData):
    """Messages of a conversation, in the order in which they were said.

    `total` counts all its messages, and `next` is the position of the first message after these,
    None at the end.
    """

    conversation_id: str
    messages: tuple[Memory, ...]
    total: int
    next: int | None


@frozen(kw_only=True)
class ConversationTerm(PlainData):
    """The memories of a term: their number, how many were changed, and their mean activation."""

    count: int
    updated: int
    mean_score: float


@frozen(kw_only=True)
class Conversation(PlainData):
    """A conversation in the list of conversations.

    `messages` counts those in its log, `short_term` and `long_term` are its memories of each term.
    `first` and `last` are the bounds of what was said or stored in it. `heading` is the beginning
    of its latest message.
    """

    id: str
    scope: str
    messages: int
    short_term: ConversationTerm
    long_term: ConversationTerm
    first: datetime
    last: datetime
    heading: str
