"""The protocol below the ranking: what an engine must find so that a search need not read all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from attrs import frozen

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import JournalEnd

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from infinite_memory.core.values.time_range import TimeRange


__all__ = ["CandidateEngine", "Candidates", "Counts", "Selection", "WordMatches"]

Columns_co = TypeVar("Columns_co", covariant=True)
Entry_contra = TypeVar("Entry_contra", contravariant=True)


@frozen(kw_only=True)
class Selection:
    """The memories among which an engine looks: those that meet `criteria`, less `without`.

    `without` are ids whose newest state the caller has itself. With `within`, a memory happened in
    that range or holds from a moment in it on.
    """

    criteria: Criteria
    without: frozenset[str] = frozenset()
    within: TimeRange | None = None


@frozen(kw_only=True)
class Counts:
    """How many memories are selected, `pending` of them without a vector.

    `length` is the sum of their lengths in terms. `documents` counts those with each term, exactly
    where they are few.
    """

    memories: int = 0
    pending: int = 0
    length: int = 0
    documents: Mapping[int, int] = {}


@frozen(kw_only=True, eq=False)
class WordMatches(Generic[Columns_co]):
    """The ids of the best memories by words, best first, and the counts of all selected ones.

    `sample` are the columns of memories drawn by lot, of all if there are not many more.
    """

    ids: tuple[str, ...]
    counts: Counts
    sample: Columns_co


class Candidates(Protocol[Columns_co]):
    """Finds the memories that may be among the best, for the ranking to choose from.

    The built-in index is one implementation, an engine of others another. Every method may be
    called from any thread. `Columns` is what holds documents: `search.segment.Segment`.

    Every method raises `StorageUnavailable` where the engine cannot be reached.
    """

    def match_words(
        self, shares: Mapping[int, float], selection: Selection, *, limit: int
    ) -> WordMatches[Columns_co]:
        """Return the best `limit` memories by BM25, and the counts of the selected memories.

        `shares` are the shares of the weight of every term, by its hash.
        """

    def nearest(
        self, vectors: NDArray[np.float32], selection: Selection, *, limit: int
    ) -> dict[str, float]:
        """Return the ids of the `limit` memories nearest to each vector, with their cosines.

        `vectors` are unit vectors, shape (n, dimensions). The nearest passage of a memory counts,
        and the nearest vector. An engine may miss some, up to its recall.
        """

    def columns(self, ids: Collection[str], selection: Selection) -> Columns_co:
        """Return the columns of the selected memories among `ids`, and of those beside them.

        Beside a memory are the two turns before it and the two after it in its conversation, and
        the memories with the same canonical text, as far as they are selected.
        """


class CandidateEngine(Candidates[Columns_co], Protocol[Columns_co, Entry_contra]):
    """Candidates that are kept outside of the process, and follow the feed of a storage.

    The storage is the truth: whatever an engine has can be read from the feed again.
    """

    def position(self) -> int:
        """Return the cursor of the feed up to which it has taken in every change, 0 at first."""

    def end(self) -> JournalEnd:
        """Return the `end` of the last `take_in`, that of an empty journal at first."""

    def take_in(
        self,
        entries: Sequence[Entry_contra],
        gone: Collection[str],
        *,
        after: int,
        position: int,
        end: JournalEnd = JournalEnd(),  # noqa: B008 - a frozen value
    ) -> bool:
        """Replace `entries`, remove the ids in `gone` and move to `position`, all or nothing.

        `end` is the end of the storage's journal at `position` or before: a copy of the store that
        went on by itself has another entry there.

        Return False, and change nothing, unless it is at the cursor `after`: another process was
        quicker.
        """

    def clear(self) -> None:
        """Remove everything, so that it is at the cursor 0."""

    def clear_others(self) -> None:
        """Remove what it has of this store by other models."""

    def scrub(self) -> None:
        """Remove the bytes of what is gone, as far as the engine can."""

    def close(self) -> None:
        """Release everything that this object opened. Closing twice does nothing."""
