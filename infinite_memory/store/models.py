"""`store.models`: the embedding models of a store, and the change from a model to another."""

from __future__ import annotations

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.protocols import SupportsIndex
from infinite_memory.core.values.checks import check_count
from infinite_memory.engine.embed import Stop, catch_up, drop_others, never
from infinite_memory.store.lifetime import Group


@measure_calls("models.")
class EmbeddingModels(Group):
    """The embedding models of a store: the configured model, and the models used before it."""

    @property
    def configured(self) -> str:
        """The name of the model that embeds new memories."""
        return self._services.models.configured.name

    @property
    def answering(self) -> str:
        """The name of the model that searches use.

        It differs from `configured` while a change of the model is under way.
        """
        return self._services.models.answering().name

    def pending(self, *, limit: int = 100_000) -> int:
        """Return how many memories the configured model has yet to embed; counts up to `limit`.

        Until a memory is embedded, a search finds it by its words.

        Raises:
            InvalidInput: the limit cannot be used.
        """
        check_count(limit, "limit", low=1, high=2**62)
        return len(self._services.storage.pending(self.configured, limit=limit))

    def catch_up(self, *, limit: int = 1000, stop: Stop = never) -> int:
        """Embed at most `limit` pending memories; return how many were embedded.

        After another model was configured every memory is pending; when none is left, the new
        model answers. `stop` is called now and then, and ends the work early by returning True.

        Raises:
            InvalidInput: the limit is less than 1.
        """
        return catch_up(self._services, limit=limit, stop=stop)

    def drop_others(self) -> dict[str, int]:
        """Remove the vectors of every model but `configured`, once it embedded everything.

        Returns by model how many memories had vectors.

        Raises:
            Conflict: the configured model has memories to embed; nothing was removed.
        """
        return drop_others(self._services)

    def warm_up(self) -> None:
        """Load the model and the index now, so that the first search need not wait for them.

        The index of the whole store is left alone where people have searched single scopes.

        Raises:
            EmbedderError: the model cannot be loaded.
        """
        model = self._services.models.answering()
        if isinstance(model.index, SupportsIndex):
            model.index.warm_up()
        model.embedder.embed_query("warm up")
