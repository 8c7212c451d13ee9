"""The metrics of a server in the format of Prometheus, by its official client.

Importing this module needs the extra `prometheus`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.observe.recorder import CacheUse, Recorder, Series
from infinite_memory.core.observe.timings import Durations
from infinite_memory.core.values.access.key import KeyUsage
from infinite_memory.engine.health import Health, HealthStatus
from infinite_memory_mcp.call_rates import KeyRates
from infinite_memory_mcp.lazy_store import LazyStore

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_PREFIX = "infinite_memory"
# One bucket for every doubling; the percentiles of `get_metrics` use all of them.
_EVERY = 4
# To measure a large store takes a moment, and its size changes slowly.
_FRESH_SECONDS = 10.0
# The labels of a metric must not grow with the people.
_MAX_KEYS = 100
_KEPT = {"memories": "memories", "bytes": "bytes of texts", "attachment_bytes": "stored bytes"}
_NOUNS = {
    Series.TOOLS: "tool",
    Series.OPERATIONS: "operation",
    Series.ARMS: "arm",
    Series.TRIGGERS: "trigger",
}


class Exporter:
    """Writes the metrics of a server and the health of its store. Any thread may call it."""

    def __init__(
        self,
        memory: LazyStore,
        rates: KeyRates,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Export the calls of `memory` and of the handles made from it, and those in `rates`."""
        self._registry = CollectorRegistry()
        self._registry.register(_ServerCollector(memory, rates, clock))
        ProcessCollector(registry=self._registry)

    def render(self, accept: str | None) -> tuple[bytes, str]:
        """Return the metrics, and their content type, in a format that the header accepts."""
        encode, content_type = choose_encoder(accept or "")
        return encode(self._registry), content_type


class _ServerCollector(Collector):
    def __init__(self, memory: LazyStore, rates: KeyRates, clock: Callable[[], float]) -> None:
        self._memory = memory
        self._rates = rates
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at: float | None = None
        self._health: Health | None = None
        self._usage: list[KeyUsage] = []

    def describe(self) -> Iterable[Metric]:
        """Return nothing: what is collected is known only when it is."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        yield from _collect_timings(self._memory.recorder, Series.TOOLS)
        caches = self._memory.recorder.caches()
        try:
            with self._memory.call() as store:
                recorder = store._services.recorder
                health, usage = self._look_at(store)
        except InfiniteMemoryError:
            yield _make_gauge("up", "Whether the store can be read", 0)
        else:
            yield from _collect_timings(recorder, Series.OPERATIONS)
            yield from _collect_timings(recorder, Series.ARMS)
            yield from _collect_timings(recorder, Series.TRIGGERS)
            yield from _collect_health(health)
            yield from _collect_usage(usage, self._rates.admitted())
            caches |= recorder.caches()
        yield from _collect_caches(caches)

    def _look_at(self, store: MemoryStore) -> tuple[Health, list[KeyUsage]]:
        with self._lock:
            now = self._clock()
            is_stale = self._looked_at is None or now - self._looked_at >= _FRESH_SECONDS
            if self._health is None or is_stale:
                self._usage = store.keys.usage(limit=_MAX_KEYS)
                self._health, self._looked_at = store.health(), now
            return self._health, self._usage


def _collect_timings(recorder: Recorder, series: Series) -> Iterator[Metric]:
    noun = _NOUNS[series]
    seconds = HistogramMetricFamily(
        f"{_PREFIX}_{noun}_duration_seconds", f"Calls by {noun}", labels=[noun]
    )
    errors = CounterMetricFamily(
        f"{_PREFIX}_{noun}_errors", f"Failed calls by {noun} and error", labels=[noun, "error"]
    )
    for name, state in recorder.durations(series).items():
        seconds.add_metric([name], buckets=_list_buckets(state), sum_value=state.total_seconds)
        for error, number in state.errors.items():
            errors.add_metric([name, error], number)
    yield seconds
    yield errors


def _list_buckets(state: Durations) -> list[tuple[str, float]]:
    buckets: list[tuple[str, float]] = [
        (f"{bound:g}", float(number)) for bound, number in state.cumulate(_EVERY)
    ]
    return [*buckets, ("+Inf", float(state.calls))]


def _collect_health(health: Health) -> Iterator[Metric]:
    yield _make_gauge("up", "Whether the store can be read", health.status != HealthStatus.FAILING)
    yield _make_gauge("degraded", "Whether something is lacking", health.status != HealthStatus.OK)
    values = {
        "memories": ("Memories that are not forgotten", health.memories),
        "store_bytes": ("Size of the store", health.size_bytes),
        "disk_free_bytes": ("Free bytes on the disk of the store", health.free_bytes),
        "index_behind": ("Changed memories that the index has not read", health.index_behind),
        "embeddings_pending": ("Memories that are found by words alone", health.pending),
        "handles": ("Open handles on the store, one for each key", len(health.clients)),
    }
    for name, (about, value) in values.items():
        if value is not None:
            yield _make_gauge(name, about, value)


def _collect_usage(usage: Iterable[KeyUsage], calls: Mapping[str, int]) -> Iterator[Metric]:
    """Yield what each person keeps, may keep and asked, by the name of the key."""
    families = {
        name: GaugeMetricFamily(f"{_PREFIX}_key_{name}", f"{about} of a person", labels=["key"])
        for noun, about in _KEPT.items()
        for name, about in ((noun, about), (f"max_{noun}", f"limit of {about}"))
    }
    asked = CounterMetricFamily(f"{_PREFIX}_key_calls", "Calls of a person", labels=["key"])
    for each in usage:
        for noun in _KEPT:
            families[noun].add_metric([each.name], getattr(each.kept, noun))
        for name, limit in each.quota.given().items():
            if name in families:
                families[name].add_metric([each.name], limit)
        asked.add_metric([each.name], calls.get(each.id, 0))
    yield from (*families.values(), asked)


def _collect_caches(caches: Mapping[str, CacheUse]) -> Iterator[Metric]:
    for noun in ("hits", "misses"):
        family = CounterMetricFamily(
            f"{_PREFIX}_cache_{noun}", f"Cache {noun} by cache", labels=["cache"]
        )
        for name, use in caches.items():
            family.add_metric([name], getattr(use, noun))
        yield family


def _make_gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{_PREFIX}_{name}", about, value=float(value))
