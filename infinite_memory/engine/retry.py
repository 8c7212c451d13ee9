"""Retry: how often a change is tried again after conflicts with other writers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from types import TracebackType

from attrs import frozen

from infinite_memory.core.errors import Conflict, IdTaken

_MIN_ATTEMPTS = 20
_SECONDS = 5.0
_ATTEMPTS_WITHOUT_PAUSE = 3
_MAX_PAUSE_SECONDS = 0.01


@frozen
class Attempt:
    """One attempt, and a context for its commit: a `Conflict` in it ends the block.

    The next attempt plans the change again. The last attempt, and an `IdTaken`, which no retry can
    change, raise. A `Conflict` outside of the block is a refusal, and is raised at once.
    """

    number: int
    is_last: bool

    def __enter__(self) -> None:
        """Begin the commit."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        is_lost = isinstance(error, Conflict) and not isinstance(error, IdTaken)
        return is_lost and not self.is_last


def attempts() -> Iterator[Attempt]:
    """Yield the attempts at a change; leave the loop in the block of the commit, at its end.

    There are at least 20 attempts, and more until five seconds have passed.

    A writer in a tight loop can win against this writer many times in a row. After three lost
    attempts this writer therefore waits for a random moment, so that the two do not stay in step.
    """
    end = time.monotonic() + _SECONDS
    number = 1
    while number < _MIN_ATTEMPTS or time.monotonic() < end:
        yield Attempt(number, is_last=False)
        number += 1
        if number > _ATTEMPTS_WITHOUT_PAUSE:
            time.sleep(_MAX_PAUSE_SECONDS * os.urandom(1)[0] / 255)
    yield Attempt(number, is_last=True)
