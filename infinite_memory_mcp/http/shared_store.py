"""The store of the clients without a key: each call bears the name of its client."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from infinite_memory.core.observe.recorder import Recorder
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.settings import CLIENT

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_MAX_NAMES = 64


class SharedStore(LazyStore):
    """A store whose callers are many clients; the journal names the one that called.

    A client without a name, and a client that comes when 64 others have given theirs, is called
    `CLIENT`.
    """

    def __init__(
        self,
        opener: Callable[[], MemoryStore],
        *,
        recorder: Recorder,
        stopping: threading.Event | None = None,
    ) -> None:
        """Open with `opener`, whose store is that of the clients without a name."""
        super().__init__(opener, client=CLIENT, recorder=recorder, stopping=stopping)
        self._naming = threading.Lock()
        self._handles: dict[str, MemoryStore] = {}

    def _store_of(self, client: str | None) -> MemoryStore:
        store = self.get()
        if client is None or client == CLIENT:
            return store
        with self._naming:
            handle = self._handles.get(client)
            if handle is None and len(self._handles) < _MAX_NAMES:
                # Closed with the store.
                handle = self._handles[client] = store.confine(scopes="*", client=client)
        return store if handle is None else handle
