"""The active model: the configured model, or the former model while a change is under way.

The configured model answers once it has embedded at least as many memories as the former model.
Until then the former model answers, with its own vectors, its own embedding of the question and its
own index, so that vectors of two models are never compared. An open store makes this change once
and does not revert it.
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
# How long a search that finds the change complete waits for the index of the new model. A larger
# index is prepared in the background, while the former model continues to answer.
_PATIENCE_SECONDS = 0.5
# How long `close` waits for the preparation of a model, which it cannot interrupt.
_CLOSING_SECONDS = 5.0
_COMPARED_LIMITS = (1, 16, 256, 4096)

Former = Callable[[], AbstractContextManager[Embedder]]
"""Opens the former model; the store closes it. Raises EmbedderError if that is impossible."""


def former_of(
    config: Config,
    *,
    given: Embedder | None = None,
    plugged_in: bool = False,
    keep: bool = True,
) -> Former | None:
    """Return a function that opens the former model, None if it is the configured model itself.

    A `given` embedder stays open; without it the configuration names the former model. `plugged_in`
    says that the current embedder does not come from the configuration. With `keep`, measurements
    of the former model are written to disk for the next time.
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

    `chosen` is the configured model. The former model is opened when it is first needed; `lost` is
    the reason if that failed, None otherwise.
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
        """Use `storage`, with snapshots of the indexes in `folder`, None for no snapshots.

        Without `former` the configured model answers from the start. `search` makes the search of
        every model, None for the index.

        Raises:
            ConfigurationError: `search` does not make a search.
        """
        self._storage = storage
        self._search = search
        self._folder = folder
        self._former = former
        self._owned = ExitStack()
        self._deciding = threading.Lock()
        self._decided_at: int | None = None
        self._taking_over: threading.Thread | None = None
        self._former_is_empty = False
        self._closed = threading.Event()
        self.lost: str | None = None
        self.chosen = self._build_model(embedder)
        self._answering: Model | None = self.chosen if former is None else None
        self._is_final = former is None

    def answering(self) -> Model:
        """Return the model that answers now; read the store only while that may change.

        Raises:
            StorageError: the store cannot be read.
        """
        if not self._is_final:
            self._update_answering()
            self._wait_if_former_is_empty()
        return self._answering or self.chosen

    def in_preparation(self) -> Model | None:
        """Return the model that is being prepared to answer, None if there is none."""
        taking_over = self._taking_over
        under_way = taking_over is not None and taking_over.is_alive()
        return self.chosen if under_way and not self._is_final else None

    def search(self, question: Question) -> Ranking:
        """Return the ranking for `question` by the model that answers now.

        A note in the ranking says if some memories have no vector by that model.
        """
        model = self.answering()
        ranking = check_ranking(model.index.search(question), model.index, question)
        if not ranking.pending or ranking.note or Arm.MEANING not in question.arms:
            return ranking
        note = self.lost
        if model is not self.chosen:
            note = (
                f"memories that {model.name} has not embedded are compared by words alone:"
                f" {model.name} answers until {self.chosen.name} has embedded all and is ready"
            )
        return evolve(ranking, note=note) if note else ranking

    def complete(self) -> None:
        """Let the configured model answer from now on, if it has embedded every memory.

        This call first builds the index, however long that takes; other threads keep searching.
        """
        if not self._is_final and not self._storage.pending(self.chosen.name, limit=1):
            with self._deciding:
                taking_over = self._take_over()
            if taking_over is not None:
                taking_over.join()

    def save(self) -> None:
        """Write the snapshot of the index in use, if the index considers it worthwhile."""
        index = (self._answering or self.chosen).index
        if isinstance(index, SupportsIndex):
            index.save()

    def close(self) -> None:
        """Close the former model, if this object opened it, and stop the preparation of a model.

        The caller that opened the storage and the configured model closes them.
        """
        self._closed.set()
        taking_over = self._taking_over
        if taking_over is not None:
            taking_over.join(_CLOSING_SECONDS)
        self._owned.close()

    def _build_model(self, given: Embedder) -> Model:
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

    def _update_answering(self) -> None:
        """Decide which model answers, if the feed has moved since the last decision."""
        # Threads wait for the first decision only; later they go on with the model in use.
        if not self._deciding.acquire(blocking=self._answering is None):
            return
        try:
            position = self._storage.position()
            if self._is_final or position == self._decided_at:
                return
            taking_over = None
            former = self._answering
            if not self._storage.pending(self.chosen.name, limit=1):
                taking_over = self._take_over()
            elif former is None:
                self._choose_first()
            elif former is not self.chosen and not self._has_more(former, counted=False):
                taking_over = self._take_over()
            if taking_over is not None and former is not None:
                self._former_is_empty = not self._storage.measure().embedded.get(former.name)
            self._decided_at = position
        finally:
            self._deciding.release()
        if taking_over is not None:
            taking_over.join(_PATIENCE_SECONDS)

    def _wait_if_former_is_empty(self) -> None:
        """Wait for the chosen model, however long, if the former model has no vectors left."""
        taking_over = self._taking_over
        if self._former_is_empty and taking_over is not None:
            taking_over.join()

    def _choose_first(self) -> None:
        """Choose between the two models, while the new model has not embedded every memory."""
        former = self._open_former()
        if former is not None and self._has_more(former):
            _log.info("%s answers until %s has embedded all", former.name, self.chosen.name)
            self._answering = former
            return
        self._answering = self.chosen
        if self.lost is None:
            self._is_final = True
        self._owned.pop_all().close()

    def _open_former(self) -> Model | None:
        assert self._former is not None, "the model is final without a former model"
        try:
            embedder = self._owned.enter_context(self._former())
        except EmbedderError as error:
            self.lost = (
                f"memories that {self.chosen.name} has not embedded yet are compared by words"
                f" alone: the former model cannot be opened: {error}"
            )
            _log.warning("%s", self.lost)
            return None
        return None if embedder.model == self.chosen.name else self._build_model(embedder)

    def _has_more(self, former: Model, *, counted: bool = True) -> bool:
        """Return whether `former` has embedded more memories than the chosen model.

        Reads as many waiting memories as the shorter list has. If both lists are long, counts all
        vectors if `counted`, and otherwise returns True.
        """
        for limit in _COMPARED_LIMITS:
            waiting = len(self._storage.pending(former.name, limit=limit))
            for_chosen = len(self._storage.pending(self.chosen.name, limit=limit))
            if waiting < limit or for_chosen < limit:
                return waiting < for_chosen
        if not counted:
            return True
        embedded = self._storage.measure().embedded
        return embedded.get(former.name, 0) > embedded.get(self.chosen.name, 0)

    def _take_over(self) -> threading.Thread | None:
        """Start the change to the chosen model; return the thread that prepares it, if any.

        The caller holds the lock.
        """
        if self._answering in (None, self.chosen):
            self._finish_change()
            return None
        if self._taking_over is None or not self._taking_over.is_alive():
            self._taking_over = threading.Thread(
                target=self._prepare_and_take_over, name="infinite-memory-model", daemon=True
            )
            self._taking_over.start()
        return self._taking_over

    def _prepare_and_take_over(self) -> None:
        try:
            for step in (self._warm_up, self._warm_up_index):
                if self._closed.is_set():
                    return
                step()
        except (StorageError, StoreClosed) as error:
            _log.debug("the change of the model waits: %s", error)
        # The embedder may be a plug-in of the user, which can raise anything; the former model
        # continues to answer.
        except Exception as error:  # noqa: BLE001 -- the boundary to a plug-in, see above
            _log.warning("the change to %s waits: %r", self.chosen.name, error)
        else:
            _log.info("%s answers from now on", self.chosen.name)
            self._finish_change()

    def _warm_up(self) -> None:
        self.chosen.embedder.embed_query("warm up")

    def _warm_up_index(self) -> None:
        if isinstance(self.chosen.index, SupportsIndex):
            self.chosen.index.warm_up()

    def _finish_change(self) -> None:
        self._answering, self.lost, self._is_final = self.chosen, None, True
        # Not closed: a running search may still use the former model.
        self._owned.pop_all()
