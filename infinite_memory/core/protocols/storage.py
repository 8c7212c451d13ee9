"""The protocol of a storage, and the optional powers of one that concern its records."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Protocol, runtime_checkable

from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Entry, JournalEnd
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Changes, Page, Record, Size, Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import Finding, Verification, Walked

__all__ = [
    "Storage",
    "SupportsBriefCalls",
    "SupportsDamage",
    "SupportsKeptCounts",
    "SupportsKeys",
    "SupportsPartitions",
    "SupportsTagCounts",
    "SupportsUsageChanges",
    "SupportsVerify",
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

        The cursor is 0 where the storage knows it only after the next call of `position`.
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

    def scopes(self) -> Mapping[str, Scope]:
        """Return every scope by name, including `Global`; a `ScopeTable` where there are many."""

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
        """Return the usage of the memories `ids`, without memories that were never used.

        A memory that searches have activated, and nobody has recalled, has a usage with the count 0
        and no last recall.
        """

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add counts and activations durably, as `Usage.plus` does; the feed does not move.

        Unknown memories are ignored, and so is a usage without any moment.
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
class SupportsDamage(Protocol):
    """A storage that remembers the damaged records that it omitted from its answers."""

    def damage(self) -> tuple[Finding, ...]:
        """Return a finding for every damaged record that this object has read."""


@runtime_checkable
class SupportsKeys(Protocol):
    """A storage that lists keys without reading memories; without this, memories are read."""

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        """Return the first `limit` keys, by code point, of the current memories in `scopes`."""


@runtime_checkable
class SupportsTagCounts(Protocol):
    """A storage that keeps counts of tags; without this, memories are read."""

    def count_tags(self, scopes: Collection[str] | None, at: datetime) -> dict[str, int] | None:
        """Return how many current memories in `scopes`, None for all, have each folded tag.

        Topic summaries do not count, nor memories that have ended `at` a moment. The time does not
        grow with the number of memories, save those whose validity has an end. None: a storage
        beneath cannot tell.
        """


@runtime_checkable
class SupportsKeptCounts(Protocol):
    """A storage that keeps counts beside its records."""

    def rebuild_counts(self) -> None:
        """Count the records anew, in one transaction; `verify` finds where a count is wrong."""


@runtime_checkable
class SupportsPartitions(Protocol):
    """A storage in several parts, which carries out quickly what one of them can do alone."""

    def keeps_together(self, memory_id: str, scope: str) -> bool:
        """Return whether a new memory of that id would lie where the others of `scope` are."""


@runtime_checkable
class SupportsScopeFeed(Protocol):
    """A storage that reads the feed of one scope, at the cost of what is in it.

    Without it, the index of the whole store is read for every scope.
    """

    def changes_in(
        self, scope: str, after: int, *, limit: int, models: Collection[str] | None = None
    ) -> tuple[Changes, int]:
        """Return the changes since `after` of the memories that are in `scope` now, as `changes`.

        The second value is the number of memories in `scope`, of every status, at the same moment.
        What has left the scope is not among the changes: `ids_in` tells.
        """

    def ids_in(self, scope: str) -> tuple[frozenset[str], int]:
        """Return the ids of all memories in `scope`, and the cursor of the feed at that moment."""


@runtime_checkable
class SupportsUsageChanges(Protocol):
    """A storage with a feed of usage; without this, the usage of every memory is read again."""

    def usage_changes(self, after: int, *, limit: int) -> tuple[list[str], int] | None:
        """Return at most `limit` ids whose usage changed since the cursor `after`, and a cursor.

        The oldest change comes first; an id is there once, at its last change. To erase a memory
        that was used is a change, and an empty id says that any usage may have changed. A cursor
        beyond the end gives no ids and the cursor of the end. None: a storage beneath cannot tell.
        """
