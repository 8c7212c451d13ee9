"""The protocol of a search, and the optional powers of one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from infinite_memory.core.protocols.embedder import Embedder
from infinite_memory.core.protocols.storage import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.question import Question, Ranking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from infinite_memory.core.values.dream.neighbor import Neighbor


__all__ = [
    "Search",
    "SearchFactory",
    "SupportsIndex",
    "SupportsNeighbors",
    "SupportsSimilar",
    "SupportsTimeline",
    "Timeline",
]


class Search(Protocol):
    """Finds the memories of a storage, by words and by the vectors of an embedder.

    Every method may be called from any thread. A call sees every commit that was acknowledged
    before it, by any process, and never returns a memory that was erased before it. A search is
    derived from its storage: it can be discarded at any time, and a new one returns the same.
    """

    def search(self, question: Question) -> Ranking:
        """Return the memories that answer `question` best.

        Only memories that meet the criteria are counted or returned. If the embedder fails,
        memories are compared by words alone, and the note of the ranking says so.
        """

    def nearest(
        self, to: str | NDArray[np.float32], criteria: Criteria, *, limit: int
    ) -> list[tuple[str, float]]:
        """Return at most `limit` ids of memories that meet `criteria`, with their cosines.

        `to` is the id of a memory, which is not returned, or a unit vector of shape (dimensions,).
        The nearest passage of a memory counts. The nearest memory comes first; equal cosines are
        ordered by id. Memories without a vector are never returned.

        Raises:
            NotFound: there is no memory with the id `to`.
        """


SearchFactory = Callable[[Storage, Embedder], Search]
"""A callable that returns a search of a storage and an embedder, such as a search class."""


@runtime_checkable
class SupportsIndex(Protocol):
    """A search that keeps derived data in memory or in files."""

    def warm_up(self) -> None:
        """Load the derived data now, so that the first search need not wait."""

    def save(self) -> None:
        """Write the derived data for the next process; called when a store is closed."""

    def discard(self) -> None:
        """Remove the derived data from the disk after a memory was erased for good.

        Raises:
            StorageUnavailable: a file cannot be deleted.
        """

    def discard_others(self) -> None:
        """Remove from the disk the derived data of every model except this one.

        Raises:
            StorageUnavailable: a file cannot be deleted.
        """

    def rebuild(self) -> None:
        """Drop the derived data; the next search reads the storage again."""


@runtime_checkable
class SupportsErasure(SupportsIndex, Protocol):
    """A search that knows which of its files may hold an erased memory."""

    def discard_erased(self, ids: Collection[str]) -> None:
        """Remove from the disk what may hold a memory in `ids`, all derived data without ids.

        Raises:
            StorageUnavailable: a file cannot be deleted.
        """


def discard_erased(search: Search, ids: Collection[str]) -> None:
    """Remove the derived data of the erased memories `ids` from the disk, if there is any.

    Without `ids`, of which some are not known any more, all derived data are removed.
    """
    if isinstance(search, SupportsErasure):
        search.discard_erased(ids)
    elif isinstance(search, SupportsIndex):
        search.discard()


@runtime_checkable
class SupportsSimilar(Protocol):
    """A search that compares pairs of stored memories, by meaning and by words."""

    def find_similar(
        self,
        memory_id: str,
        text: str,
        criteria: Criteria,
        *,
        ignored: Collection[str],
        limit: int,
    ) -> list[tuple[str, float]]:
        """Return at most `limit` ids of memories similar to a stored memory, with scores.

        Scores are in [0, 1], the most similar memory comes first. `text` is the text of the memory
        `memory_id`. The result excludes this memory and the memories in `ignored`.

        For a search without this method, `MemoryStore` compares the memories that `nearest` returns
        by their cosines.
        """


@runtime_checkable
class SupportsNeighbors(Protocol):
    """A search that measures how near stored memories are, by meaning and by words apart."""

    def find_neighbors(
        self, memory_id: str, text: str, criteria: Criteria, *, limit: int
    ) -> list[Neighbor]:
        """Return the `limit` nearest memories by meaning and the `limit` nearest by words.

        `text` is the text of the stored memory `memory_id`, which is not returned. Each memory
        appears once, the most similar first.

        For a search without this method, the dreamer compares the memories that `nearest` returns
        by their cosines.
        """


class Timeline(Protocol):
    """The memories that meet criteria, ordered by time."""

    @property
    def moments(self) -> NDArray[np.int64]:
        """The moments of the memories, ascending, in microseconds since the epoch."""

    def page(
        self, after: tuple[int, str] | None, limit: int, *, newest_first: bool
    ) -> list[tuple[int, str]]:
        """Return the next `limit` pairs (moment, id) after `after`, None for the beginning.

        Equal moments are ordered by id, in the same direction.
        """

    def by_scope(self) -> dict[str, int]:
        """Return the number of memories by scope, largest first."""

    def by_kind(self) -> dict[str, int]:
        """Return the number of memories by kind, largest first."""


@runtime_checkable
class SupportsTimeline(Protocol):
    """A search that lists memories by time without reading the storage."""

    def timeline(self, criteria: Criteria) -> Timeline:
        """Return the memories that meet `criteria`.

        For a search without this method, `MemoryStore` reads the memories from the storage.
        """
