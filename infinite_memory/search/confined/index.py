"""The index that a handle of some scopes searches.

In a large store it is made of the indexes of these scopes, each of which reads what is in its scope
and no more. Otherwise it is the index of the whole store under a mask. One rule decides, see
`ConfinedIndex`; the answers are the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from itertools import chain
from weakref import WeakKeyDictionary

from infinite_memory.core.protocols import Storage, SupportsScopeFeed
from infinite_memory.core.values.record import Changes, Record
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.reader import Reader
from infinite_memory.search.segment import Segment
from infinite_memory.search.snapshot import Snapshot

# In a smaller store, by the number of its changes, a mask over all memories takes no time.
_LARGE_STORE = 50_000
# A handle reads so many scopes by their own indexes at most, and this part of the store at most.
_MOST_SCOPES = 32
_SMALL_PART = 10
# While the indexes of scopes hold more, those that were not used for longest are dropped.
_MOST_BYTES = 384 << 20
# A snapshot of a scope is due after so many changes, which are also a tenth of the scope.
_SNAPSHOT_CHANGES = 64
_SHARE = 10
# How often a handle looks for a moment as of which it has read all its scopes.
_TRIES = 20


class ScopeIndex(SearchIndex):
    """The index of the memories in one scope of a store, which reads the feed of that scope.

    That feed does not tell what has left the scope. After it is read, the index lacks nothing, so
    something has left if it has more memories than the scope has; then the ids tell what.
    """

    def __init__(self, whole: SearchIndex, feed: SupportsScopeFeed, scope: str) -> None:
        """Index the memories in `scope`; `feed` is the storage of the index `whole`."""
        snapshot = None if whole._snapshot is None else whole._snapshot.of_scope(scope)
        super().__init__(whole._storage, whole._embedder, snapshot=snapshot)
        self._embedder, self._quietly = whole._embedder, whole._quietly
        self._feed = feed
        self._scope = scope
        self._following = threading.RLock()
        self._changed = self._stored = 0
        self._took_unindexed = False
        # The last reader that had nothing which has left, and how many in the scope it left out.
        self._known: tuple[Reader | None, int] = None, 0

    def _read_changes(self, after: int, *, limit: int, models: Collection[str]) -> Changes:
        with self._following:
            changes, self._stored = self._feed.changes_in(
                self._scope, after, limit=limit, models=models
            )
            self._changed += len(changes.items)
            self._took_unindexed |= any(
                change.record is None or not change.record.memory.is_indexed
                for change in changes.items
            )
            return changes

    def _catch_up(self, reader: Reader, position: int, *, mapped: Reader | None = None) -> Reader:
        with self._following:
            known, left_out = self._known
            self._took_unindexed = False
            newer = super()._catch_up(reader, position, mapped=mapped)
            is_known = known is reader and not self._took_unindexed
            if newer is not reader and is_known and self._stored - len(newer) == left_out:
                self._known = newer, left_out
            elif newer is not known:
                newer = self._drop_what_left(newer, mapped)
            return newer

    def _drop_what_left(self, reader: Reader, mapped: Reader | None) -> Reader:
        """Return `reader` without what is not in the scope any more, as of its cursor."""
        ids, position = self._feed.ids_in(self._scope)
        while reader.cursor < position:
            reader = super()._catch_up(reader, position, mapped=mapped)
            ids, position = self._feed.ids_in(self._scope)
        gone = [memory_id for memory_id in reader.ids() if memory_id not in ids]
        if gone:
            # It may be erased.
            self._remove()
            self._changed = max(self._changed, len(reader))
            reader = reader.apply_changes(
                (), gone, cursor=reader.cursor, dimensions=self._embedder.dimensions
            )
        self._known = reader, len(ids) - len(reader)
        return reader

    def _erased_since(self, reader: Reader) -> bool:
        ids, _ = self._feed.ids_in(self._scope)
        return not all(map(ids.__contains__, reader.ids())) or super()._erased_since(reader)

    def _fold_is_due(self, reader: Reader) -> bool:
        return self._changed >= max(_SNAPSHOT_CHANGES, len(reader) // _SHARE)

    def _fold(self) -> None:
        self._changed = 0
        super()._fold()

    def _fold_is_spared(self, snapshot: Snapshot, reader: Reader) -> bool:
        """Return whether another process wrote a snapshot since this one mapped or wrote one."""
        return reader.cursor >= snapshot.cursor() > (self._saved_at or 0)


class ScopeIndexes:
    """The indexes of single scopes, which all handles of a process share. Thread-safe."""

    def __init__(self, make: Callable[[str], ScopeIndex]) -> None:
        """Start with none; `make` returns the index of a scope."""
        self._make = make
        self._lock = threading.Lock()
        self._indexes: dict[str, ScopeIndex] = {}
        self._sizes: dict[str, int] = {}

    def read(self, scopes: Collection[str]) -> Reader | None:
        """Return a reader of `scopes` as of one moment after this call began.

        None if others wrote without a pause: a memory that was moved meanwhile would be in two
        scopes or in none.
        """
        indexes = {scope: self._take(scope) for scope in scopes}
        readers = {scope: index.refresh() for scope, index in indexes.items()}
        for _ in range(_TRIES):
            newest = max((reader.cursor for reader in readers.values()), default=0)
            late = [scope for scope, reader in readers.items() if reader.cursor < newest]
            if not late:
                self._note(readers)
                parts = chain.from_iterable(reader.segment_readers for reader in readers.values())
                return Reader(segment_readers=tuple(parts), cursor=newest)
            readers |= {scope: indexes[scope].refresh() for scope in late}
        return None

    def wait_for_folding(self) -> None:
        """Wait until no index folds, so that its snapshot is there for the next process."""
        with self._lock:
            indexes = list(self._indexes.values())
        for index in indexes:
            index._wait_for_folding()

    def _take(self, scope: str) -> ScopeIndex:
        """Return the index of `scope`, which counts as the last that was used."""
        with self._lock:
            index = self._indexes.pop(scope, None) or self._make(scope)
            self._indexes[scope] = index
            return index

    def _note(self, readers: dict[str, Reader]) -> None:
        """Note what the indexes hold, and drop those not used for longest beyond the limit."""
        with self._lock:
            self._sizes |= {scope: reader.size_bytes for scope, reader in readers.items()}
            held = sum(self._sizes.values())
            for scope in [scope for scope in self._indexes if scope not in readers]:
                if held <= _MOST_BYTES:
                    return
                del self._indexes[scope]
                held -= self._sizes.pop(scope, 0)


class ConfinedIndex(SearchIndex):
    """The index of a whole store, of which the memories in some scopes alone exist.

    It keeps no reader and no snapshot: a search reads what `refresh` or `_read_with` gives, the
    documents of these scopes as of one state of the store. In a large store of which these scopes,
    a few, are a small part, they come from the indexes of the scopes, and nothing else is read.
    """

    def __init__(
        self,
        whole: SearchIndex,
        storage: Storage,
        *,
        choose: Callable[[Collection[str]], Collection[str]],
        quietly: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Show of `whole` what `storage` shows.

        `choose` returns which of the names of scopes, as `fold_name` returns them, exist. Within
        `quietly` nothing is logged of records of the whole store.
        """
        super().__init__(storage, whole._embedder)
        # It may have measured the background of its model.
        self._embedder = whole._embedder
        self._quietly = whole._quietly = quietly
        self._whole = whole
        self._choose = choose
        self._codes: WeakKeyDictionary[Segment, list[int]] = WeakKeyDictionary()
        feed = whole._storage
        self._feed = feed if isinstance(feed, SupportsScopeFeed) else None
        self._decided: tuple[Collection[str], int, bool] = (), 0, False

    def refresh(self) -> Reader:
        """Read every change committed before this call, and return a reader of these scopes."""
        with self._quietly():
            reader = self._read_scopes()
            return self._mask(self._whole.refresh()) if reader is None else reader

    def take_in(self, record: Record, position: int) -> None:
        """Take in a new memory that this process just stored as the change `position`."""
        self._whole.take_in(record, position)

    def discard_erased(self, ids: Collection[str]) -> None:
        """Remove snapshots of the whole store, see `SearchIndex.discard_erased`."""
        with self._quietly():
            self._whole.discard_erased(ids)

    def _read_with(self, memory_id: str) -> Reader:
        with self._quietly():
            reader = self._read_scopes()
            return self._mask(self._whole._read_with(memory_id)) if reader is None else reader

    def _read_scopes(self) -> Reader | None:
        """Return a reader of the indexes of the scopes, None if they are not to be read."""
        feed, whole = self._feed, self._whole
        if feed is None or (position := whole._storage.position()) < _LARGE_STORE:
            return None
        scopes = self._storage.scopes()
        seen, until, is_small = self._decided
        if scopes is not seen or position >= until:
            is_small = self._is_small(feed, scopes, position)
            self._decided = scopes, 2 * position, is_small
        if not is_small:
            return None
        with whole._starting:
            indexes = whole.of_scopes
            if not isinstance(indexes, ScopeIndexes):
                if whole._snapshot is not None:
                    whole._snapshot.remove_other_scopes(whole._storage.scopes())
                indexes = ScopeIndexes(lambda scope: ScopeIndex(whole, feed, scope))
                whole.of_scopes = indexes
        reader = indexes.read(scopes)
        # If a scope was made, renamed or deleted meanwhile, its memories may be in none of these.
        return reader if self._storage.scopes() is scopes else None

    def _is_small(self, feed: SupportsScopeFeed, scopes: Collection[str], position: int) -> bool:
        if len(scopes) > _MOST_SCOPES:
            return False
        sizes = (feed.changes_in(s, position, limit=1, models=())[1] for s in scopes)
        return _SMALL_PART * sum(sizes) <= position

    def _mask(self, reader: Reader) -> Reader:
        return reader.confine(self._choose_codes)

    def _choose_codes(self, segment: Segment) -> list[int]:
        """Return the codes of the scopes in `segment` that exist; each segment is asked once."""
        codes = self._codes.get(segment)
        if codes is None:
            by_name = segment.codes_of_scopes
            chosen = self._choose(by_name.keys())
            codes = self._codes[segment] = [code for name in chosen for code in by_name[name]]
        return codes
