"""Usage: count recalls without delaying them.

Counts are gathered in memory. A background thread stores them in batches every two seconds, and the
store writes the last batch when it is closed. Counts of the last seconds are lost if the process is
killed, or if it closes a store whose server is gone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from datetime import datetime

from infinite_memory.core.errors import StorageError, StoreClosed
from infinite_memory.core.protocols import Storage, SupportsBriefCalls, limit_to_brief_calls
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.record import Usage

_log = logging.getLogger(__name__)
_FLUSH_SECONDS = 2.0
_CLOSING_SECONDS = 1.0
# If the store cannot be written for long, only the most recently used memories are counted.
_MAX_WAITING = 10_000


class UsageCounter:
    """Counts the use of the memories of a store. Every method may be called from any thread."""

    def __init__(self, storage: Storage, *, seconds: float = _FLUSH_SECONDS) -> None:
        """Store the counts every `seconds`; no thread runs before the first use."""
        self._storage = storage
        self._seconds = seconds
        self._lock = threading.Lock()
        self._storing = threading.Lock()
        self._waiting: dict[str, Usage] = {}
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def note(self, ids: Iterable[str], now: datetime) -> None:
        """Add one use at the moment `now` to every memory in `ids`; this takes microseconds."""
        with self._lock:
            for memory_id in ids:
                self._add_usage(memory_id, Usage(count=1, last=now))
            if self._waiting and self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(
                    target=self._write_regularly, name="usage", daemon=True
                )
                self._thread.start()

    def store(self, used: Mapping[str, Usage]) -> None:
        """Store counts at once, on which the next call of any process may depend.

        Raises:
            StorageError: they cannot be stored.
        """
        self._storage.count_usage(used)

    def flush(self) -> None:
        """Store the gathered counts; if that fails, they are lost."""
        with self._storing:
            with self._lock:
                batch, self._waiting = self._waiting, {}
            if not batch:
                return
            try:
                self._storage.count_usage(batch)
            except (StorageError, StoreClosed) as error:
                # The outcome may be unknown; to count twice is worse than not at all.
                number = format_count(len(batch), "memory", "memories")
                _log.debug("the use of %s was not counted: %s", number, error)

    def close(self) -> None:
        """Store the remaining counts, and stop counting. Closing twice does nothing.

        Does not wait for a server that does not answer: the remaining counts are lost.
        """
        self._closed.set()
        with self._lock:
            thread = self._thread
        brief = isinstance(self._storage, SupportsBriefCalls)
        if thread is not None:
            thread.join(_CLOSING_SECONDS if brief else None)
        if thread is None or not thread.is_alive():
            with limit_to_brief_calls(self._storage):
                self.flush()

    def _add_usage(self, memory_id: str, usage: Usage) -> None:
        known = self._waiting.pop(memory_id, None)
        self._waiting[memory_id] = usage if known is None else known.plus(usage)
        if len(self._waiting) > _MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]

    def _write_regularly(self) -> None:
        while not self._closed.wait(self._seconds):
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
            self.flush()
