"""The recorder of a store: what its calls, the arms of its searches and its caches did."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from enum import StrEnum
from functools import wraps
from types import FunctionType, TracebackType
from typing import Any, Protocol, Self, TypeVar

from attrs import frozen

from infinite_memory.core.observe.timings import Durations, Histogram, Timing
from infinite_memory.core.observe.traces import Span, start_span
from infinite_memory.core.plain import PlainData


class Series(StrEnum):
    """What is measured by name."""

    OPERATIONS = "operations"
    ARMS = "arms"
    TOOLS = "tools"
    TRIGGERS = "triggers"


@frozen(kw_only=True)
class CacheUse(PlainData):
    """How often a cache had what was asked for, and how often not."""

    hits: int
    misses: int


@frozen(kw_only=True)
class Metrics(PlainData):
    """What a store did `since` it was opened, in this process.

    `operations` are calls of its methods, such as "search" and "scopes.create"; a call that another
    method makes is part of that method's call. `arms` are the parts of a search: "words" is BM25,
    "embedding" makes the vector of the question, and "meaning" compares vectors. `caches` are the
    vectors of questions and of texts that are kept in memory. `triggers` are the conditions that
    were checked, by language: "timeout" counts those that took too long, "error" those that failed.
    """

    since: datetime
    operations: dict[str, Timing]
    arms: dict[str, Timing]
    caches: dict[str, CacheUse]
    triggers: dict[str, Timing]


class Recorder:
    """Counts and times calls, in bounded memory. Every method may be called from any thread."""

    def __init__(self, *, within: Recorder | None = None) -> None:
        """Begin with nothing; whatever is recorded here is also recorded in `within`."""
        self.since = datetime.now(UTC)
        self._within = within
        self._lock = threading.Lock()
        self._histograms: dict[tuple[Series, str], Histogram] = {}
        self._caches: dict[str, tuple[int, int]] = {}
        self._running = 0

    @property
    def is_busy(self) -> bool:
        """Whether a call of a method of the store is running at the moment."""
        return self._running > 0

    def count_running(self, change: int) -> None:
        """Count a call that begins, by 1, or that ends, by -1."""
        recorder: Recorder | None = self
        while recorder is not None:
            with recorder._lock:
                recorder._running += change
            recorder = recorder._within

    def add(self, series: Series, name: str, seconds: float, error: str | None = None) -> None:
        """Record a call of `name` that took `seconds`, and the type of its error."""
        self.add_many(series, name, [(seconds, error)])

    def add_many(
        self, series: Series, name: str, calls: Iterable[tuple[float, str | None]]
    ) -> None:
        """Record calls of `name`: for each how many seconds it took, and the type of its error."""
        calls = list(calls)
        if not calls:
            return
        recorder: Recorder | None = self
        while recorder is not None:
            with recorder._lock:
                histogram = recorder._histograms.get((series, name))
                if histogram is None:
                    histogram = recorder._histograms[series, name] = Histogram()
                for seconds, error in calls:
                    histogram.add(seconds, error)
            recorder = recorder._within

    def count_cache(self, name: str, *, hits: int, misses: int) -> None:
        """Count what was asked of a cache."""
        recorder: Recorder | None = self
        while recorder is not None:
            with recorder._lock:
                before = recorder._caches.get(name, (0, 0))
                recorder._caches[name] = before[0] + hits, before[1] + misses
            recorder = recorder._within

    def call(self, operation: str) -> AbstractContextManager[Any]:
        """Return a context that records a call of a method; a call within a call is not counted."""
        return _Call(self, operation)

    def durations(self, series: Series) -> dict[str, Durations]:
        """Return the durations of a series by name."""
        with self._lock:
            return {
                name: histogram.read()
                for (kind, name), histogram in sorted(self._histograms.items())
                if kind is series
            }

    def timings(self, series: Series) -> dict[str, Timing]:
        """Return the numbers of a series by name, for a person."""
        return {name: state.to_timing() for name, state in self.durations(series).items()}

    def caches(self) -> dict[str, CacheUse]:
        """Return the use of every cache by name."""
        with self._lock:
            return {
                name: CacheUse(hits=hits, misses=misses)
                for name, (hits, misses) in sorted(self._caches.items())
            }

    def read(self) -> Metrics:
        """Return what was recorded of a store."""
        return Metrics(
            since=self.since,
            operations=self.timings(Series.OPERATIONS),
            arms=self.timings(Series.ARMS),
            caches=self.caches(),
            triggers=self.timings(Series.TRIGGERS),
        )


class _Call:
    """A running call of a method, and a span of it where traces are made."""

    __slots__ = ("_begun", "_span", "_token", "operation", "recorder")

    def __init__(self, recorder: Recorder, operation: str) -> None:
        self.recorder = recorder
        self.operation = operation
        self._token: Token[_Call | None] | None = None
        self._span: Span | None = None

    def __enter__(self) -> Self:
        if _current.get() is None:
            self._token = _current.set(self)
            self.recorder.count_running(1)
            self._span = start_span(self.operation)
        self._begun = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._token is None:
            return
        seconds = time.perf_counter() - self._begun
        self.recorder.count_running(-1)
        _current.reset(self._token)
        name = None if kind is None else kind.__name__
        if self._span is not None:
            self._span.end(name)
        self.recorder.add(Series.OPERATIONS, self.operation, seconds, name)

    def add_arm(self, arm: str, seconds: float, error: str | None) -> None:
        """Record an arm of the search that this call is."""
        self.recorder.add(Series.ARMS, arm, seconds, error)

    def count_cache(self, name: str, *, hits: int, misses: int) -> None:
        """Count what this call asked of a cache."""
        self.recorder.count_cache(name, hits=hits, misses=misses)


# The outermost call of a store that runs in this context.
_current: ContextVar[_Call | None] = ContextVar("infinite_memory_call", default=None)


class _Arm:
    """A running arm of a search."""

    __slots__ = ("_begun", "_call", "_name", "_span")

    def __init__(self, name: str) -> None:
        self._name = name
        self._call = _current.get()
        self._span: Span | None = None

    def __enter__(self) -> Self:
        if self._call is not None:
            self._span = start_span(f"search.{self._name}")
        self._begun = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._call is None:
            return
        name = None if kind is None else kind.__name__
        if self._span is not None:
            self._span.end(name)
        self._call.add_arm(self._name, time.perf_counter() - self._begun, name)


def measure_arm(name: str) -> AbstractContextManager[Any]:
    """Return a context that records an arm of a search, if a call of a store is running."""
    return _Arm(name)


def count_cache(name: str, *, hits: int = 0, misses: int = 0) -> None:
    """Count what the running call of a store asked of a cache; without a call, nothing."""
    call = _current.get()
    if call is not None:
        call.count_cache(name, hits=hits, misses=misses)


def current_operation() -> str | None:
    """Return the name of the method of a store that is running, None outside."""
    call = _current.get()
    return None if call is None else call.operation


def current_recorder() -> Recorder | None:
    """Return the recorder of the method of a store that is running, None outside."""
    call = _current.get()
    return None if call is None else call.recorder


class _HasRecorder(Protocol):
    @property
    def recorder(self) -> Recorder: ...


class _HasServices(Protocol):
    @property
    def _services(self) -> _HasRecorder: ...


_Class = TypeVar("_Class", bound=type)


def measure_calls(prefix: str = "", *, without: tuple[str, ...] = ()) -> Callable[[_Class], _Class]:
    """Decorate a class of methods of a store, so that every public method records its calls.

    `prefix` begins the names of the operations. Methods in `without` are left alone.
    """

    def decorate(cls: _Class) -> _Class:
        for name, method in list(vars(cls).items()):
            is_public = isinstance(method, FunctionType) and not name.startswith("_")
            if is_public and name not in without:
                setattr(cls, name, _measure_method(method, prefix + name))
        return cls

    return decorate


def _measure_method(method: Callable[..., Any], operation: str) -> Callable[..., Any]:
    @wraps(method)
    def call(self: _HasServices, /, *args: Any, **kwargs: Any) -> Any:
        with self._services.recorder.call(operation):
            return method(self, *args, **kwargs)

    return call
