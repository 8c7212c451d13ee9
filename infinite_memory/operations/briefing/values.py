"""A briefing: the knowledge with which an assistant should begin a session."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import frozen

from infinite_memory.model.memory import Kind
from infinite_memory.plain import PlainData

__all__ = ["Briefing", "BriefingItem", "BriefingPart", "BriefingSection"]


class BriefingPart(StrEnum):
    """The parts of a briefing, in the order in which they are shown."""

    DUE = "due"
    USER = "user"
    HOLDS = "holds"
    RECENT = "recent"
    CONVERSATION = "conversation"


@frozen(kw_only=True)
class BriefingItem(PlainData):
    """A memory in a briefing; `short_id` is the shortest ending that stands for its `id`.

    `text` is the beginning of the text on one line. `at` is the moment that it is shown with: when
    a reminder is due, from when a fact holds, otherwise when the memory happened.
    """

    id: str
    short_id: str
    kind: Kind
    scope: str
    at: datetime
    text: str
    important: bool = False
    speaker: str | None = None


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
