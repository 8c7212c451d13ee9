"""The store of a server, opened by the first call or in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from infinite_memory.core.clock import Deadline, within
from infinite_memory.core.errors import InfiniteMemoryError, StoreClosed
from infinite_memory.core.observe.recorder import Recorder
from infinite_memory.engine.calls import Calls
from infinite_memory_mcp.hook_server import HookServer
from infinite_memory_mcp.settings import CLIENT

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_log = logging.getLogger(__name__)
_QUIET_SECONDS = 0.25
_EVERYTHING = 10**9
_LAST_STEP_SECONDS = 3.0
_SHARE_OF_CALL = 0.8
"""So that a call that ends at its deadline is answered while its client still waits."""
_STOPPING = "the server is stopping: nothing was changed"


class LazyStore:
    """A store that is opened by the first call, or in the background before it.

    Opening takes far longer than the first answers to a client. If it fails, the call raises the
    error, and the next call tries again. Every method may be called from any thread. `client` is
    the name of the client in the journal.
    """

    def __init__(
        self,
        opener: Callable[[], MemoryStore],
        *,
        quiet_seconds: float = _QUIET_SECONDS,
        ingests: bool = False,
        works: bool = False,
        answers_hooks: bool = False,
        client: str | None = None,
        key_name: str | None = None,
        recorder: Recorder | None = None,
        folder: str | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        """Open with `opener`, in the background after `quiet_seconds` without a request.

        `ingests` also takes in, in the background, the notes of hooks in the home folder. `works`
        does the upkeep in the background, unless `upkeep.worker` of the configuration is False.
        `answers_hooks` answers the hooks of the user on a socket, once the store is open.
        `client` is the name in the journal, not the name that a client gives itself. `key_name`
        names the access key of the clients. `recorder` records the calls of the tools. `folder` is
        the folder that the client works in, None if it is unknown. `stopping` is the event of the
        server that makes several such stores, None for a server with this one.
        """
        self.stopping = threading.Event() if stopping is None else stopping
        self.key_name = key_name
        self.folder = folder
        self.recorder = Recorder() if recorder is None else recorder
        self._ingests = ingests
        self._works = works
        self._answers_hooks = answers_hooks
        self._hooks: HookServer | None = None
        self._worker: threading.Thread | None = None
        self._opener = opener
        self.client = CLIENT if client is None else client
        self._is_named = client is not None
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

    @property
    def is_open(self) -> bool:
        """Whether the store is open, so that the next call need not wait for it."""
        return self._store is not None

    @property
    def is_stopping(self) -> bool:
        """Whether what runs is to end at its next step."""
        return self.stopping.is_set() or self._closed.is_set()

    def note_client(self, name: str | None) -> None:
        """Use the name of this client in the journal, unless it has a name; None changes nothing.

        It has an effect only before the store is opened: a client gives its name before it calls a
        tool.
        """
        if name is not None and not self._is_named:
            self.client = name

    def get(self) -> MemoryStore:
        """Return the store, opening it if it is not open yet.

        Raises:
            InfiniteMemoryError: the store cannot be opened; the next call tries again.
        """
        with self._opening:
            if self._closed.is_set():
                raise StoreClosed(_STOPPING)
            if self._store is None:
                self._store = self._opener()
                self._start_hooks(self._store)
            return self._store

    def _start_hooks(self, store: MemoryStore) -> None:
        if self._answers_hooks:
            self._hooks = HookServer(self, store.config.home, ingests=self._works)
            self._hooks.start()

    @contextmanager
    def call(
        self,
        client: str | None = None,
        *,
        changes: dict[int, int] | None = None,
        seconds: float | None = None,
    ) -> Iterator[MemoryStore]:
        """Yield the store for the duration of a call, which has a deadline; `close` waits for it.

        `client` is the name that the caller gives itself; a store of a single client ignores it.
        `changes` gets how many memories each commit of the call changed, by the number of its
        entry, at once. `seconds` takes the place of the time of a call.

        Raises:
            StoreClosed: the server is stopping; nothing was changed.
            InfiniteMemoryError: the store cannot be opened; the next call tries again.
        """
        begun = time.monotonic()
        with self._calls.running():
            store = self._choose_store(client)
            if seconds is None:
                seconds = _SHARE_OF_CALL * store.config.limits.call_seconds
            deadline = Deadline(
                at=begun + seconds,
                is_stopping=lambda: self.is_stopping,
                changes={} if changes is None else changes,
            )
            with within(deadline):
                yield store

    def _choose_store(self, client: str | None) -> MemoryStore:
        del client
        return self.get()

    def warm_up_when_quiet(self) -> None:
        """Open the store and load its model in the background, after a moment without a request.

        Every call restarts the wait, so that the work does not compete with the first requests of a
        client. Once the work has begun, this does nothing until `embed_when_quiet` is called.
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
        """Embed memories without vectors in the background, at the next quiet moment."""
        with self._scheduling:
            self._warming = False

    def close(self) -> None:
        """Close the store if it was opened. Closing twice does nothing.

        It waits for running calls, three seconds at most, and refuses later calls.
        """
        deadline = time.monotonic() + _LAST_STEP_SECONDS
        self._closed.set()
        with self._scheduling:
            timer = self._timer
        if timer is not None:
            timer.cancel()
        self._calls.end(_LAST_STEP_SECONDS)
        with self._scheduling:
            worker = self._worker
        if worker is not None:
            worker.join(max(0.0, deadline - time.monotonic()))
        # A reader in the background would keep the database from being checkpointed. An earlier
        # timer than the last may have started it.
        if self._working.acquire(timeout=max(0.0, deadline - time.monotonic())):
            self._working.release()
        with self._opening:
            store, self._store = self._store, None
            hooks, self._hooks = self._hooks, None
        if hooks is not None:
            hooks.close()
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
        # The running thread may have found nothing to embed just before something was stored, so
        # the event asks it to look again; it checks the event after it has released the lock.
        self._asked.set()
        while self._asked.is_set() and self._working.acquire(blocking=False):
            try:
                self._asked.clear()
                self._make_ready()
            finally:
                self._working.release()

    def _ingest_notes(self, store: MemoryStore) -> None:
        try:
            store.conversations.ingest_spool(stop=lambda: self.is_stopping)
        except OSError as error:
            _log.warning("what hooks have noted could not be taken in: %s", error)

    def _start_worker(self, store: MemoryStore) -> None:
        """Do the upkeep in a thread, once for the lifetime of the server."""
        with self._scheduling:
            is_wanted = self._works and store.config.upkeep.worker and not self._closed.is_set()
            if is_wanted and self._worker is None:
                # A daemon: a job that does not end in time must not keep the process.
                self._worker = threading.Thread(
                    target=store.upkeep.work, args=(self._closed,), name="upkeep", daemon=True
                )
                self._worker.start()

    def _make_ready(self) -> None:
        try:
            with self._scheduling:
                self._warming = True
            store = self.get()
            store.models.warm_up()
            if self._ingests:
                self._ingest_notes(store)
            store.models.catch_up(limit=_EVERYTHING, stop=lambda: self.is_stopping)
            self._start_worker(store)
        except StoreClosed:
            return
        except InfiniteMemoryError as error:
            # The next call raises it too; this line is for readers of the log.
            _log.warning("the store could not be made ready: %s", error)
            self.embed_when_quiet()
