"""Retry: how often a change is tried again after conflicts with other writers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

_MIN_ATTEMPTS = 20
_SECONDS = 5.0
_ATTEMPTS_WITHOUT_PAUSE = 3
_MAX_PAUSE_SECONDS = 0.01


def attempts(seconds: float | None = None) -> Iterator[bool]:
    """Yield, for every attempt, whether it is the last.

    There are at least 20 attempts, and more until `seconds` have passed, by default five. Give 0
    if the refusal may be permanent.

    A writer in a tight loop can win against this writer many times in a row. After three lost
    attempts this writer therefore waits for a random moment, so that the two do not stay in step.
    """
    end = time.monotonic() + (_SECONDS if seconds is None else seconds)
    number = 1
    while number < _MIN_ATTEMPTS or time.monotonic() < end:
        yield False
        number += 1
        if number > _ATTEMPTS_WITHOUT_PAUSE:
            time.sleep(_MAX_PAUSE_SECONDS * os.urandom(1)[0] / 255)
    yield True
