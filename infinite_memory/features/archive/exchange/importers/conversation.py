"""The messages of a conversation of another product, as drafts in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from attrs import define

from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.reading import Options, storable
from infinite_memory.features.archive.exchange.records import DraftRecord

_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)
_MAX_ID_CHARS = 128
_MAX_BYTES_OF_CHARACTER = 4
_MAX_LABEL_CHARS = 200


def divide(text: str, options: Options) -> Iterator[str]:
    """Yield a text, or its parts if it is longer than a memory may be."""
    text = storable(text)
    if len(text) * _MAX_BYTES_OF_CHARACTER <= options.limits.max_text_bytes:
        parts = [text]
    else:
        size = max(1, options.limits.max_text_bytes // _MAX_BYTES_OF_CHARACTER)
        parts = [text[start : start + size] for start in range(0, len(text), size)]
    yield from filter(str.strip, parts)


@define
class Conversation:
    """Makes the drafts of a conversation; `client` names the product.

    Messages without a time follow the message before them, `last`. `details` are fields of the
    context of each message.
    """

    client: str
    id: str
    options: Options
    last: datetime
    topic: str | None = None
    _has_begun: bool = False

    def messages(
        self,
        *,
        name: str,
        speaker: str,
        text: str,
        said_at: datetime | None,
        file: str,
        where: str,
        details: Mapping[str, str] | None = None,
    ) -> Iterator[DraftRecord]:
        """Yield the draft of a message, or those of its parts if it is too long for one memory.

        `name` identifies the message in the conversation, and `speaker` is "user" or "assistant".
        """
        topic = " ".join(storable(self.topic or "").split())[:_MAX_LABEL_CHARS]
        context = {
            "client": self.client,
            **({"topic": topic} if topic else {}),
            **(details or {}),
        }
        for number, part in enumerate(divide(text, self.options)):
            self.last = self._next_moment(said_at)
            yield DraftRecord(
                file=file,
                where=where,
                is_final=True,
                draft=Draft(
                    id=import_id([self.client, self.id, name, number]),
                    text=part,
                    kind=Kind.MESSAGE,
                    speaker=speaker,
                    origin=Origin.ASSISTANT if speaker == "assistant" else Origin.USER,
                    conversation_id=self.id[:_MAX_ID_CHARS],
                    happened_at=self.last,
                    context=context,
                ),
            )

    def _next_moment(self, said_at: datetime | None) -> datetime:
        """Return when a message was said: a little after the last message of the same time."""
        if said_at is not None and not self._has_begun:
            self._has_begun = True
            return said_at
        if said_at is None or said_at <= self.last < said_at + _MILLISECOND:
            return self.last + _MICROSECOND
        return said_at
