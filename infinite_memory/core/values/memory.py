"""A memory: a piece of text with its provenance."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from attrs import field, frozen

from infinite_memory.core.plain import PlainData

GLOBAL = "Global"
"""The scope that always exists."""

NOT_USEFUL_FOR = "not_useful_for"
"""The name in a context of the questions that `Memory.not_useful_for` returns."""

_HEADING_CHARS = 100
# Marks, joiners, variation selectors and skin tones belong to the preceding character.
_JOINED = {"Mn", "Mc", "Me", "Cf", "Sk"}

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""A JSON value without NaN and infinities."""


class Kind(StrEnum):
    """The kind of a memory."""

    MESSAGE = "message"
    NOTE = "note"
    FACT = "fact"
    SUMMARY = "summary"
    PROBLEM = "problem"
    SOLUTION = "solution"
    CODE_CHANGE = "code_change"
    DISCUSSION = "discussion"
    DECISION = "decision"
    LESSON = "lesson"
    REMINDER = "reminder"
    ATTACHMENT = "attachment"


class Status(StrEnum):
    """The status of a memory; a search finds current memories unless it asks for more."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"


class Origin(StrEnum):
    """The source of a memory."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    IMPORT = "import"
    DREAM = "dream"


@frozen(kw_only=True)
class Memory(PlainData):
    """A piece of text with its provenance.

    Every datetime is aware and in UTC. Values of this class are validated: operations and storages
    create them, callers do not.
    """

    id: str
    text: str
    kind: Kind = Kind.NOTE
    title: str | None = None
    scope: str = GLOBAL
    tags: tuple[str, ...] = ()
    context: Mapping[str, JsonValue] = field(factory=dict)
    conversation_id: str | None = None
    speaker: str | None = None
    origin: Origin = Origin.USER
    happened_at: datetime
    stored_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    key: str | None = None
    status: Status = Status.CURRENT
    important: bool = False
    sources: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    revision: int = 1

    @property
    def held_from(self) -> datetime:
        """The time from which the memory holds: `valid_from`, or else `happened_at`."""
        return self.happened_at if self.valid_from is None else self.valid_from

    def held_at(self, moment: datetime) -> bool:
        """Return whether the memory holds at `moment`."""
        return self.held_from <= moment and not self.ended_by(moment)

    def begun_by(self, moment: datetime) -> bool:
        """Return whether the memory had begun to hold at `moment`, or when it was stored.

        The clock that stored it may have been ahead of this clock.
        """
        return self.held_from <= max(moment, self.stored_at)

    def ended_by(self, moment: datetime) -> bool:
        """Return whether the memory had ended at `moment`."""
        return self.valid_to is not None and self.valid_to <= moment

    @property
    def is_indexed(self) -> bool:
        """Whether a search may find the memory; not if its context has `indexed` False.

        Messages that say nothing, such as "ok", are kept so.
        """
        return self.context.get("indexed") is not False

    @property
    def is_dreamed(self) -> bool:
        """Whether the memory is a topic summary: a summary that the dreamer wrote.

        Its context has a mapping under `dreamed`, with its level and who wrote it.
        """
        return (
            self.kind is Kind.SUMMARY
            and self.origin is Origin.DREAM
            and isinstance(self.context.get("dreamed"), Mapping)
        )

    @property
    def not_useful_for(self) -> tuple[str, ...]:
        """The questions for which somebody marked the memory as not useful, oldest first.

        They are in its context; anything else under that name counts as none.
        """
        questions = self.context.get(NOT_USEFUL_FOR)
        if not isinstance(questions, list):
            return ()
        return tuple(question for question in questions if isinstance(question, str))

    @property
    def heading(self) -> str:
        """The title, or else the beginning of the text on one line, cut between words."""
        return self.title or shorten(self.text, _HEADING_CHARS)


def without_feedback(context: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return a context without the questions of feedback, which say nothing about the memory."""
    if NOT_USEFUL_FOR not in context:
        return context
    return {name: value for name, value in context.items() if name != NOT_USEFUL_FOR}


def shorten(text: str, max_chars: int) -> str:
    """Return the beginning of `text` on one line, cut between words; "…" at its end shows a cut."""
    start = text.lstrip()
    # Four times the length holds enough words even with much white space.
    part = start[: 4 * max_chars]
    line = " ".join(part.split())
    if len(line) <= max_chars and part.rstrip() == start.rstrip():
        return line
    most = min(len(line), max_chars - 1)
    end = most if line[most : most + 1] in ("", " ") else line.rfind(" ", 0, most)
    return f"{line[: end if end > most // 2 else _whole_characters(line, most)].rstrip()}…"


def _whole_characters(line: str, end: int) -> int:
    """Return where to cut a line without spaces so that no character loses its marks."""
    earliest = end // 2
    while end > earliest and (
        unicodedata.category(line[end]) in _JOINED or unicodedata.category(line[end - 1]) == "Cf"
    ):
        end -= 1
    return end
