"""The protocols of a storage, a search and an embedder; implementations need not subclass them.

An implementation of `Storage`, `Search` or `Embedder` must pass its contract in
`infinite_memory.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from infinite_memory.model.access.key import AccessKey
from infinite_memory.model.commit import Commit
from infinite_memory.model.copying import CopyMark
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.entry import Entry, JournalEnd
from infinite_memory.model.link import Link
from infinite_memory.model.memory import Memory
from infinite_memory.model.question import Question, Ranking
from infinite_memory.model.record import Changes, Page, Record, Size, Usage
from infinite_memory.model.scope import Scope
from infinite_memory.model.verification import Finding, Verification, Walked

__all__ = [
    "Embedder",
    "Search",
    "SearchFactory",
    "Storage",
    "SupportsBriefCalls",
    "SupportsCopyMark",
    "SupportsDamage",
    "SupportsIndex",
    "SupportsKeys",
    "SupportsSimilar",
    "SupportsTermCounts",
    "SupportsTimeline",
    "SupportsVerify",
    "Timeline",
    "limit_to_brief_calls",
]


class Storage(Protocol):
    """A database of records. Policy, such as when to keep, find or forget, is decided above it.

    Every method may be called from any thread. A commit is durable when `commit` returns, and
    visible to every read that starts afterwards, through any object on the same store in any
    process. A closed storage raises `StoreClosed`, an unreachable storage `StorageUnavailable`. A
    damaged record is never returned: it raises `StoreDamaged`.
    """

    @property
    def identity(self) -> str:
        """The UUID of the store, set at its creation; it never changes."""

    def commit(self, commit: Commit) -> int:
        """Carry out all of `commit`, or nothing; return the cursor of the feed after it.

        `Commit` documents the order in which its fields are applied. Erasing an unknown id without
        an expected revision, attaching to a revision that is not current, and detaching a
        missing embedding or erasing a missing link change nothing. Scopes, links, access keys, the
        active model and the journal do not move the feed. A damaged memory can only be erased.

        Raises:
            Conflict: a `Put` or an `Erase` expected a revision that is not current, or
                `commit.expect` does not hold.
            InvalidInput: a `Put` does not raise the revision, an embedding is malformed, a weight
                is out of its range, or the same id, link, scope or access key is written twice.
            StorageUnavailable: the commit was not carried out; or the message says that its outcome
                is unknown, and the caller must read before it tries again.
        """

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        """Return the records of `ids` by id, without unknown ids.

        A record has its embeddings by `models`, None for all models; further embeddings are not
        read.

        Raises:
            StoreDamaged: a record is damaged; the caller can read the rest without its id.
        """

    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        """Return at most `limit` memories that meet `criteria`, newest `happened_at` first.

        Equal times are ordered by id, descending. `after` is the `next` of an earlier page. Damaged
        memories are omitted here, in the feed and in `pending`.

        Raises:
            InvalidInput: `after` is not a cursor of a page, or `limit` is less than 1.
        """

    def history(self, memory_id: str) -> list[Memory]:
        """Return all revisions of a memory, oldest first, including the current; [] if unknown."""

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return the members of `ids` that were erased and not stored again since."""

    def find_ids(self, endings: Collection[str]) -> dict[str, str]:
        """Return the ids that end with any of `endings`, with the scopes of their memories.

        An ending is the last eight characters of an id, or the whole of a shorter id. Memories of
        every status are included. The time does not grow with the number of memories.
        """

    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        """Return the latest state of at most `limit` memories changed since the cursor `after`.

        `models` are the models of `get`. The oldest change comes first; a memory that changed twice
        appears once, at its last change; the cursor 0 reads from the beginning. A reader that
        always continues from the returned cursor misses no write of any process, and may see a
        state twice. A cursor beyond the end gives no items and the cursor of the end.
        """

    def position(self) -> int:
        """Return the cursor after the last change; cheap enough for a call before every search."""

    def active_model(self) -> str | None:
        """Return the model that a commit named last, None before it; as cheap as `position`."""

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return at most `limit` ids of memories without a sound embedding by `model`.

        The oldest change comes first; forgotten memories are omitted. It is cheap enough for a call
        after every commit: its time does not grow with the number of memories.
        """

    def scopes(self) -> dict[str, Scope]:
        """Return every scope by name, including `Global`."""

    def access_keys(self, ids: Collection[str] | None = None) -> dict[str, AccessKey]:
        """Return the sound access keys `ids` by id, None for all; cheap for a single id."""

    def links(self, ids: Collection[str]) -> list[Link]:
        """Return every link from or to the memories `ids`, ordered by source, target and type."""

    def journal(
        self, *, before: int | None = None, limit: int, memory_id: str | None = None
    ) -> list[Entry]:
        """Return at most `limit` entries of the journal, newest first.

        `before` selects entries with a lower number, `memory_id` entries that changed a memory.

        Raises:
            StoreDamaged: an entry is damaged.
        """

    def journal_end(self) -> JournalEnd:
        """Return the number and the digest of the last entry, which are stored apart from it."""

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """Return the usage of the memories `ids`, without memories that were never used."""

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add counts durably, and keep the latest moment of each memory; the feed does not move.

        Unknown memories are ignored.
        """

    def measure(self) -> Size:
        """Count the records and the bytes of the store."""

    def scrub(self) -> bool:
        """Remove every byte of erased memories from the files; return whether that is done.

        False means that earlier readers still use some bytes; the storage removes them by itself
        when the readers have finished.
        """

    def close(self) -> None:
        """Release everything that this object opened. Closing twice does nothing."""


@runtime_checkable
class SupportsVerify(Protocol):
    """A storage that can verify everything it holds. Without it, all records are read."""

    def verify(self, walked: Walked | None = None) -> Verification:
        """Verify every record with its history, its vectors and all data derived from it.

        Nothing is changed. Damaged records are omitted from every later result. `walked` receives
        the number of verified memories and their total from time to time.

        Raises:
            StorageUnavailable: the store cannot be read at the moment.
        """


@runtime_checkable
class SupportsBriefCalls(Protocol):
    """A storage on a server, whose calls can be limited to a short wait for an answer."""

    def brief_calls(self) -> AbstractContextManager[None]:
        """Return a context in which the calls of this thread give up after about a second.

        After a call without an answer, later calls give up at once.
        """


def limit_to_brief_calls(storage: Storage) -> AbstractContextManager[None]:
    """Return a context, used when a store is closed, whose calls do not wait long for a server."""
    return storage.brief_calls() if isinstance(storage, SupportsBriefCalls) else nullcontext()


@runtime_checkable
class SupportsCopyMark(Protocol):
    """A storage that can be marked as a copy, so that an interrupted copy can continue."""

    def copy_mark(self) -> CopyMark | None:
        """Return the mark, None if it is missing or unreadable."""

    def mark_copy(self, mark: CopyMark) -> None:
        """Replace the mark, durably and atomically."""


@runtime_checkable
class SupportsDamage(Protocol):
    """A storage that remembers the damaged records that it omitted from its answers."""

    def damage(self) -> tuple[Finding, ...]:
        """Return a finding for every damaged record that this object has read."""


@runtime_checkable
class SupportsKeys(Protocol):
    """A storage that lists keys without reading memories; without this, memories are read."""

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        """Return the first `limit` keys, by code point, of the current memories in `scopes`."""


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


SearchFactory = Callable[["Storage", "Embedder"], Search]
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
class SupportsTermCounts(Protocol):
    """A search that counts the memories which hold a name, without ranking them."""

    def count_holding(self, name: str, criteria: Criteria) -> tuple[int, int]:
        """Count the memories that meet `criteria` and hold all words of `name`, and all that meet.

        For a search without this method, `MemoryStore` counts the matches of `name` by words.
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


class Embedder(Protocol):
    """A model that turns text into unit vectors; the vector of a text does not depend on its batch.

    Every method may be called from any thread. `model`, `dimensions` and `embed` are required.
    Optional members replace their defaults:

    - `embed_query(text) -> vector`: the unit vector of a question, shape (dimensions,), for a model
      that treats questions unlike texts. By default `embed([text])[0]`.
    - `spans(text) -> array`: the overlapping passages of `text` that fit the window of the model,
      as half-open character ranges, int32, shape (passages, 2), at least one. By default passages
      of at most 192 words and signs, on sentence boundaries.
    - `understands(text) -> bool`: whether the model was made for the language of `text`. By default
      True.
    - `background`: the cosine that two unrelated texts have on average; models differ widely in it.
      By default it is measured on sixteen sentences when it is first needed.

    A vector with a wrong shape or type, with values that are not finite, or with a length that
    differs from 1 by more than 0.001 is refused: the text is stored and found by its words, and the
    receipt names the fault.
    """

    @property
    def model(self) -> str:
        """The name of the model with a digest of its files; vectors of two models never mix."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the unit vectors of `texts`, float32, shape (len(texts), dimensions).

        Raises:
            EmbedderError: the model cannot be loaded or run.
        """
