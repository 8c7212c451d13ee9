"""The values of an overview of a topic."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Kind


@frozen(kw_only=True)
class KnownSummary(PlainData):
    """A summary about the topic; `short_id` is the shortest ending that stands for its `id`.

    `memories` counts the memories that it was made from, through summaries of summaries. `outdated`
    are those of its sources that were replaced, forgotten or rewritten since. `text` is its title
    and its beginning on one line, `at` when the last of its memories happened.
    """

    id: str
    short_id: str
    scope: str
    at: datetime
    text: str
    memories: int
    outdated: tuple[str, ...] = ()


@frozen(kw_only=True)
class Highlight(PlainData):
    """A memory about the topic; `short_id` is the shortest ending that stands for its `id`.

    `text` is the part of its text that says most about the topic, on one line. `score` is that of
    the search, in [0, 1], and `priority` that of `engine.priority`, in (0, 1).
    """

    id: str
    short_id: str
    kind: Kind
    scope: str
    at: datetime
    text: str
    score: float
    priority: float
    important: bool = False
    speaker: str | None = None


@frozen(kw_only=True)
class Knowledge(PlainData):
    """What is known about a `topic`: summaries, those of most memories first, then highlights.

    `text` is all of it for a model to read, framed as data; it takes about `tokens` tokens, and
    never more than `budget`. `more` counts the further memories that match the topic and were left
    out for lack of room. Nothing is known if there are neither summaries nor highlights, or if
    they are `only_near`: none has a word of the topic, and they may be about something else.
    `scopes` are the searched scopes, None for all; `opened` are those of them that the topic itself
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
    opened: tuple[str, ...] = ()
    note: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything is known about the topic."""
        return not self.only_near and bool(self.summaries or self.highlights)
