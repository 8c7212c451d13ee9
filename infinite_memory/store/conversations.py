"""`store.conversations`: the messages of the sessions of clients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from infinite_memory.conversations.ingest import ingest_spool
from infinite_memory.conversations.ingested import Ingested
from infinite_memory.conversations.project_scope import existing_project_scope
from infinite_memory.observe.recorder import measure_calls
from infinite_memory.operations.calls import count_call
from infinite_memory.projects.ingest import ingest_noted
from infinite_memory.store.lifetime import Group

__all__ = ["Conversations"]


def _never() -> bool:
    return False


@measure_calls("conversations.")
class Conversations(Group):
    """The conversations of a store, and the taking in of sessions that hooks have noted."""

    @count_call
    def ingest_spool(self, *, stop: Callable[[], bool] = _never) -> Ingested:
        """Store the messages of the sessions that hooks have noted in the home folder.

        Each message becomes a memory of kind message, with its conversation, in the scope of the
        repository that the session worked in, or in the default scope. Its pieces of work in a
        repository become chunks too, unless `projects.sessions` of the configuration is False. A
        message that was taken in before is not stored again, even if it was revised, forgotten or
        erased since. One process reads at a time; any other returns at once. A store that is
        confined to scopes, or that ends with the process, takes nothing in. `stop` is asked from
        time to time.

        Raises:
            StorageError: the messages cannot be stored at the moment; they are kept.
        """
        services = self._services
        return ingest_spool(services, stop, partial(ingest_noted, services))

    def project_scope(self, folder: str) -> str | None:
        """Return the scope of the repository that holds `folder`, None if there is none yet."""
        return existing_project_scope(self._services, folder)
