"""The records that a storage keeps, and the results of reading them."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from attrs import cmp_using, field, frozen
from numpy.typing import NDArray

from infinite_memory.model.memory import Memory
from infinite_memory.model.time_range import Reading
from infinite_memory.plain import PlainData

__all__ = ["Change", "Changes", "Embedding", "Page", "Record", "Size", "Usage"]


@frozen(kw_only=True)
class Embedding:
    """The passages of one text and their vectors, made by one model.

    `spans` are half-open character ranges of the text, shape (passages, 2), int32; `vectors` are
    unit vectors, shape (passages, dimensions), float32. `model` is a line of text. An embedding
    without passages means that the model could not embed the text, which only its words find.
    """

    model: str
    spans: NDArray[np.int32] = field(eq=cmp_using(eq=np.array_equal))
    vectors: NDArray[np.float32] = field(eq=cmp_using(eq=np.array_equal))


@frozen(kw_only=True)
class Record:
    """A stored memory with its embeddings, one for each requested model, ordered by model."""

    memory: Memory
    embeddings: tuple[Embedding, ...] = ()

    def embedding_by(self, model: str) -> Embedding | None:
        """Return the embedding that `model` made, None if there is none."""
        return next((embedding for embedding in self.embeddings if embedding.model == model), None)


@frozen(kw_only=True)
class Change:
    """The latest state of a memory: its record, or None if it was erased."""

    id: str
    record: Record | None


@frozen(kw_only=True)
class Changes:
    """A part of the change feed, oldest first, and the cursor from which to continue."""

    items: tuple[Change, ...]
    cursor: int


@frozen(kw_only=True)
class Page(PlainData):
    """Memories, newest first, and the cursor of the next page, None at the end.

    `when` is the reading of the words of time, None without them.
    """

    memories: tuple[Memory, ...]
    next: str | None
    when: Reading | None = None


@frozen(kw_only=True)
class Size:
    """The number of records in a storage.

    `memories` counts by (scope, kind, status); `embedded` counts embedded memories by model,
    without forgotten memories; `revisions` counts replaced revisions; `entries` counts entries of
    the journal; `oldest` and `newest` are the bounds of `happened_at`.
    """

    memories: dict[tuple[str, str, str], int]
    revisions: int
    links: int
    entries: int
    embedded: dict[str, int]
    size_bytes: int
    oldest: datetime | None
    newest: datetime | None


@frozen(kw_only=True)
class Usage(PlainData):
    """How often a person or their assistant recalled a memory, and when they last did.

    To use a memory is no revision of it: this is kept beside it, and is no part of its history.
    """

    count: int
    last: datetime

    def plus(self, other: Usage) -> Usage:
        """Return both together."""
        return Usage(count=self.count + other.count, last=max(self.last, other.last))
