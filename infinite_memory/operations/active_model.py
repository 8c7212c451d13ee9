"""Which model answers: the configured one, or the former one while a change is under way.

The configured model answers once it has embedded no fewer memories than the former one. Until then
the former one does, with its own vectors, its own embedding of the question and its own index, so
that vectors of two models never meet. The change is made once in each open store, and not taken
back.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from pathlib import Path

from attrs import evolve, frozen

from infinite_memory.config import Config
from infinite_memory.embedding import BUNDLED, CheckedEmbedder, configured_embedder
from infinite_memory.errors import EmbedderError, StorageError, StoreClosed
from infinite_memory.model.question import Arm, Question, Ranking
from infinite_memory.operations.retrieval.custom_search import check_ranking, make_search
from infinite_memory.protocols import Embedder, Search, SearchFactory, Storage, SupportsIndex
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.snapshot import Snapshot

__all__ = ["Former", "Model", "Models", "former_of"]

_log = logging.getLogger(__name__)
# A search that finds the change complete waits so long for the index of the new model. A larger
# one is made ready in the background, while the former model goes on answering.
_PATIENCE_SECONDS = 0.5
# So long `close` waits for a model that is being made ready, which it cannot interrupt.
_CLOSING_SECONDS = 5.0
_COMPARED = (1, 16, 256, 4096)

Former = Callable[[], AbstractContextManager[Embedder]]
"""Opens the former model, which is closed with the store. Raises EmbedderError if it cannot be."""


def former_of(
    config: Config,
    *,
    given: Embedder | None = None,
    plugged_in: bool = False,
    keep: bool = True,
) -> Former | None:
    """Return how the former model is opened, None where it is the configured one itself.

    A `given` one stays open; without it the configuration says which. `plugged_in` says that the
    other embedder is not the one of the configuration. What is measured of a model is written down
    for the next time if `keep`.
    """
    if given is not None:
        return lambda: nullcontext(given)
    prefixes = (config.former_query_prefix, config.former_document_prefix)
    former = config.model_copy(
        update={
            "embedder": config.former_embedder or BUNDLED,
            "query_prefix": prefixes[0] if config.former_embedder else None,
            "document_prefix": prefixes[1] if config.former_embedder else None,
        }
    )
    if former == config and not plugged_in:
        return None
    return lambda: closing(configured_embedder(former, keep=keep))


@frozen(kw_only=True, eq=False)
class Model:
    """An embedder, and the search by its vectors."""

    embedder: CheckedEmbedder
    index: Search

    @property
    def name(self) -> str:
        """The name under which a storage keeps its vectors."""
        return self.embedder.model


class Models:
    """The models of an open store. Every method may be called from any thread.

    `chosen` is the configured one. The former one is not opened before it is needed; `lost` says
    why it could not be, None otherwise.
    """

    def __init__(
        self,
        storage: Storage,
        embedder: Embedder,
        *,
        former: Former | None = None,
        folder: Path | None = None,
        search: SearchFactory | None = None,
    ) -> None:
        """Work on `storage`, with snapshots of the indexes in `folder`, None for none.

        Without `former` the configured model answers from the start. `search` makes the search of
        each model, None for the index.

        Raises:
            ConfigurationError: `search` does not make a search.
        """
        self._storage = storage
        self._search = search
        self._folder = folder
        self._former = former
        self._owned = ExitStack()
        self._looking = threading.Lock()
        self._seen: int | None = None
        self._taking_over: threading.Thread | None = None
        self._bereft = False
        self._closed = threading.Event()
        self.lost: str | None = None
        self.chosen = self._model_of(embedder)
        self._answering: Model | None = self.chosen if former is None else None
        self._settled = former is None

    def answering(self) -> Model:
        """Return the model that answers now; looks at the store only while that may change.

        Raises:
            StorageError: the store cannot be read.
        """
        if not self._settled:
            self._look()
            self._wait_if_bereft()
        return self._answering or self.chosen

    def awaited(self) -> Model | None:
        """Return the model that is being made ready to answer, None where there is none."""
        taking_over = self._taking_over
        under_way = taking_over is not None and taking_over.is_alive()
        return self.chosen if under_way and not self._settled else None

    def search(self, question: Question) -> Ranking:
        """Return what answers `question` best, by the model that answers now.

        The note says so where some memories have no vector by that model.
        """
        model = self.answering()
        ranking = check_ranking(model.index.search(question), model.index, question)
        if not ranking.pending or ranking.note or Arm.MEANING not in question.arms:
            return ranking
        note = self.lost
        if model is not self.chosen:
            note = (
                f"those that {model.name} has not embedded are compared by words alone: it answers"
                f" until {self.chosen.name} has embedded all and is ready"
            )
        return evolve(ranking, note=note) if note else ranking

    def complete(self) -> None:
        """Let the configured model answer from now on, if nothing waits for it any more.

        Its index is made first, however long that takes; others go on searching meanwhile.
        """
        if not self._settled and not self._storage.pending(self.chosen.name, limit=1):
            with self._looking:
                taking_over = self._take_over()
            if taking_over is not None:
                taking_over.join()

    def save(self) -> None:
        """Write the snapshot of the index in use, if that is worth it."""
        index = (self._answering or self.chosen).index
        if isinstance(index, SupportsIndex):
            index.save()

    def close(self) -> None:
        """Close the former model, if it was opened here.

        The chosen one is made ready no further: whoever opened it, and the storage, closes them.
        """
        self._closed.set()
        taking_over = self._taking_over
        if taking_over is not None:
            taking_over.join(_CLOSING_SECONDS)
        self._owned.close()

    def _model_of(self, given: Embedder) -> Model:
        embedder = CheckedEmbedder(given)
        if self._search is not None:
            index = make_search(self._search, self._storage, embedder)
            return Model(embedder=embedder, index=index)
        snapshot = None
        if self._folder is not None:
            snapshot = Snapshot(
                self._folder,
                identity=self._storage.identity,
                model=embedder.model,
                dimensions=embedder.dimensions,
            )
        return Model(
            embedder=embedder, index=SearchIndex(self._storage, embedder, snapshot=snapshot)
        )

    def _look(self) -> None:
        """Decide which model answers, or look again if the feed has moved since the last look."""
        # Only the first look is waited for; at a later one the others go on with what there is.
        if not self._looking.acquire(blocking=self._answering is None):
            return
        try:
            position = self._storage.position()
            if self._settled or position == self._seen:
                return
            taking_over = None
            former = self._answering
            if not self._storage.pending(self.chosen.name, limit=1):
                taking_over = self._take_over()
            elif former is None:
                self._begin()
            elif former is not self.chosen and not self._has_more(former, counted=False):
                taking_over = self._take_over()
            if taking_over is not None and former is not None:
                self._bereft = not self._storage.measure().embedded.get(former.name)
            self._seen = position
        finally:
            self._looking.release()
        if taking_over is not None:
            taking_over.join(_PATIENCE_SECONDS)

    def _wait_if_bereft(self) -> None:
        """Wait for the chosen model however long it takes, if the former one has no vector left."""
        taking_over = self._taking_over
        if self._bereft and taking_over is not None:
            taking_over.join()

    def _begin(self) -> None:
        """Choose between the two models, some memories not being embedded by the new one."""
        former = self._open_former()
        if former is not None and self._has_more(former):
            _log.info("%s answers until %s has embedded all", former.name, self.chosen.name)
            self._answering = former
            return
        self._answering = self.chosen
        if self.lost is None:
            self._settled = True
        self._owned.pop_all().close()

    def _open_former(self) -> Model | None:
        assert self._former is not None, "it is settled without a former model"
        try:
            embedder = self._owned.enter_context(self._former())
        except EmbedderError as error:
            self.lost = (
                f"those that {self.chosen.name} has not embedded yet are compared by words alone:"
                f" the former model cannot be opened: {error}"
            )
            _log.warning("%s", self.lost)
            return None
        return None if embedder.model == self.chosen.name else self._model_of(embedder)

    def _has_more(self, former: Model, *, counted: bool = True) -> bool:
        """Tell whether `former` has embedded more memories, at the cost of the shorter list.

        Where both lists are long, everything is `counted`, or it is taken to have more.
        """
        for limit in _COMPARED:
            waiting = len(self._storage.pending(former.name, limit=limit))
            for_chosen = len(self._storage.pending(self.chosen.name, limit=limit))
            if waiting < limit or for_chosen < limit:
                return waiting < for_chosen
        if not counted:
            return True
        embedded = self._storage.measure().embedded
        return embedded.get(former.name, 0) > embedded.get(self.chosen.name, 0)

    def _take_over(self) -> threading.Thread | None:
        """Begin to let the chosen model answer; return the thread that is at it, if it takes one.

        The caller holds the lock.
        """
        if self._answering in (None, self.chosen):
            self._settle()
            return None
        if self._taking_over is None or not self._taking_over.is_alive():
            self._taking_over = threading.Thread(
                target=self._take_over_quietly, name="infinite-memory-model", daemon=True
            )
            self._taking_over.start()
        return self._taking_over

    def _take_over_quietly(self) -> None:
        try:
            for step in (self._warm_up, self._warm_up_index):
                if self._closed.is_set():
                    return
                step()
        except (StorageError, StoreClosed) as error:
            _log.debug("the change of the model waits: %s", error)
        # The embedder may be a plug-in of the user's, which can raise anything; the former model
        # goes on answering.
        except Exception as error:  # noqa: BLE001 -- the boundary to a plug-in, see above
            _log.warning("the change to %s waits: %r", self.chosen.name, error)
        else:
            _log.info("%s answers from now on", self.chosen.name)
            self._settle()

    def _warm_up(self) -> None:
        self.chosen.embedder.embed_query("warm up")

    def _warm_up_index(self) -> None:
        if isinstance(self.chosen.index, SupportsIndex):
            self.chosen.index.warm_up()

    def _settle(self) -> None:
        self._answering, self.lost, self._settled = self.chosen, None, True
        # Not closed: a search that is under way may need it, and the last one lets go of it.
        self._owned.pop_all()
