"""The messages of an occasion that conditions see."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.features.reminders.triggers.keywords import MOST_CHARS


def choose_messages(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """Return the last messages, as many as have `MOST_CHARS` characters together, oldest first.

    If the last message alone has more, its beginning is returned.
    """
    total = 0
    for position in range(len(messages) - 1, -1, -1):
        total += len(messages[position].content)
        if total > MOST_CHARS:
            last = messages[-1]
            is_last = position == len(messages) - 1
            cut = [evolve(last, content=last.content[:MOST_CHARS])]
            return cut if is_last else messages[position + 1 :]
    return messages
