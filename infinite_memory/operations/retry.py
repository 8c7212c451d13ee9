"""How often a change is tried again that others keep coming before."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

__all__ = ["attempts"]

_LEAST = 20
_SECONDS = 5.0
_AT_ONCE = 3
_LONGEST_PAUSE_SECONDS = 0.01


def attempts(seconds: float | None = None) -> Iterator[bool]:
    """Yield for each attempt whether it is the last: 20 at least, and until `seconds` have passed.

    Without `seconds` those are five. Give 0 where a refusal may as well be there to stay.

    Whoever changes one thing in a tight loop can come before another many times in a row. So who
    has lost three times waits a random moment before each attempt, lest the two go on in step.
    """
    end = time.monotonic() + (_SECONDS if seconds is None else seconds)
    number = 1
    while number < _LEAST or time.monotonic() < end:
        yield False
        number += 1
        if number > _AT_ONCE:
            time.sleep(_LONGEST_PAUSE_SECONDS * os.urandom(1)[0] / 255)
    yield True
