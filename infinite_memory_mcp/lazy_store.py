"""The one store of a server, opened when it is first needed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from infinite_memory.errors import InfiniteMemoryError, StoreClosed
from infinite_memory.operations.calls import Calls
from infinite_memory_mcp.settings import CLIENT

if TYPE_CHECKING:
    from infinite_memory.store import MemoryStore

__all__ = ["LazyStore"]

_log = logging.getLogger(__name__)
_QUIET_SECONDS = 0.25
_EVERYTHING = 10**9
_LAST_STEP_SECONDS = 3.0
_STOPPING = "the server is stopping: nothing was changed"


class LazyStore:
    """A store that is opened by the first call that needs it, or in the background before that.

    Opening takes far longer than answering what a client asks first, and may fail; then every call
    is told why, and the next one tries again. Every method may be called from any thread. `client`
    is the name under which changes are to be entered in the journal.
    """

    def __init__(
        self, opener: Callable[[], MemoryStore], *, quiet_seconds: float = _QUIET_SECONDS
    ) -> None:
        """Open with `opener`, in the background once `quiet_seconds` passed without a request."""
        self._opener = opener
        self.client = CLIENT
        self._quiet_seconds = quiet_seconds
        self._opening = threading.Lock()
        self._store: MemoryStore | None = None
        self._scheduling = threading.Lock()
        self._timer: threading.Timer | None = None
        self._warming = False
        self._working = threading.Lock()
        self._asked = threading.Event()
        self._closed = threading.Event()
        self._calls = Calls(_STOPPING)

    def note_client(self, name: str | None) -> None:
        """Enter changes under the name of this client from now on; None changes nothing.

        It counts for a store that is opened later: a client says its name before it calls a tool.
        """
        if name is not None:
            self.client = name

    def get(self) -> MemoryStore:
        """Return the store, opening it if it is not open yet.

        Raises:
            InfiniteMemoryError: it cannot be opened; asking again tries again.
        """
        with self._opening:
            if self._closed.is_set():
                raise StoreClosed(_STOPPING)
            if self._store is None:
                self._store = self._opener()
            return self._store

    @contextmanager
    def call(self) -> Iterator[MemoryStore]:
        """Give the store for the length of one call, which `close` waits for.

        Raises:
            StoreClosed: the server is stopping; nothing was changed.
            InfiniteMemoryError: it cannot be opened; asking again tries again.
        """
        with self._calls.one():
            yield self.get()

    def warm_up_when_quiet(self) -> None:
        """Open the store and load its model in the background, once no request came for a moment.

        Each call starts the wait anew, so that the work never competes with a client's first
        requests. Once it has begun, this does nothing until `embed_when_quiet`.
        """
        with self._scheduling:
            if self._warming or self._closed.is_set():
                return
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._quiet_seconds, self._warm_up)
            self._timer.name = "warm-up"
            self._timer.start()

    def embed_when_quiet(self) -> None:
        """Embed in the background what was stored without its vectors, at the next quiet moment."""
        with self._scheduling:
            self._warming = False

    def close(self) -> None:
        """Close the store if it was opened. Closing twice does nothing.

        Calls that are under way are waited for, three seconds at most; later ones are refused.
        """
        deadline = time.monotonic() + _LAST_STEP_SECONDS
        self._closed.set()
        with self._scheduling:
            timer = self._timer
        if timer is not None:
            timer.cancel()
        self._calls.end(_LAST_STEP_SECONDS)
        # A reader that is still at work would keep the database from being put away whole. It may
        # have been started by an earlier timer than the last one.
        if self._working.acquire(timeout=max(0.0, deadline - time.monotonic())):
            self._working.release()
        with self._opening:
            store, self._store = self._store, None
        if store is not None:
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _warm_up(self) -> None:
        # Whoever is at it may have found nothing waiting just before something was stored, so it is
        # told to look once more; it looks here after it let go of the lock.
        self._asked.set()
        while self._asked.is_set() and self._working.acquire(blocking=False):
            try:
                self._asked.clear()
                self._make_ready()
            finally:
                self._working.release()

    def _make_ready(self) -> None:
        try:
            with self._scheduling:
                self._warming = True
            store = self.get()
            store.models.warm_up()
            store.models.catch_up(limit=_EVERYTHING, stop=self._closed.is_set)
        except StoreClosed:
            return
        except InfiniteMemoryError as error:
            # Whoever calls a tool is told; this is for whoever reads the log.
            _log.warning("the store could not be made ready: %s", error)
            self.embed_when_quiet()
