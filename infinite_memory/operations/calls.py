"""The calls that change a store and are under way, so that closing it can wait for them."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from infinite_memory.errors import StoreClosed

__all__ = ["Calls", "counted"]

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Calls:
    """Counts the calls that are under way. Every method may be called from any thread."""

    def __init__(self, refusal: str = "this store is being closed: nothing was changed") -> None:
        """Begin with none, and let new ones in; later ones are refused with these words."""
        self._refusal = refusal
        # It may be asked for again by the thread that holds it, in the handler of a signal.
        self._changed = threading.Condition(threading.RLock())
        self._under_way: Counter[int] = Counter()
        self._ended = False

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one call for the length of a block.

        Raises:
            StoreClosed: no new call is let in any more; nothing was changed.
        """
        thread = threading.get_ident()
        with self._changed:
            if self._ended:
                raise StoreClosed(self._refusal)
            self._under_way[thread] += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way[thread] -= 1
                self._changed.notify_all()

    def end(self, seconds: float) -> bool:
        """Let no new call in, and wait at most so long for the others; return whether none is left.

        Those of this thread are not waited for: they wait for this one.
        """
        deadline = time.monotonic() + seconds
        mine = threading.get_ident()
        with self._changed:
            self._ended = True
            while any(count for thread, count in self._under_way.items() if thread != mine):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True


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
