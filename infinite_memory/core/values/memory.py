"""A memory: a piece of text with its provenance."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.messages import format_size

GLOBAL = "Global"
"""The scope that always exists."""

INFERRED = "inferred"
"""The name in a context that tells from what a memory was inferred, which nobody stored."""

BROUGHT_IN = "brought_in"
"""The name in a context that tells of a summary that it was made of what was brought in."""

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
    INSTRUCTION = "instruction"
    CONCLUSION = "conclusion"


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
    def is_inferred(self) -> bool:
        """Whether it is a statement that was found in a session, and that nobody stored.

        Its context has `inferred` "session". Who marks it as important has confirmed it.
        """
        return self.context.get(INFERRED) == "session" and not self.important

    @property
    def is_brought_in(self) -> bool:
        """Whether it was neither said nor stored on purpose, nor made of what was.

        A summary is brought in, as its context says, if one of its sources is. What a person has
        accepted in the inbox has the origin of the user from then on.
        """
        if self.origin is Origin.USER:
            return False
        is_read = self.origin is Origin.IMPORT or (self.origin is Origin.TOOL and not self.sources)
        return is_read or self.context.get(BROUGHT_IN) is True

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

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name as answers show them, for `json.dumps`; see `present`."""
        return PlainData.to_dict(present(self))


class FoundMemory(PlainData):
    """A value of attrs with a `memory`, whose fields stand beside its own in plain data."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the memory and the other fields, for `json.dumps`."""
        own = super().to_dict()
        return {**own.pop("memory"), **own}


def note_lineage(sources: Iterable[Memory]) -> dict[str, JsonValue]:
    """Return what the context of a memory made of `sources` has: see `Memory.is_brought_in`."""
    return {BROUGHT_IN: True} if any(source.is_brought_in for source in sources) else {}


def is_content(memory: Memory) -> bool:
    """Return whether a memory holds the stored bytes of attachments."""
    return not memory.is_indexed and isinstance(memory.context.get("content"), Mapping)


def describe_content(memory: Memory) -> str:
    """Return stored bytes in a line, such as "image/png, 34.0 KB, stored", without the bytes."""
    values: Any = memory.context["content"]
    kind = get_text(values, "media_type") or "application/octet-stream"
    return describe_stored(kind, get_count(values, "bytes"))


def present(memory: Memory) -> Memory:
    """Return a memory as answers show it: no numbers of an embedding, and no stored bytes."""
    if is_content(memory):
        return evolve(memory, text=describe_content(memory))
    values = memory.context.get("attachment")
    if not isinstance(values, Mapping) or not isinstance(values.get("embedding"), list):
        return memory
    shown: dict[str, JsonValue] = {k: v for k, v in values.items() if k != "embedding"}
    numbers = values["embedding"]
    if isinstance(numbers, list):
        shown["dimensions"] = len(numbers)
    return evolve(memory, context={**memory.context, "attachment": shown})


def shown_text(memory: Memory) -> str:
    """Return the text of a memory as answers show it; see `present`."""
    return present(memory).text


def describe_stored(kind: str, size_bytes: int | None) -> str:
    """Return a kind of stored bytes with their number in a line."""
    size = "" if size_bytes is None else f", {format_size(size_bytes)}"
    return f"{kind}{size}, stored"


def get_text(values: Mapping[str, Any], name: str) -> str | None:
    """Return the text under a name, None without one."""
    value = values.get(name)
    return value if isinstance(value, str) and value else None


def get_count(values: Mapping[str, Any], name: str) -> int | None:
    """Return the whole number under a name, None without one."""
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


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
    return f"{line[: end if end > most // 2 else _find_whole_end(line, most)].rstrip()}…"


def _find_whole_end(line: str, end: int) -> int:
    """Return where to cut a line without spaces so that no character loses its marks."""
    earliest = end // 2
    while end > earliest and (
        unicodedata.category(line[end]) in _JOINED or unicodedata.category(line[end - 1]) == "Cf"
    ):
        end -= 1
    return end
