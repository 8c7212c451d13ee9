"""The search index of a process: derived from the storage, kept up to date, disposable."""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Protocol

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from infinite_memory.core.errors import StorageError, StoreClosed
from infinite_memory.core.protocols import Embedder, Storage
from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.dream.neighbor import Neighbor
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.core.values.record import Change, Changes, Record
from infinite_memory.search.cosine import QueryVector
from infinite_memory.search.document import Document, describe
from infinite_memory.search.embedding import CheckedEmbedder
from infinite_memory.search.nearest import find_nearest, load_vectors
from infinite_memory.search.ranking import rank
from infinite_memory.search.reader import Reader
from infinite_memory.search.similarity import find_neighbors, find_similar
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.search.timeline import IndexTimeline

_log = logging.getLogger(__name__)
_FEED_BATCH = 4096
# An index that is far behind builds segments of this size, so that few merges are needed.
_SEGMENT_DOCUMENTS = 32_768
# A new snapshot is due after this many changes that are also a tenth of the store: the first limit
# applies when a store is closed, the second in the background while the store is open.
_SNAPSHOT_CHANGES = 512
_FOLD_CHANGES = 4096
_SHARE = 10


class Folding(Protocol):
    """Indexes that fold in the background."""

    def wait_for_folding(self) -> None:
        """Wait until none of them folds."""


class SearchIndex:
    """Finds memories by words and by meaning. Every method is thread-safe.

    The index ignores vectors by models different from that of `embedder`. Without a `snapshot` the
    index exists only in memory. A background thread folds changes together: a search waits for the
    changes since the last search, and never for the fold.
    """

    def __init__(
        self, storage: Storage, embedder: Embedder, *, snapshot: Snapshot | None = None
    ) -> None:
        self._storage = storage
        self._embedder = CheckedEmbedder(embedder)
        self._snapshot = snapshot
        self._refreshing = threading.Lock()
        self._reader: Reader | None = None
        self._saved_at: int | None = None
        self._folded_at = 0
        self._taken_in: str | None = None
        self._starting = threading.Lock()
        self._folding: threading.Thread | None = None
        self._quietly: Callable[[], AbstractContextManager[None]] = nullcontext
        self.of_scopes: Folding | None = None
        """The indexes of single scopes, None until a handle of few scopes has searched."""

    def refresh(self) -> Reader:
        """Read every change committed before this call, by any process, and return the reader."""
        reader = self._refresh_reader()
        if self._fold_is_due(reader):
            self._start_folding()
        return reader

    def search(self, question: Question) -> Ranking:
        """Return the memories that answer `question` best, as of now.

        If the model cannot run, or does not know the language of the question, the search compares
        words alone and the note of the ranking says so.
        """
        embedder = self._embedder
        embed = embedder.embed_query if embedder.understands(question.text) else None
        reader = self.refresh()
        ranking = rank(
            reader,
            question,
            embed,
            background=embedder.background,
            second_length=embedder.second_length,
            texts=self._texts,
            storage=self._storage,
        )
        return evolve(ranking, has_archived=reader.holds(Status.ARCHIVED))

    def take_in(self, record: Record, position: int) -> None:
        """Take in a new memory that this process just stored as the change `position`.

        If the index had seen every change before it, the feed is not read again.
        """
        model, dimensions = self._embedder.model, self._embedder.dimensions
        with self._refreshing:
            if self._reader is not None and self._reader.cursor == position - 1:
                document = describe(record, model=model, dimensions=dimensions)
                self._reader = self._reader.add_new(
                    document, cursor=position, dimensions=dimensions
                )
                self._taken_in = document.id

    def nearest(
        self, to: str | NDArray[np.float32], criteria: Criteria, *, limit: int
    ) -> list[tuple[str, float]]:
        """Return the ids of the `limit` memories nearest to a memory or a vector, with cosines.

        Raises:
            NotFound: there is no memory with the id `to`.
        """
        vectors = load_vectors(self._storage, to, self._embedder.model)
        queries = [QueryVector.of(vector, self._embedder.second_length) for vector in vectors]
        without = to if isinstance(to, str) else None
        return find_nearest(self.refresh(), queries, criteria, limit=limit, without=without)

    def find_similar(
        self,
        memory_id: str,
        text: str,
        criteria: Criteria,
        *,
        ignored: Collection[str],
        limit: int,
    ) -> list[tuple[str, float]]:
        """Return at most `limit` ids of memories similar to a stored memory, with scores."""
        return find_similar(
            self._read_with(memory_id),
            memory_id,
            text,
            criteria,
            background=self._embedder.background,
            second_length=self._embedder.second_length,
            ignored=ignored,
            limit=limit,
        )

    def find_neighbors(
        self, memory_id: str, text: str, criteria: Criteria, *, limit: int
    ) -> list[Neighbor]:
        """Return the memories nearest to a stored memory, by meaning and by words."""
        return find_neighbors(
            self.refresh(),
            memory_id,
            text,
            criteria,
            background=self._embedder.background,
            second_length=self._embedder.second_length,
            limit=limit,
        )

    def timeline(self, criteria: Criteria) -> IndexTimeline:
        """Return the memories that meet `criteria` in the order of time."""
        return IndexTimeline.of(self.refresh(), criteria)

    def count_behind(self, *, limit: int) -> int:
        """Count the memories, about `limit` at most, that changed since the index read the store.

        The next search reads them. Nothing is read into the index here, and memories that are gone
        do not count.
        """
        reader = self._reader
        if reader is not None:
            cursor = reader.cursor
        else:
            cursor = 0 if self._snapshot is None else self._snapshot.cursor()
        behind, position = 0, self._storage.position()
        while cursor < position and behind < limit:
            changes = self._storage.changes(cursor, limit=_FEED_BATCH, models=())
            behind += sum(change.record is not None for change in changes.items)
            if changes.cursor <= cursor:
                break
            cursor = changes.cursor
        return behind

    def is_spared(self) -> bool:
        """Return whether people search single scopes here, and nobody asked for the whole yet."""
        if self._reader is not None:
            return False
        has_scopes = self._snapshot is not None and self._snapshot.has_scopes()
        return self.of_scopes is not None or has_scopes

    def warm_up(self) -> None:
        """Map the snapshot and read the changes since it was written, unless it is spared."""
        if not self.is_spared():
            self.refresh()

    def save(self) -> None:
        """Write the snapshot for the next process, if enough changed since the last snapshot."""
        if self._snapshot is not None:
            # Fail here first if the server is gone: a running fold would wait for the server.
            self._storage.position()
        self._wait_for_folding()
        if self.is_spared():
            return
        if self._snapshot is not None and self._worth_saving(self._snapshot):
            self._write(self._snapshot, self._refresh_reader().compact())

    def discard(self) -> None:
        """Remove every snapshot of the store, see `discard_erased`."""
        self.discard_erased(())

    def discard_erased(self, ids: Collection[str]) -> None:
        """Remove the snapshots, so that no byte of the erased memories `ids` is left in a file.

        Those of scopes that do not hold any of `ids` stay, if there are `ids`. This process first
        maps its snapshot, to write a new snapshot without the erased memories.
        """
        if self._snapshot is not None:
            with self._refreshing:
                if self._reader is None and (mapped := self._map_snapshot()).cursor:
                    self._reader = mapped
            self._snapshot.remove(holding=ids)
        self._saved_at = self._folded_at = 0

    def discard_others(self) -> None:
        """Remove the snapshots of former models, whose vectors are gone.

        Raises:
            StorageUnavailable: a snapshot cannot be deleted.
        """
        if self._snapshot is not None:
            self._snapshot.remove(others=True)

    def load_snapshot(self) -> Reader | None:
        """Return the snapshot that the next process would map, with every byte verified.

        None if this store and model have no snapshot.

        Raises:
            ValueError: the snapshot is damaged; the message says how.
        """
        return None if self._snapshot is None else self._snapshot.load_verified()

    def rebuild(self) -> None:
        """Discard the index and remove its snapshot; the next search reads the store."""
        with self._starting, self._refreshing:
            self._reader = None
        self._wait_for_folding()
        with self._refreshing:
            self._remove()
            self._reader = None
        self.of_scopes = None

    def _read_with(self, memory_id: str) -> Reader:
        """Return a reader with a stored memory; the last that was taken in needs no refresh."""
        reader, taken_in, self._taken_in = self._reader, self._taken_in, None
        if reader is None or memory_id != taken_in or self._fold_is_due(reader):
            return self.refresh()
        return reader

    def _texts(self, ids: Collection[str]) -> dict[str, str]:
        return {i: record.memory.text for i, record in self._storage.get(ids).items()}

    def _refresh_reader(self) -> Reader:
        position = self._storage.position()
        reader = self._reader
        if reader is not None and reader.cursor >= position:
            return reader
        with self._refreshing:
            reader = self._reader if self._reader is not None else self._map_snapshot()
            self._reader = reader = self._catch_up(reader, position)
            return reader

    def _map_snapshot(self) -> Reader:
        """Return a reader of the snapshot and of the changes since it was written."""
        reader = self._snapshot.read() if self._snapshot is not None else None
        if reader is None:
            return Reader()
        position = self._storage.position()
        if reader.cursor > position:
            # The feed of an older copy will reach this cursor again, with different memories.
            _log.warning(
                "the index had seen %d changes and the store has only %d: is it an older copy?",
                reader.cursor,
                position,
            )
            self._remove()
            return Reader()
        self._saved_at = self._folded_at = reader.cursor
        return self._catch_up(reader, position, mapped=reader)

    def _catch_up(self, reader: Reader, position: int, *, mapped: Reader | None = None) -> Reader:
        """Return `reader` with at least all changes up to the cursor `position`.

        The snapshot is removed if a memory in `mapped`, which reads it, may be erased since.
        """
        # Read once: the property builds the name of the model at every access.
        model, dimensions = self._embedder.model, self._embedder.dimensions
        while reader.cursor < position:
            cursor = reader.cursor
            latest: dict[str, Document | None] = {}
            while cursor < position and len(latest) < _SEGMENT_DOCUMENTS:
                changes = self._read_changes(cursor, limit=_FEED_BATCH, models=(model,))
                if mapped and any(_may_be_erased(mapped, change) for change in changes.items):
                    # The writer of the file ended before it could check for erased memories.
                    self._remove()
                    mapped = None
                for change in changes.items:
                    record = change.record
                    latest[change.id] = (
                        None
                        if record is None or not record.memory.is_indexed
                        else describe(record, model=model, dimensions=dimensions)
                    )
                if changes.cursor <= cursor:
                    # An older copy has replaced the store: its cursor will never reach `position`.
                    position = cursor
                cursor = max(cursor, changes.cursor)
            reader = reader.apply_changes(
                [document for document in latest.values() if document is not None],
                [memory_id for memory_id, document in latest.items() if document is None],
                cursor=cursor,
                dimensions=dimensions,
            )
            _log.debug("index at %d with %d memories", reader.cursor, len(reader))
        return reader

    def _read_changes(self, after: int, *, limit: int, models: Collection[str]) -> Changes:
        return self._storage.changes(after, limit=limit, models=models)

    def _remove(self) -> None:
        if self._snapshot is not None:
            self._snapshot.remove()
        self._saved_at = self._folded_at = 0

    def _write(self, snapshot: Snapshot, compact: Reader) -> bool:
        """Write a snapshot; return whether the file exists with the cursor of `compact`."""
        if not snapshot.write(compact):
            return False
        self._saved_at = compact.cursor
        if self._erased_since(compact):
            # A memory erased during the write must not stay in the file.
            self._remove()
            return False
        return True

    def _worth_saving(self, snapshot: Snapshot) -> bool:
        if self._saved_at is None:
            self._saved_at = snapshot.cursor()
        behind = self._storage.position() - self._saved_at
        return behind >= max(_SNAPSHOT_CHANGES, self._saved_at // _SHARE)

    def _erased_since(self, reader: Reader) -> bool:
        """Return whether a memory in `reader` may have been erased since its cursor."""
        cursor = reader.cursor
        while True:
            changes = self._read_changes(cursor, limit=_FEED_BATCH, models=())
            if any(_may_be_erased(reader, change) for change in changes.items):
                return True
            # A batch of damaged records has no items, but its cursor advances.
            if changes.cursor <= cursor:
                return False
            cursor = changes.cursor

    def _fold_is_due(self, reader: Reader) -> bool:
        return reader.cursor - self._folded_at >= max(_FOLD_CHANGES, self._folded_at // _SHARE)

    def _start_folding(self) -> None:
        with self._starting:
            if self._folding is not None and self._folding.is_alive():
                return
            self._folding = threading.Thread(
                target=self._fold_quietly, name="infinite-memory-index", daemon=True
            )
            self._folding.start()

    def _wait_for_folding(self) -> None:
        with self._starting:
            folding = self._folding
        if folding is not None:
            folding.join()
        if self.of_scopes is not None:
            self.of_scopes.wait_for_folding()

    def _fold_quietly(self) -> None:
        try:
            with self._quietly():
                self._fold()
            release_memory()
        except (StorageError, StoreClosed) as error:
            # The index is derived: the next change, or the next process, will try again.
            _log.warning("the changes could not be folded into the index yet: %s", error)

    def _fold(self) -> None:
        """Merge all segments into one: a new snapshot, or a segment in memory without a folder."""
        with self._refreshing:
            if self._reader is None:
                return
            sealed = len(self._reader.segment_readers)
            self._reader = reader = evolve(self._reader, sealed=sealed, recent=())
            self._folded_at = reader.cursor
        snapshot = self._snapshot
        if snapshot is not None and self._fold_is_spared(snapshot, reader):
            self._adopt()
            return
        compact = reader.compact()
        if snapshot is not None and self._write(snapshot, compact):
            del compact
            self._adopt()
            return
        with self._refreshing:
            if self._reader is not None:
                self._reader = self._reader.replace_folded(reader, compact)

    def _fold_is_spared(self, snapshot: Snapshot, reader: Reader) -> bool:
        """Return whether another process wrote a snapshot with nearly all changes of `reader`."""
        cursor = snapshot.cursor()
        return reader.cursor >= cursor > reader.cursor - max(_FOLD_CHANGES, cursor // _SHARE) // 2

    def _adopt(self) -> None:
        """Replace the segments in the memory of this process by the mapped snapshot."""
        mapped = self._map_snapshot()
        if not mapped.cursor:
            return
        with self._refreshing:
            if self._reader is not None:
                self._reader = self._catch_up(mapped, max(self._reader.cursor, mapped.cursor))


def _may_be_erased(reader: Reader, change: Change) -> bool:
    """Return whether the document in `reader` with the id of a later change may be erased.

    A first revision with a different `stored_at` is a new memory under the same id. With the same
    `stored_at`, the memory received a vector or lost its vector.
    """
    memory = None if change.record is None else change.record.memory
    if memory is not None and memory.revision > 1:
        return False
    docs = (
        (segment_reader.segment, segment_reader.segment.find(change.id))
        for segment_reader in reader.segment_readers
    )
    stored_times = [int(segment.stored[doc]) for segment, doc in docs if doc is not None]
    return any(memory is None or stored != to_micros(memory.stored_at) for stored in stored_times)


def release_memory() -> None:
    """Return freed memory to the system, where the C library is glibc.

    By itself glibc returns only the end of a heap: the index of a million memories, built and then
    replaced by its mapped snapshot, would leave half a gigabyte allocated.
    """
    # Only glibc has this function, and Windows cannot load a library without a name.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
