"""The diary of the dreamer: what each cycle looked at, linked and wrote."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from infinite_memory.core.plain import PlainData


@frozen(kw_only=True)
class DreamedLink(PlainData):
    """A link that a cycle made or strengthened; `before` is the earlier weight, None if it is new.

    `source_heading` and `target_heading` are the present headings of the memories, "" for an erased
    memory. `in_common` are words that both texts have now, at most five.
    """

    source: str
    target: str
    weight: float
    before: float | None
    reason: str
    source_heading: str
    target_heading: str
    in_common: tuple[str, ...]


@frozen(kw_only=True)
class DreamedTopic(PlainData):
    """A topic summary that a cycle wrote, or wrote anew if `rewritten`.

    `title` is the present one, "" if it was erased; `sources` counts the memories that it
    summarises.
    """

    id: str
    title: str
    sources: int
    rewritten: bool


@frozen(kw_only=True)
class Cycle(PlainData):
    """An entry of the diary: what a cycle of the dreamer looked at, linked and wrote, and why.

    `entry` is the number of the entry of the journal that `undo` takes; `undone_by` is the entry
    that took it back, None if it holds. `looked_at` is a sentence with the numbers.
    """

    entry: int
    at: datetime
    scope: str
    looked_at: str
    links: tuple[DreamedLink, ...]
    topics: tuple[DreamedTopic, ...]
    undone_by: int | None
