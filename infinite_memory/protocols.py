"""The interfaces that can be implemented by others; users never subclass.

`infinite_memory.testing` has the contracts that an implementation of `Storage`, of `Search` and of
`Embedder` must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from infinite_memory.model.commit import Commit
from infinite_memory.model.copying import CopyMark
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.entry import Entry, JournalEnd
from infinite_memory.model.findings import Finding, Verification, Walked
from infinite_memory.model.link import Link
from infinite_memory.model.memory import Memory
from infinite_memory.model.question import Arm, Question, Ranking
from infinite_memory.model.record import Changes, Page, Record, Size
from infinite_memory.model.scope import Scope
from infinite_memory.model.usage import Usage

__all__ = [
    "Embedder",
    "Search",
    "SearchFactory",
    "Storage",
    "SupportsBriefCalls",
    "SupportsCopyMark",
    "SupportsDamage",
    "SupportsIndex",
    "SupportsSimilar",
    "SupportsTermCounts",
    "SupportsTimeline",
    "SupportsVerify",
    "Timeline",
    "count_holding",
    "limit_to_brief_calls",
]


class Storage(Protocol):
    """Keeps records. Knows nothing of policy: what to keep, find or forget is decided above it.

    Every method may be called from any thread. What `commit` has returned from is durable, and is
    seen by every read that starts afterwards, through this object or any other open on the same
    store, in this process or another. A method of a closed storage raises `StoreClosed`; what
    cannot be reached raises `StorageUnavailable`; a record that is not as it was written raises
    `StoreDamaged` and is never returned.
    """

    @property
    def identity(self) -> str:
        """The UUID that this store was given when it was created; it never changes."""

    def commit(self, commit: Commit) -> int:
        """Carry out all of `commit`, or nothing; return the cursor of the feed after it.

        `Commit` gives the order in which its fields are applied. To erase what does not exist,
        where no revision is expected, to attach to a revision that is not current, and to detach or
        unlink what is not there, changes nothing. Scopes, links and the journal do not move the
        feed. A damaged memory can be erased, not revised.

        Raises:
            Conflict: a `Put` or an `Erase` expected another revision than the current one, or
                `commit.expect` does not hold.
            InvalidInput: a `Put` does not raise the revision, an embedding is malformed, a weight
                is out of its range, or the same id, link or scope is written twice.
            StorageUnavailable: it was not carried out; or the message says that the outcome is
                unknown, and then the caller looks before it tries again.
        """

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        """Return the records with these ids; an id that does not exist is left out.

        They have their embeddings by `models`, None for all of them; others are not even read.

        Raises:
            StoreDamaged: one of them is damaged; ask for the others without it.
        """

    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        """Return at most `limit` memories that meet `criteria`, newest `happened_at` first.

        Equal times are ordered by id, descending. `after` is the `next` of an earlier page. What
        is damaged is left out, here, in the feed and in `pending`.

        Raises:
            InvalidInput: `after` is no such cursor, or `limit` is less than 1.
        """

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision of a memory, oldest first, the current one last; [] if unknown."""

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return those of `ids` that were erased, and not stored again since."""

    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        """Return the latest state of at most `limit` memories changed since the cursor `after`.

        `models` are those of `get`.

        Oldest change first; a memory that changed twice appears once, at its last change; 0 reads
        from the beginning. A reader that always goes on from the returned cursor misses no write,
        whichever process made it. It may be told of the same state twice. A cursor beyond the end
        gives nothing and the cursor of the end.
        """

    def position(self) -> int:
        """Return the cursor behind the last change; cheap enough to ask before every search."""

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return at most `limit` ids of memories without a sound embedding by `model`.

        Those that changed longest ago come first; forgotten memories are left out. Cheap enough to
        ask whenever the feed has moved: it takes no longer the more memories there are.
        """

    def scopes(self) -> dict[str, Scope]:
        """Return every scope by name; `Global` is always among them."""

    def links(self, ids: Collection[str]) -> list[Link]:
        """Return every link from or to one of these memories, by source, target and type."""

    def journal(
        self, *, before: int | None = None, limit: int, memory_id: str | None = None
    ) -> list[Entry]:
        """Return at most `limit` entries of the journal, newest first.

        `before` gives those with a lower number; `memory_id` those that changed that memory.

        Raises:
            StoreDamaged: one of them is not as it was written.
        """

    def journal_end(self) -> JournalEnd:
        """Return the number and the digest of the last entry, as they were noted when it was made.

        They are kept apart from the entries, so that a missing or a foreign one is noticed.
        """

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """Return how often these memories were used; one that never was is left out."""

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add these counts durably, and keep the latest moment of each; the feed does not move.

        A memory that does not exist is passed over.
        """

    def measure(self) -> Size:
        """Count what is stored."""

    def scrub(self) -> bool:
        """Make sure that no byte of what was erased is left in the files of this store.

        Return whether that is so now. False says that readers who began before hold some bytes
        there, and that the storage removes them by itself once these have ended.
        """

    def close(self) -> None:
        """Release everything that this object opened. Closing twice does nothing."""


@runtime_checkable
class SupportsVerify(Protocol):
    """A storage that can look at everything it holds. One that cannot is read from end to end."""

    def verify(self, walked: Walked | None = None) -> Verification:
        """Look at every record, its history and vectors, and whatever was derived from them.

        Nothing is changed. What is found damaged is left out of every result from then on.
        `walked` is told from time to time how many memories are done, and of how many.

        Raises:
            StorageUnavailable: the store cannot be read at the moment.
        """


@runtime_checkable
class SupportsBriefCalls(Protocol):
    """A storage on a server, which can be kept from waiting for one that does not answer."""

    def brief_calls(self) -> AbstractContextManager[None]:
        """Return a context in which a call of this thread that has no answer soon gives up.

        Soon is about a second, and after one call without an answer at once.
        """


def limit_to_brief_calls(storage: Storage) -> AbstractContextManager[None]:
    """Return a context in which the calls of this thread do not wait for a server, if there is one.

    A store is closed in it.
    """
    return storage.brief_calls() if isinstance(storage, SupportsBriefCalls) else nullcontext()


@runtime_checkable
class SupportsCopyMark(Protocol):
    """A storage that can be marked as the copy of another one, so that copying goes on there.

    To one that cannot, a store is copied in one go.
    """

    def copy_mark(self) -> CopyMark | None:
        """Return the mark, None where there is none that can be read."""

    def mark_copy(self, mark: CopyMark) -> None:
        """Write the mark in the place of the one before, durably and as a whole."""


@runtime_checkable
class SupportsDamage(Protocol):
    """A storage that remembers what it has left out of its answers because it is damaged."""

    def damage(self) -> tuple[Finding, ...]:
        """Return what this object has found damaged so far, a finding each."""


class Search(Protocol):
    """Finds the memories of one storage, by words and by the vectors of one embedder.

    Every method may be called from any thread. A call sees every commit that was acknowledged
    before it, by any process, and never gives a memory that was erased before it. A search is
    derived from its storage: it can be thrown away at any time, and a new one gives the same.
    """

    def search(self, question: Question) -> Ranking:
        """Return the memories that answer `question` best.

        Only memories that meet the criteria are counted or given. Where the embedder fails, the
        memories are compared by words alone, and the note of the ranking says so.
        """

    def nearest(
        self, to: str | NDArray[np.float32], criteria: Criteria, *, limit: int
    ) -> list[tuple[str, float]]:
        """Return at most `limit` ids of memories that meet `criteria`, with their cosines.

        `to` is the id of a memory, which is left out of the result, or a unit vector of shape
        (dimensions,). Of several passages of a memory the nearest counts. The nearest memory comes
        first, equal ones by id. A memory without a vector is near to none.

        Raises:
            NotFound: there is no memory with the id `to`.
        """


SearchFactory = Callable[["Storage", "Embedder"], Search]
"""Makes a search of a storage by the vectors of an embedder, such as the class of a search."""


@runtime_checkable
class SupportsIndex(Protocol):
    """A search that keeps derived data in memory or in files."""

    def warm_up(self) -> None:
        """Load what the first search would otherwise wait for."""

    def save(self) -> None:
        """Write the derived data for the next process; called when a store is closed."""

    def discard(self) -> None:
        """Remove the derived data from the disk, since a memory was erased for good.

        Raises:
            StorageUnavailable: a file cannot be deleted.
        """

    def discard_others(self) -> None:
        """Remove the derived data of other models from the disk.

        Raises:
            StorageUnavailable: a file cannot be deleted.
        """

    def rebuild(self) -> None:
        """Drop the derived data; the next search reads the storage again."""


@runtime_checkable
class SupportsSimilar(Protocol):
    """A search that compares stored memories with each other, by meaning and by words."""

    def find_similar(
        self,
        memory_id: str,
        text: str,
        criteria: Criteria,
        *,
        ignored: Collection[str],
        limit: int,
    ) -> list[tuple[str, float]]:
        """Return at most `limit` ids of memories similar to a stored one, with scores in [0, 1].

        The most similar memory comes first. `text` is that of the memory `memory_id`, which is not
        returned, nor are the memories in `ignored`. For a search without this method, `MemoryStore`
        compares the memories that `nearest` returns by their cosines.
        """


@runtime_checkable
class SupportsTermCounts(Protocol):
    """A search that counts the memories which hold a name, without ranking them."""

    def count_holding(self, name: str, criteria: Criteria) -> tuple[int, int]:
        """Count the memories that meet `criteria` and hold each word of `name`, and all that meet.

        Of a search without this method, `MemoryStore` takes the matches of `name` by words.
        """


def count_holding(search: Search, name: str, criteria: Criteria) -> tuple[int, int]:
    """Count the memories that meet `criteria` and hold `name`, and all that meet `criteria`."""
    if isinstance(search, SupportsTermCounts):
        return search.count_holding(name, criteria)
    words = frozenset({Arm.WORDS})
    ranking = search.search(
        Question(text=name, criteria=criteria, limit=1, threshold=0.0, arms=words)
    )
    return ranking.matches, ranking.eligible


class Timeline(Protocol):
    """The memories that meet some criteria, in the order of time."""

    @property
    def happened(self) -> NDArray[np.int64]:
        """The moment of each memory, ascending, in microseconds since the epoch."""

    def stretch(
        self, after: tuple[int, str] | None, limit: int, *, newest_first: bool
    ) -> list[tuple[int, str]]:
        """Return the next `limit` (moment, id) behind `after`, None for the beginning.

        Equal moments are ordered by id, in the direction of the whole.
        """

    def by_scope(self) -> dict[str, int]:
        """Return how many memories each scope has, the largest first."""

    def by_kind(self) -> dict[str, int]:
        """Return how many memories there are of each kind, the largest first."""


@runtime_checkable
class SupportsTimeline(Protocol):
    """A search that gives memories in the order of time, without reading all of them."""

    def timeline(self, criteria: Criteria) -> Timeline:
        """Return the memories that meet `criteria`.

        For a search without this method, `MemoryStore` reads the memories from the storage.
        """


class Embedder(Protocol):
    """Turns text into unit vectors. The same text gives the same vector, however it is batched.

    Every method may be called from any thread. `model`, `dimensions` and `embed` are needed. An
    embedder may also have these, in place of their defaults:

    - `embed_query(text) -> vector`: the unit vector of a question, shape (dimensions,), for a model
      that treats questions unlike texts. By default `embed([text])[0]`.
    - `spans(text) -> array`: the overlapping passages of `text` that fit the window of the model,
      as half-open character ranges, int32, shape (passages, 2), at least one. By default passages
      of at most 192 words and signs, on sentence boundaries.
    - `understands(text) -> bool`: whether the model was made for the language of `text`. By default
      True.
    - `background`: the cosine that two unrelated texts have on average; models differ widely in it.
      By default it is measured on sixteen sentences when it is first needed.

    A vector of another shape or type, that is not finite, or whose length is not 1 within 0.001, is
    refused: the text is stored and found by its words, and the receipt names the fault.
    """

    @property
    def model(self) -> str:
        """The name of the model and a digest of its files; vectors of two models never mix."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector a text, float32, shape (len(texts), dimensions).

        Raises:
            EmbedderError: the model cannot be loaded or run.
        """
