"""How often something was done, how long it took, and which errors it had."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate

from attrs import define, field, frozen

from infinite_memory.core.plain import PlainData

_FIRST_BOUND = 0.0001
_STEPS_PER_DOUBLING = 4
_DOUBLINGS = 20
_MAX_ERROR_KINDS = 32
_OTHER_ERRORS = "other"

BOUNDS = tuple(
    _FIRST_BOUND * 2 ** (step / _STEPS_PER_DOUBLING)
    for step in range(_DOUBLINGS * _STEPS_PER_DOUBLING + 1)
)
"""The upper bounds of the buckets in seconds: 0.1 ms to 105 s, four for every doubling."""


@frozen(kw_only=True)
class Timing(PlainData):
    """Calls of one kind: their number, their errors by type, and their durations.

    A percentile is the estimate of `Durations.quantile`, at most a fifth away from the true one;
    None without calls. `max_ms` and `total_seconds` are exact.
    """

    calls: int
    errors: dict[str, int]
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    total_seconds: float


@frozen(kw_only=True)
class Durations:
    """The state of a histogram: how many durations are in each bucket, the last without a bound."""

    counts: tuple[int, ...]
    total_seconds: float
    longest: float
    errors: Mapping[str, int]

    @property
    def calls(self) -> int:
        """The number of durations."""
        return sum(self.counts)

    def quantile(self, share: float) -> float | None:
        """Return an estimate of the quantile in seconds, None without durations.

        The method is that of `histogram_quantile` in Prometheus: the bucket that holds the rank
        `share` times the number is found, and durations are taken to lie evenly within it. The
        longest duration is known and bounds the estimate. See
        https://prometheus.io/docs/practices/histograms/#errors-of-quantile-estimation
        """
        rank, before = share * self.calls, 0
        if not self.calls:
            return None
        for index, count in enumerate(self.counts):
            if count and before + count >= rank:
                low = BOUNDS[index - 1] if index else 0.0
                high = BOUNDS[index] if index < len(BOUNDS) else self.longest
                return min(low + (high - low) * (rank - before) / count, self.longest)
            before += count
        return self.longest

    def cumulate(self, every: int) -> Iterator[tuple[float, int]]:
        """Yield (bound, number of durations up to it) for one bound of `every`."""
        counts = list(accumulate(self.counts))
        for index in range(0, len(BOUNDS), every):
            yield BOUNDS[index], counts[index]

    def to_timing(self) -> Timing:
        """Return the numbers for a person."""
        return Timing(
            calls=self.calls,
            errors=dict(self.errors),
            p50_ms=_convert_to_ms(self.quantile(0.50)),
            p95_ms=_convert_to_ms(self.quantile(0.95)),
            p99_ms=_convert_to_ms(self.quantile(0.99)),
            max_ms=_convert_to_ms(self.longest) if self.calls else None,
            total_seconds=round(self.total_seconds, 6),
        )


@define(eq=False)
class Histogram:
    """Counts durations in fixed buckets, so that its size does not grow. It is not thread-safe."""

    _counts: list[int] = field(factory=lambda: [0] * (len(BOUNDS) + 1))
    _total_seconds: float = 0.0
    _longest: float = 0.0
    _errors: Counter[str] = field(factory=Counter)

    def add(self, seconds: float, error: str | None) -> None:
        """Count a duration, and the type of its error if there was one."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._total_seconds += seconds
        self._longest = max(self._longest, seconds)
        if error is not None:
            is_known = error in self._errors or len(self._errors) < _MAX_ERROR_KINDS
            self._errors[error if is_known else _OTHER_ERRORS] += 1

    def read(self) -> Durations:
        """Return the present state."""
        return Durations(
            counts=tuple(self._counts),
            total_seconds=self._total_seconds,
            longest=self._longest,
            errors=dict(self._errors),
        )


def _convert_to_ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)
