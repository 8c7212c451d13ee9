"""Looking after what is stored."""

from __future__ import annotations

from infinite_memory.model.findings import Verification
from infinite_memory.operations.embed import Stop, catch_up, drop_others, never
from infinite_memory.operations.remember import Progress
from infinite_memory.operations.stats import Stats, stats
from infinite_memory.operations.verify import verify
from infinite_memory.protocols import SupportsIndex
from infinite_memory.store.part import StorePart

__all__ = ["Keeping"]


class Keeping(StorePart):
    """Looking after what is stored."""

    def stats(self) -> Stats:
        """Count what is stored."""
        return stats(self._services)

    def catch_up(self, *, limit: int = 1000, stop: Stop = never) -> int:
        """Embed at most `limit` memories that wait for their vectors; return how many it did.

        After another model was configured those are all memories; when none waits any more, the new
        model answers. `stop` is asked now and then, and ends the work early when it returns true.
        """
        return catch_up(self._services, limit=limit, stop=stop)

    def drop_other_models(self) -> dict[str, int]:
        """Remove the vectors of every model but the configured one, which has embedded everything.

        Returns how many memories had vectors by each.

        Raises:
            Conflict: some memories wait for the configured model; nothing was removed.
        """
        return drop_others(self._services)

    def verify(self, *, mend: bool = False, progress: Progress | None = None) -> Verification:
        """Look at everything: pages, records, histories, vectors, scopes, and the index.

        Nothing is changed, and nothing that is damaged is ever repaired. `mend` makes anew what
        was derived from sound records: damaged vectors, from the texts, and a damaged index.
        `progress` is told (memories done, all of them) from time to time.

        Raises:
            StorageUnavailable: the store cannot be read at the moment.
        """
        return verify(self._services, mend=mend, progress=progress)

    def warm_up(self) -> None:
        """Load the model and the index now, so that the first search need not wait for them.

        Raises:
            EmbedderError: the model cannot be loaded.
        """
        model = self._services.models.answering()
        if isinstance(model.index, SupportsIndex):
            model.index.warm_up()
        model.embedder.embed_query("warm up")
