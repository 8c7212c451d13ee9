"""The index of one process: derived from the storage, kept fresh, disposable."""

from __future__ import annotations

import logging
import threading

from infinite_memory.protocols import Embedder, Storage
from infinite_memory.search.document import describe
from infinite_memory.search.query import Question, Ranking
from infinite_memory.search.ranking import rank
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.search.view import View

__all__ = ["SearchIndex"]

_log = logging.getLogger(__name__)
_FEED_BATCH = 4096
# A snapshot is written once this many changes, and a tenth of the store, came after the last one.
_SNAPSHOT_CHANGES = 512


class SearchIndex:
    """Finds memories by words and by meaning. Every method may be called from any thread.

    Vectors by another model than that of `embedder` do not count. `snapshot` None keeps everything
    in memory alone.
    """

    def __init__(
        self, storage: Storage, embedder: Embedder, *, snapshot: Snapshot | None = None
    ) -> None:
        self._storage = storage
        self._embedder = embedder
        self._snapshot = snapshot
        self._refreshing = threading.Lock()
        self._view: View | None = None
        self._saved_at: int | None = None

    def refresh(self) -> View:
        """Fold in everything that was committed before this call, by whichever process."""
        position = self._storage.position()
        view = self._view
        if view is not None and view.cursor >= position:
            return view
        with self._refreshing:
            view = self._view if self._view is not None else self._mapped()
            self._view = view = self._caught_up(view)
            return view

    def search(self, question: Question) -> Ranking:
        """Return the memories that answer `question` best, as of now.

        Where the model cannot be run, or does not know the language of the question, they are
        compared by words alone and the note says so.
        """
        embedder = self._embedder
        embed = embedder.embed_query if embedder.understands(question.text) else None
        return rank(self.refresh(), question, embed, background=embedder.background)

    def save(self) -> None:
        """Write the snapshot for the next process, if enough has changed since the last one."""
        if self._snapshot is None or not self._worth_saving(self._snapshot):
            return
        compact = self.refresh().compact()
        if self._snapshot.write(compact):
            self._saved_at = compact.cursor
            if self._erased_since(compact):
                # What was erased while the file was being written must not stay in it.
                self.discard()

    def discard(self) -> None:
        """Remove the snapshot, so that no byte of what was erased is left in it."""
        if self._snapshot is not None:
            self._snapshot.remove()
        self._saved_at = 0

    def mapped(self) -> View | None:
        """Return the snapshot that the next process would map, every byte of it verified.

        None where there is none for this store and model.

        Raises:
            ValueError: it is damaged; the message says how.
        """
        return None if self._snapshot is None else self._snapshot.verified(whole=True)

    def rebuild(self) -> None:
        """Let go of the snapshot and of what was read from it; the next search reads the store."""
        with self._refreshing:
            self.discard()
            self._view = None

    def _mapped(self) -> View:
        view = self._snapshot.read() if self._snapshot is not None else None
        if view is None:
            return View()
        position = self._storage.position()
        if view.cursor > position:
            # The feed of an older copy reaches that cursor again, with other memories.
            _log.warning(
                "the index had seen %d changes and the store has only %d: is it an older copy?",
                view.cursor,
                position,
            )
            self.discard()
            return View()
        self._saved_at = view.cursor
        if self._erased_since(view):
            # Whoever wrote the file ended before it could look.
            self.discard()
        return view

    def _caught_up(self, view: View) -> View:
        embedder = self._embedder
        while True:
            changes = self._storage.changes(view.cursor, limit=_FEED_BATCH)
            if not changes.items:
                return view
            view = view.changed(
                [
                    describe(change.record, model=embedder.model, dimensions=embedder.dimensions)
                    for change in changes.items
                    if change.record is not None
                ],
                [change.id for change in changes.items if change.record is None],
                cursor=changes.cursor,
                dimensions=embedder.dimensions,
            )
            _log.debug("index at %d with %d memories", view.cursor, len(view))

    def _worth_saving(self, snapshot: Snapshot) -> bool:
        if self._saved_at is None:
            view = snapshot.read()
            self._saved_at = view.cursor if view is not None else 0
        behind = self._storage.position() - self._saved_at
        return behind >= max(_SNAPSHOT_CHANGES, self._saved_at // 10)

    def _erased_since(self, view: View) -> bool:
        """Tell whether a memory that is in `view` was erased after it, or may have been.

        A memory that is in its first revision after the view may have been erased and stored anew
        under its id.
        """
        cursor = view.cursor
        while (changes := self._storage.changes(cursor, limit=_FEED_BATCH)).items:
            for change in changes.items:
                fresh = change.record is None or change.record.memory.revision == 1
                if fresh and any(part.segment.find(change.id) is not None for part in view.parts):
                    return True
            cursor = changes.cursor
        return False
