"""The result of taking in the notes of hooks."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from infinite_memory.core.plain import PlainData


@frozen(kw_only=True)
class Ingested(PlainData):
    """A count of new `messages` that were taken in, of so many `conversations`.

    `skipped` are sentences on transcripts that cannot be read any more, and `failed` on those that
    are tried again the next time. `finished` is False if it was stopped; the rest is kept. `masked`
    counts the secrets in what was read, by their kinds, in whose place masks were stored.
    """

    messages: int = 0
    conversations: int = 0
    skipped: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    finished: bool = True
    masked: Mapping[str, int] = field(factory=dict)
