"""The values of overviews: the briefing of a session, and what is known about a topic."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Kind, Memory


@frozen(kw_only=True)
class ShownMemory(PlainData):
    """A memory in an overview; `short_id` is the shortest ending that stands for its `id`.

    `text` is the part of its title and its text that is shown, on one line. `at` is the moment that
    it is shown with. `inferred` says that it was said in a session, and not stored on purpose.
    """

    id: str
    short_id: str
    kind: Kind
    scope: str
    at: datetime
    text: str
    important: bool = False
    speaker: str | None = None
    inferred: bool = False

    @classmethod
    def of(cls, memory: Memory, short_id: str, text: str, **fields: Any) -> Self:
        """Return a memory as it is shown, at the moment when it happened if `fields` have none."""
        shown = {
            "id": memory.id,
            "short_id": short_id,
            "kind": memory.kind,
            "scope": memory.scope,
            "at": memory.happened_at,
            "text": text,
            "important": memory.important,
            "speaker": memory.speaker,
            "inferred": memory.is_inferred,
        }
        return cls(**{**shown, **fields})


class BriefingPart(StrEnum):
    """The parts of a briefing, in the order in which they are shown."""

    DUE = "due"
    DONE = "done"
    CONFLICTS = "conflicts"
    USER = "user"
    OPEN = "open"
    HOLDS = "holds"
    SESSIONS = "sessions"
    PATTERNS = "patterns"
    RECENT = "recent"
    CONVERSATION = "conversation"
    ELSEWHERE = "elsewhere"


@frozen(kw_only=True)
class BriefingItem(ShownMemory):
    """A memory in a briefing.

    `text` is the beginning of the text. `at` is when a reminder is due, from when a fact holds,
    otherwise when the memory happened.
    """


@frozen(kw_only=True)
class BriefingSection(PlainData):
    """A part of a briefing; `omitted` memories were found and did not fit in the budget."""

    part: BriefingPart
    items: tuple[BriefingItem, ...]
    omitted: int = 0


@frozen(kw_only=True)
class Briefing(PlainData):
    """The knowledge for a scope at a moment: the user, and what holds, is recent or is due.

    `text` is all of it for a model to read, framed as data; it takes about `tokens` tokens, and
    never more than `budget`. `sections` has the parts that are not empty.
    """

    scope: str
    at: datetime
    budget: int
    tokens: int
    text: str
    sections: tuple[BriefingSection, ...] = ()


@frozen(kw_only=True)
class KnownSummary(ShownMemory):
    """A summary about the topic.

    `memories` counts the memories that it was made from, through summaries of summaries. `outdated`
    are those of its sources that were replaced, forgotten or rewritten since. `text` is its title
    and its beginning, `at` when the last of its memories happened.
    """

    memories: int
    outdated: tuple[str, ...] = ()


@frozen(kw_only=True)
class Highlight(ShownMemory):
    """A memory about the topic.

    `text` is the part of its text that says most about the topic. `score` is that of the search, in
    [0, 1], and `priority` that of `engine.priority`, in (0, 1).
    """

    score: float
    priority: float


@frozen(kw_only=True)
class Knowledge(PlainData):
    """What is known about a `topic`: summaries, those of most memories first, then highlights.

    `text` is all of it for a model to read, framed as data; it takes about `tokens` tokens, and
    never more than `budget`. `more` counts the further memories that match the topic and were left
    out for lack of room. Nothing is known if there are neither summaries nor highlights, or if
    they are `only_near`: none has a word of the topic, and they may be about something else.
    `scopes` are the searched scopes, None for all; `named` are those of them that the topic
    names. `note` says why the search left out words or meaning, None if it used both.
    """

    topic: str
    budget: int
    tokens: int
    text: str
    summaries: tuple[KnownSummary, ...] = ()
    highlights: tuple[Highlight, ...] = ()
    more: int = 0
    only_near: bool = False
    scopes: tuple[str, ...] | None = None
    named: tuple[str, ...] = ()
    note: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything is known about the topic."""
        return not self.only_near and bool(self.summaries or self.highlights)
