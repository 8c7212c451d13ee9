"""What the rules of a condition look at, worked out once for all conditions of an occasion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property

from infinite_memory.core.values.conversation.message import ChatMessage
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.core.values.memory import JsonValue
from infinite_memory.core.values.scope import fold_name
from infinite_memory.features.reminders.triggers.keywords import fold_message
from infinite_memory.features.reminders.triggers.messages import choose_messages

ANYONE = "any"
"""The role that every message has."""

_MOST_NAMES = 10_000


class Moment:
    """An occasion, with its texts in the form in which they are compared.

    One thread uses it, during a single evaluation.
    """

    def __init__(self, occasion: Occasion) -> None:
        self._messages = choose_messages(occasion.messages)
        self._occasion = occasion
        self._contents: dict[tuple[str, int], tuple[str, ...]] = {}
        self._folded: dict[tuple[str, int], str] = {}
        self._by_position: dict[int, str] = {}
        self.now = occasion.now
        self.local = occasion.now.replace(tzinfo=None)

    @cached_property
    def folded_scope(self) -> str | None:
        """The name of the scope as `fold_name` returns it, None without a scope."""
        scope = self._occasion.scope
        return None if scope is None else fold_name(scope)

    @cached_property
    def participants(self) -> frozenset[str]:
        """The names in the participants, keys and texts, in their compared form."""
        names: set[str] = set()
        for name in _list_names(self._occasion.participants):
            names.add(fold_message(name))
            if len(names) == _MOST_NAMES:
                break
        return frozenset(names)

    def contents(self, role: str, depth: int) -> tuple[str, ...]:
        """Return the contents of the messages of a role among the last `depth` messages."""
        contents = self._contents.get((role, depth))
        if contents is None:
            contents = tuple(message.content for _, message in self._choose_messages(role, depth))
            self._contents[role, depth] = contents
        return contents

    def folded(self, role: str, depth: int) -> str:
        """Return the same contents for the comparison with keywords, a line for each message."""
        text = self._folded.get((role, depth))
        if text is None:
            text = "\n".join(
                self._fold_message(position) for position, _ in self._choose_messages(role, depth)
            )
            self._folded[role, depth] = text
        return text

    def local_time(self, moment: datetime) -> datetime:
        """Return a moment on the clock of the occasion; without an offset it stays as it is."""
        if moment.tzinfo is None:
            return moment
        return moment.astimezone(self.now.tzinfo).replace(tzinfo=None)

    def _choose_messages(self, role: str, depth: int) -> Sequence[tuple[int, ChatMessage]]:
        start = max(0, len(self._messages) - depth)
        return [
            (position, self._messages[position])
            for position in range(start, len(self._messages))
            if role in (ANYONE, self._messages[position].role)
        ]

    def _fold_message(self, position: int) -> str:
        folded = self._by_position.get(position)
        if folded is None:
            folded = self._by_position[position] = fold_message(self._messages[position].content)
        return folded


def _list_names(value: JsonValue) -> Iterator[str]:
    """Yield the keys and texts in a JSON value, at any depth."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            yield from part
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)
