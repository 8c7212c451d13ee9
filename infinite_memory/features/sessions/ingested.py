"""The result of taking in the notes of hooks."""

from __future__ import annotations

from attrs import frozen

from infinite_memory.core.plain import PlainData


@frozen(kw_only=True)
class Ingested(PlainData):
    """A count of new `messages` that were taken in, of so many `conversations`.

    `skipped` are sentences on transcripts that cannot be read any more, and `failed` on those that
    are tried again the next time. `finished` is False if it was stopped; the rest is kept.
    """

    messages: int = 0
    conversations: int = 0
    skipped: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    finished: bool = True
