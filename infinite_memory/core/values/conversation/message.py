"""The messages of a conversation, as a caller gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from attrs import frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.checks import check_field, check_label, check_moment, check_text
from infinite_memory.core.values.timestamps import read_moment

MAX_MESSAGES = 10_000
_FIELDS = ("role", "content", "name", "speaker", "timestamp", "id", "tool_calls", "tool_call_id")
_MOST_MILLISECONDS = 253_402_300_799_999
"""The last millisecond of the year 9999."""
_MILLISECONDS_FROM = 1e11
"""A smaller number counts seconds, as `time.time()` does; these end in the year 5138."""


@frozen(kw_only=True)
class ChatMessage(PlainData):
    """A message: who said it, in which role, what, and when.

    `role` is "user", "assistant", "system" or a further role in lower case. `name` is the name of
    the speaker, None if the role names the speaker. `said_at` is aware and in UTC, None if the
    caller did not say when. `id` is the caller's own id of the message, None without one.
    """

    role: str
    content: str
    name: str | None = None
    said_at: datetime | None = None
    id: str | None = None

    @property
    def speaker(self) -> str:
        """The name of the speaker, or else the role."""
        return self.name or self.role


def check_messages(
    messages: object, name: str = "messages", *, max_bytes: int, zone: str | None
) -> tuple[ChatMessage, ...]:
    """Return the messages of a caller, checked.

    A message is a `ChatMessage`, or a mapping with `role`, `content`, and if known `name` (or
    `speaker`), `timestamp` and `id`. A content is a text, or a list of parts {"type": "text",
    "text": ...} as chat models take it, which become lines. A timestamp is an aware datetime, ISO
    8601, or a number of seconds or milliseconds since 1970; without an offset it is in `zone`.
    `max_bytes` bounds each content in UTF-8. Calls of tools (`tool_calls`, `tool_call_id`) are left
    out, with a message that has nothing else; a further field without a value, too.

    Raises:
        InvalidInput: a message cannot be used; the message has its position, counted from 1.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise InvalidInput(
            f"{name} is a list of messages with role and content, not {messages!r:.100}"
        )
    listed = list(messages)
    if len(listed) > MAX_MESSAGES:
        raise InvalidInput(
            f"{name} has {len(listed):,} messages, and the limit is {MAX_MESSAGES:,}"
        )
    checked = []
    for position, message in enumerate(listed, 1):
        try:
            if not _is_call(message):
                checked.append(_check_message(message, max_bytes=max_bytes, zone=zone))
        except InvalidInput as error:
            raise InvalidInput(f"message {position} of {len(listed)} in {name}: {error}") from error
    return tuple(checked)


def count_calls(messages: Iterable[object]) -> int:
    """Return how many calls of tools `check_messages` leaves out."""
    return sum(len(each.get("tool_calls") or ()) for each in messages if isinstance(each, Mapping))


def _is_call(message: object) -> bool:
    """Return whether a message holds calls of tools, and no words.

    Raises:
        InvalidInput: what it has as calls is no list.
    """
    if not isinstance(message, Mapping) or not (calls := message.get("tool_calls")):
        return False
    if not isinstance(calls, list | tuple):
        raise InvalidInput(f"tool_calls is a list of calls, not {calls!r:.100}")
    content = message.get("content")
    return not (content.strip() if isinstance(content, str) else content)


def check_conversation_id(value: object) -> str:
    """Return the id of a conversation: a name on one line.

    Raises:
        InvalidInput: it cannot be used.
    """
    return check_label(value, "conversation_id")


def _check_message(message: object, *, max_bytes: int, zone: str | None) -> ChatMessage:
    if isinstance(message, ChatMessage):
        message = {
            "role": message.role,
            "content": message.content,
            "name": message.name,
            "timestamp": message.said_at,
            "id": message.id,
        }
    if not isinstance(message, Mapping):
        raise InvalidInput(f"give an object with role and content, not {message!r:.100}")
    for field, value in message.items():
        if field not in _FIELDS and value not in (None, [], {}):
            check_field(field, _FIELDS, lack="a message has no field")
    for field in ("role", "content"):
        if message.get(field) is None:
            raise InvalidInput(f"{field} is missing")
    said_by = message.get("name") or message.get("speaker")
    own_id = message.get("id")
    return ChatMessage(
        role=check_label(message["role"], "role", max_chars=64).lower(),
        content=check_text(_join_parts(message["content"]), "content", max_bytes=max_bytes),
        name=None if said_by is None else check_label(said_by, "name"),
        said_at=_check_timestamp(message.get("timestamp"), zone),
        id=None if own_id is None else check_label(own_id, "id"),
    )


def _join_parts(content: object) -> object:
    """Return the text of a content that is a list of parts; any other content as it is.

    Raises:
        InvalidInput: a part is no text.
    """
    if not isinstance(content, list | tuple):
        return content
    texts = []
    for part in content:
        is_text = isinstance(part, Mapping) and part.get("type") == "text"
        text = part.get("text") if is_text else None
        if not isinstance(text, str):
            raise InvalidInput(
                'content is a text, or a list of parts {"type": "text", "text": ...}, without'
                f" {part!r:.100}"
            )
        texts.append(text)
    return "\n".join(texts)


def _check_timestamp(value: object, zone: str | None) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value <= _MOST_MILLISECONDS:
            raise InvalidInput(f"timestamp is {value!r}: give seconds since 1970, or ISO 8601")
        return datetime.fromtimestamp(value if value < _MILLISECONDS_FROM else value / 1000, UTC)
    if isinstance(value, str):
        return read_moment(value, zone)
    return check_moment(value, "timestamp")


def render_messages(messages: Sequence[ChatMessage]) -> str:
    """Return messages as a text: a line "speaker: content" for each."""
    return "\n".join(f"{message.speaker}: {message.content}" for message in messages)
