"""The active model: the model that answers, and the change to the configured model.

The storage names the active model. While it is another model than the configured one, it is opened
as the former model and answers with its own vectors, its own embedding of the question and its own
index, so that vectors of two models are never compared. Once the configured model has embedded
every memory and its index is ready, one commit makes it the active model. An open store makes this
change once and does not revert it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from attrs import frozen

from infinite_memory.core import protocols
from infinite_memory.core.errors import EmbedderError, StorageError, StoreClosed
from infinite_memory.core.values.commit import Commit

if TYPE_CHECKING:
    from infinite_memory.core.protocols import Embedder, Search, Storage
    from infinite_memory.search.embedding import CheckedEmbedder

_log = logging.getLogger(__name__)
# How long a search that finds the change complete waits for the index of the new model. A larger
# index is prepared in the background, while the former model continues to answer.
_PATIENCE_SECONDS = 0.5
# How long `close` waits for the preparation of a model, which it cannot interrupt.
_CLOSING_SECONDS = 5.0

FormerOpener = Callable[[str], "AbstractContextManager[Embedder] | None"]
"""Opens the former model, which the store closes; returns None if there is none.

It is given the name of the active model.

It raises EmbedderError if the model cannot be opened.
"""


@frozen(kw_only=True, eq=False)
class Model:
    """An embedder, and the search by its vectors."""

    embedder: CheckedEmbedder
    index: Search

    @property
    def name(self) -> str:
        """The name under which a storage keeps its vectors."""
        return self.embedder.model


ModelBuilder = Callable[["Storage", "Embedder", Path | None, Model | None], Model]
"""Builds the search over a storage by an embedder, with snapshots in a folder or none.

The last is the model of the whole store for a storage that shows a part of it, otherwise None.
"""


class Models:
    """The models of an open store. Every method may be called from any thread.

    `configured` is the model that embeds new memories. It and the former model are opened when they
    are first needed.
    """

    def __init__(
        self,
        storage: Storage,
        open_embedder: Callable[[], Embedder],
        *,
        build: ModelBuilder,
        open_former: FormerOpener | None = None,
        folder: Path | None = None,
    ) -> None:
        """Use `storage`, with snapshots of the indexes in `folder`, None for no snapshots.

        `open_embedder` is called once, when the configured model is first needed; the caller closes
        the embedder.
        """
        self._storage = storage
        self._open_embedder = open_embedder
        self._build = build
        self._folder = folder
        self._open_former = open_former
        self._owned = ExitStack()
        self._deciding = threading.Lock()
        self._opening = threading.Lock()
        self._configured: Model | None = None
        self._preparation: threading.Thread | None = None
        self._closed = threading.Event()
        self._failure: str | None = None
        self._former: Model | None = None
        self._former_was_tried = False
        self._is_changed = False
        self._confined: WeakValueDictionary[str, ConfinedModels] = WeakValueDictionary()

    @property
    def configured(self) -> Model:
        """The model that embeds new memories, opened now if it was not needed before.

        Raises:
            ConfigurationError: a plugged-in search does not make a search.
            EmbedderError: the model cannot be opened.
        """
        with self._opening:
            if self._configured is None:
                embedder = self._open_embedder()
                self._configured = self._build(self._storage, embedder, self._folder, None)
            return self._configured

    @property
    def failure(self) -> str | None:
        """Why the former model could not be opened, None if it was or was not needed."""
        return self._failure

    def confine(self, storage: Storage) -> ConfinedModels:
        """Return these models as a handle sees them for which `storage` is all there is.

        Handles of the same scopes get the same object.
        """
        confined = ConfinedModels(self, storage, self._build)
        return self._confined.setdefault(storage.identity, confined)

    def answering(self) -> Model:
        """Return the model that answers now; read the store only while that may change.

        Raises:
            StorageError: the store cannot be read.
        """
        if self._is_changed:
            return self.configured
        with self._deciding:
            started = self._follow_active_model()
        if started is not None:
            started.join(_PATIENCE_SECONDS)
        former, preparation = self._former, self._preparation
        if former is not None and preparation is not None and self._has_no_vectors(former):
            preparation.join()
        return self.configured if self._is_changed else self._former or self.configured

    def settled(self) -> Model | None:
        """Return the model that answers if no other one will take over, None otherwise."""
        return self.configured if self._is_changed else None

    def in_preparation(self) -> Model | None:
        """Return the model that is being prepared to answer, None if there is none."""
        preparation = self._preparation
        under_way = preparation is not None and preparation.is_alive()
        return self.configured if under_way and not self._is_changed else None

    def is_undecided(self) -> bool:
        """Return whether the storage does not name an active model yet."""
        return not self._is_changed and self._storage.active_model() is None

    def complete(self) -> None:
        """Make the configured model the active model, if it has embedded every memory.

        This call first builds the index, however long that takes; other threads keep searching.
        """
        if self._is_changed or self._storage.active_model() is None:
            return
        if self._storage.pending(self.configured.name, limit=1):
            return
        with self._deciding:
            preparation = self._prepare_model()
        preparation.join()

    def save(self) -> None:
        """Write the snapshot of the index in use, if the index considers it worthwhile."""
        used = self._configured if self._is_changed else self._former or self._configured
        if used is not None and isinstance(used.index, protocols.SupportsIndex):
            used.index.save()

    def close(self) -> None:
        """Close the former model, if this object opened it, and stop the preparation of a model.

        The caller that opened the storage and the configured model closes them.
        """
        self._closed.set()
        if self._preparation is not None:
            self._preparation.join(_CLOSING_SECONDS)
        self._owned.close()

    def _follow_active_model(self) -> threading.Thread | None:
        """Let the active model answer; return the preparation of the configured model, if begun.

        The caller holds the lock.
        """
        active = self._storage.active_model()
        if active is None or self._is_changed:
            return None
        if active != self.configured.name:
            if not self._former_was_tried:
                self._former_was_tried = True
                self._former = self._try_former(active)
            return None
        if self._former is None:
            self._finish_change()
            return None
        is_under_way = self._preparation is not None and self._preparation.is_alive()
        return None if is_under_way else self._prepare_model()

    def _try_former(self, active: str) -> Model | None:
        """Open the former model; return None, with a `failure`, if it is not the active model."""
        reason = f"the active model {active} is not configured here"
        try:
            former = self._open_former(active) if self._open_former is not None else None
            embedder = self._owned.enter_context(former) if former is not None else None
            if embedder is not None and embedder.model == active:
                _log.info("%s answers until %s has embedded all", active, self.configured.name)
                return self._build(self._storage, embedder, self._folder, None)
        except EmbedderError as error:
            reason = f"the former model cannot be opened: {error}"
        self._failure = (
            f"memories that {self.configured.name} has not embedded yet are compared by words"
            f" alone: {reason}"
        )
        _log.warning("%s", self._failure)
        return None

    def _has_no_vectors(self, former: Model) -> bool:
        """Return whether another process has removed the vectors of the former model."""
        if not self._storage.pending(former.name, limit=1):
            return False
        return not self._storage.measure().embedded.get(former.name)

    def _prepare_model(self) -> threading.Thread:
        """Return the thread that prepares the configured model; the caller holds the lock."""
        if self._preparation is None or not self._preparation.is_alive():
            self._preparation = threading.Thread(
                target=self._prepare_and_change, name="infinite-memory-model", daemon=True
            )
            self._preparation.start()
        return self._preparation

    def _prepare_and_change(self) -> None:
        try:
            for step in (self._warm_up, self._warm_up_index, self._store_active_model):
                if self._closed.is_set():
                    return
                step()
        except (StorageError, StoreClosed) as error:
            _log.debug("the change of the model waits: %s", error)
        # The embedder may be a plug-in of the user, which can raise anything; the former model
        # continues to answer.
        except Exception as error:  # noqa: BLE001 -- the boundary to a plug-in, see above
            _log.warning("the change to %s waits: %r", self.configured.name, error)
        else:
            _log.info("%s answers from now on", self.configured.name)
            self._finish_change()

    def _warm_up(self) -> None:
        self.configured.embedder.embed_query("warm up")

    def _warm_up_index(self) -> None:
        if isinstance(self.configured.index, protocols.SupportsIndex):
            self.configured.index.warm_up()

    def _store_active_model(self) -> None:
        if self._storage.active_model() != self.configured.name:
            self._storage.commit(Commit(active_model=self.configured.name))

    def _finish_change(self) -> None:
        self._is_changed, self._failure = True, None
        # Not closed: a running search may still use the former model.
        self._owned.pop_all()


class ConfinedModels(Models):
    """The models of a whole store for a handle of some scopes: their indexes show these alone.

    Which model answers is the same as in the whole store.
    """

    def __init__(self, whole: Models, storage: Storage, build: ModelBuilder) -> None:
        """Show of `whole` what `storage` shows."""
        super().__init__(storage, lambda: whole.configured.embedder, build=build)
        self._whole = whole
        self._views: dict[Model, Model] = {}

    @property
    def configured(self) -> Model:
        """The model that embeds new memories, see `Models.configured`."""
        return self._confine(self._whole.configured)

    @property
    def failure(self) -> str | None:
        """Why the former model could not be opened, None if it was or was not needed."""
        return self._whole.failure

    def answering(self) -> Model:
        """Return the model that answers now, see `Models.answering`."""
        return self._confine(self._whole.answering())

    def settled(self) -> Model | None:
        """Return the model that answers if no other one will take over, None otherwise."""
        model = self._whole.settled()
        return None if model is None else self._confine(model)

    def in_preparation(self) -> Model | None:
        """Return the model that is being prepared to answer, None if there is none."""
        model = self._whole.in_preparation()
        return None if model is None else self._confine(model)

    def is_undecided(self) -> bool:
        """Return whether the storage does not name an active model yet."""
        return self._whole.is_undecided()

    def complete(self) -> None:
        """Make the configured model the active model, if it has embedded the whole store."""
        self._whole.complete()

    def save(self) -> None:
        """Write the snapshot of the index in use, see `Models.save`."""
        self._whole.save()

    def close(self) -> None:
        """Close the models of the whole store, see `Models.close`."""
        self._whole.close()

    def _confine(self, model: Model) -> Model:
        view = self._views.get(model)
        if view is None:
            view = self._build(self._storage, model.embedder, None, model)
            view = self._views.setdefault(model, view)
        return view
