"""What a storage keeps, and what it answers with."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from attrs import cmp_using, field, frozen
from numpy.typing import NDArray

from infinite_memory.model.memory import Memory
from infinite_memory.model.time_range import Reading

__all__ = [
    "Change",
    "Changes",
    "Embedding",
    "Page",
    "Record",
    "Size",
]


@frozen(kw_only=True)
class Embedding:
    """The passages of one text and their vectors, made by one model.

    `spans` are half-open character ranges of the text, shape (passages, 2), int32; `vectors` are
    unit vectors, shape (passages, dimensions), float32. `model` is one line of text. One without
    passages says that the model could not embed the text: the words alone find it.
    """

    model: str
    spans: NDArray[np.int32] = field(eq=cmp_using(eq=np.array_equal))
    vectors: NDArray[np.float32] = field(eq=cmp_using(eq=np.array_equal))


@frozen(kw_only=True)
class Record:
    """A memory as a storage keeps it, with its embeddings: one a model, in the order of models.

    Where only some models were asked for, those by others are left out.
    """

    memory: Memory
    embeddings: tuple[Embedding, ...] = ()

    def embedding_by(self, model: str) -> Embedding | None:
        """Return the embedding that `model` made, None if there is none."""
        return next((each for each in self.embeddings if each.model == model), None)


@frozen(kw_only=True)
class Change:
    """The latest state of one memory: its record, or None where it was erased."""

    id: str
    record: Record | None


@frozen(kw_only=True)
class Changes:
    """A stretch of the change feed, oldest first, and the cursor to go on from."""

    items: tuple[Change, ...]
    cursor: int


@frozen(kw_only=True)
class Page:
    """Memories in the order newest first, and the cursor of the next page, None at the end.

    `when` is how the words of time were read that were given, None without.
    """

    memories: tuple[Memory, ...]
    next: str | None
    when: Reading | None = None


@frozen(kw_only=True)
class Size:
    """How much a storage holds.

    `memories` are counted by (scope, kind, status); `embedded` counts by model the memories that it
    has embedded, without the forgotten ones; `revisions` counts those that were replaced; `entries`
    are those of the journal; `oldest` and `newest` are moments of `happened_at`.
    """

    memories: dict[tuple[str, str, str], int]
    revisions: int
    links: int
    entries: int
    embedded: dict[str, int]
    size_bytes: int
    oldest: datetime | None
    newest: datetime | None
