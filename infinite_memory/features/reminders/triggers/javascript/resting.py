"""Conditions that took too long several times in a row, which rest for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from attrs import define, field

_STRIKES = 3
_REST_SECONDS = 3600.0
_MOST_CONDITIONS = 10_000


@define(eq=False)
class LateConditions:
    """Counts how often in a row a condition took too long, in this process. It is not thread-safe.

    After three times it rests for an hour; then it is tried again, and rests again at once if it
    still takes too long.
    """

    _clock: Callable[[], float]
    _strikes: OrderedDict[str, int] = field(factory=OrderedDict, init=False)
    _rests_until: dict[str, float] = field(factory=dict, init=False)

    def note(self, source: str, *, is_late: bool) -> None:
        """Note how a condition did."""
        if not is_late:
            self._strikes.pop(source, None)
            return
        strikes = self._strikes.get(source, 0) + 1
        self._strikes[source] = strikes
        self._strikes.move_to_end(source)
        if strikes >= _STRIKES:
            self._rests_until[source] = self._clock() + _REST_SECONDS
        if len(self._strikes) > _MOST_CONDITIONS:
            oldest, _ = self._strikes.popitem(last=False)
            self._rests_until.pop(oldest, None)

    def minutes_left(self, source: str) -> float | None:
        """Return for how many minutes a condition rests, None if it does not."""
        until = self._rests_until.get(source)
        if until is None:
            return None
        left = until - self._clock()
        if left > 0:
            return left / 60
        del self._rests_until[source]
        return None
