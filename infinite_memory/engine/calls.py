"""Count the running calls that change a store, so that closing the store can wait for them."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from infinite_memory.core.errors import StoreClosed
from infinite_memory.engine.after_commit import AfterCommit


def _do_nothing() -> None:
    """Do nothing."""


_Method = TypeVar("_Method", bound=Callable[..., Any])


class Calls:
    """Counts running calls. Every method may be called from any thread."""

    def __init__(
        self,
        refusal: str = "this store is being closed: nothing was changed",
        *,
        within: Calls | None = None,
    ) -> None:
        """Accept calls until `end`; later calls are refused with the message `refusal`.

        A call is also counted in `within`, whose end refuses it too.
        """
        self._refusal = refusal
        self._within = within
        self._process = os.getpid()
        # Reentrant: a signal handler may run in the thread that holds it.
        self._changed = threading.Condition(threading.RLock())
        self._running: Counter[int] = Counter()
        self._ended = False
        self._deferred: dict[int, Callable[[], object]] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count a call for the duration of the block.

        Raises:
            StoreClosed: `end` was called; nothing was changed.
        """
        thread = threading.get_ident()
        with nullcontext() if self._within is None else self._within.running():
            with self._changed:
                self.check()
                self._running[thread] += 1
            try:
                yield
            finally:
                self._leave_call(thread)

    def check(self) -> None:
        """Raise if a new call would be refused.

        Raises:
            StoreClosed: `end` was called.
        """
        if self._ended:
            raise StoreClosed(self._refusal)
        if self._within is not None:
            self._within.check()

    def end(self, seconds: float, release: Callable[[], object] = _do_nothing) -> None:
        """Refuse new calls, wait at most `seconds` for running calls, and call `release`.

        If this thread is inside a call, as in a callback or a signal handler, it cannot wait for
        itself: this method returns at once, and `release` is called at the end of that call.
        """
        deadline = time.monotonic() + seconds
        # In a forked child no thread exists that could finish a call or release the lock.
        if os.getpid() == self._process and self._changed.acquire(timeout=seconds):
            try:
                self._ended = True
                if self._running[threading.get_ident()]:
                    self._deferred[threading.get_ident()] = release
                    return
                self._wait_until(deadline)
            finally:
                self._changed.release()
        release()

    def _leave_call(self, thread: int) -> None:
        with self._changed:
            self._running[thread] -= 1
            if self._running[thread]:
                return
            del self._running[thread]
            self._changed.notify_all()
            release = self._deferred.pop(thread, None)
        if release is not None:
            with AfterCommit("the closing of the store"):
                release()

    def _wait_until(self, deadline: float) -> None:
        while any(self._running.values()):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self._changed.wait(left)


class _HasCalls(Protocol):
    @property
    def calls(self) -> Calls: ...


class _HasServices(Protocol):
    @property
    def _services(self) -> _HasCalls: ...


def count_call(method: _Method) -> _Method:
    """Decorate a method of a store, so that closing the store waits for its calls."""

    @wraps(method)
    def call(self: _HasServices, /, *args: Any, **kwargs: Any) -> Any:
        with self._services.calls.running():
            return method(self, *args, **kwargs)

    return cast(_Method, call)
