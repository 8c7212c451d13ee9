"""How long calls take, as the percentiles that a table shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from attrs import frozen

_Item = TypeVar("_Item")


@frozen(kw_only=True)
class Percentiles:
    """Milliseconds of `count` calls."""

    p50: float
    p95: float
    p99: float
    least: float
    count: int

    def __str__(self) -> str:
        return f"{self.p50:9.2f} {self.p95:9.2f} {self.p99:9.2f} {self.least:9.2f}"


def timed(call: Callable[[_Item], object], items: Iterable[_Item]) -> Percentiles:
    """Call `call` with each of `items`, the first three of them untimed."""
    rest = list(items)
    for item in rest[:3]:
        call(item)
    taken = []
    for item in rest[3:]:
        start = time.perf_counter()
        call(item)
        taken.append(1000 * (time.perf_counter() - start))
    p50, p95, p99 = np.percentile(taken, [50, 95, 99])
    return Percentiles(
        p50=float(p50), p95=float(p95), p99=float(p99), least=min(taken), count=len(taken)
    )
