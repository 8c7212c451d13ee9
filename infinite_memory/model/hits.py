"""What a search answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from attrs import frozen

from infinite_memory.model.memory import Memory

__all__ = ["Explanation", "Hit", "Hits"]


@frozen(kw_only=True)
class Explanation:
    """How a memory came to its score.

    `cosine` is that of its best passage with the question, None where vectors were not compared;
    `passage` is the half-open character range of that passage. `bm25` is the raw sum over the words
    of the question. `meaning` and `words` are the two brought to one scale, from 0 to about 1: a
    memory that answers better than the ideal one has more than 1 for `words`. `speaker` is 1 where
    the question names the one who said it. A rank counts from 1 within its arm, None where the arm
    did not find the memory.
    """

    cosine: float | None
    bm25: float
    meaning: float
    words: float
    speaker: float
    meaning_rank: int | None
    words_rank: int | None
    passage: tuple[int, int] | None


@frozen(kw_only=True)
class Hit:
    """A memory that was found, with its score in [0, 1]."""

    memory: Memory
    score: float
    explanation: Explanation | None = None


@frozen(kw_only=True)
class Hits(Sequence[Hit]):
    """Hits, best first, and what was looked at to find them.

    `scopes` are those that were searched, None for all. `eligible` counts the memories that met the
    conditions; `more` those that also matched but lay over the limit, `below` those under the
    threshold; `pending` those that could be compared by their words alone, since they are not
    embedded yet. `note` says why an arm was left out, None if both took part.
    """

    items: tuple[Hit, ...]
    scopes: tuple[str, ...] | None
    eligible: int
    more: int
    below: int
    pending: int
    note: str | None = None

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        """Return the hit at that rank, counted from 0."""
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.items)
