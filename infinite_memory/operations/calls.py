"""The calls that change a store and are under way, so that closing it can wait for them."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from infinite_memory.errors import StoreClosed
from infinite_memory.operations.after_commit import AfterCommit

__all__ = ["Calls", "counted"]


def _nothing() -> None:
    """Release nothing."""


_Method = TypeVar("_Method", bound=Callable[..., Any])


class Calls:
    """Counts the calls that are under way. Every method may be called from any thread."""

    def __init__(self, refusal: str = "this store is being closed: nothing was changed") -> None:
        """Begin with none, and let new ones in; later ones are refused with these words."""
        self._refusal = refusal
        self._process = os.getpid()
        # It may be asked for again by the thread that holds it, in the handler of a signal.
        self._changed = threading.Condition(threading.RLock())
        self._under_way: Counter[int] = Counter()
        self._ended = False
        self._put_off: dict[int, Callable[[], object]] = {}

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one call for the length of a block.

        Raises:
            StoreClosed: no new call is let in any more; nothing was changed.
        """
        thread = threading.get_ident()
        with self._changed:
            self.check()
            self._under_way[thread] += 1
        try:
            yield
        finally:
            self._leave(thread)

    def check(self) -> None:
        """Refuse to go on if no new call would be let in.

        Raises:
            StoreClosed: with the words of the refusal.
        """
        if self._ended:
            raise StoreClosed(self._refusal)

    def end(self, seconds: float, release: Callable[[], object] = _nothing) -> None:
        """Let no new call in, wait at most so long for the others, and `release` what they use.

        Where this thread is in a call itself, as in a callback or the handler of a signal, nobody
        can wait for that: it is finished first, and releases everything at its end.
        """
        deadline = time.monotonic() + seconds
        # In a forked child nobody is left who could finish a call, or let go of the lock.
        if os.getpid() == self._process and self._changed.acquire(timeout=seconds):
            try:
                self._ended = True
                if self._under_way[threading.get_ident()]:
                    self._put_off[threading.get_ident()] = release
                    return
                self._wait_until(deadline)
            finally:
                self._changed.release()
        release()

    def _leave(self, thread: int) -> None:
        with self._changed:
            self._under_way[thread] -= 1
            if self._under_way[thread]:
                return
            del self._under_way[thread]
            self._changed.notify_all()
            release = self._put_off.pop(thread, None)
        if release is not None:
            with AfterCommit("the closing of the store"):
                release()

    def _wait_until(self, deadline: float) -> None:
        while any(self._under_way.values()):
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


def counted(method: _Method) -> _Method:
    """Count the calls of a method of a store, so that closing the store waits for them."""

    @wraps(method)
    def call(self: _HasServices, /, *args: Any, **kwargs: Any) -> Any:
        with self._services.calls.one():
            return method(self, *args, **kwargs)

    return cast(_Method, call)
