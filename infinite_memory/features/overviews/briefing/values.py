"""A briefing: the knowledge with which an assistant should begin a session."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from attrs import field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Kind, Memory


class BriefingPart(StrEnum):
    """The parts of a briefing, in the order in which they are shown."""

    DUE = "due"
    USER = "user"
    OPEN = "open"
    HOLDS = "holds"
    SESSIONS = "sessions"
    PATTERNS = "patterns"
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


@frozen(kw_only=True)
class Additions:
    """What the layers above add to the briefing of a scope.

    `headline` is a sentence on the repository; `memories` are further memories of a part, with the
    text that is shown of each in `texts`, by part and id. `told` are the kinds that these parts
    tell, which the recent memories then leave out, and `first` the ids that come first of all that
    holds. `due_at` has the moments, by id, of reminders whose condition holds.
    """

    headline: str = ""
    memories: Mapping[BriefingPart, Sequence[Memory]] = field(factory=dict)
    texts: Mapping[tuple[BriefingPart, str], str] = field(factory=dict)
    told: Collection[Kind] = ()
    first: Collection[str] = ()
    due_at: Mapping[str, datetime] = field(factory=dict)
