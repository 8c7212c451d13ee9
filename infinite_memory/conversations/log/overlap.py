"""Which messages of a call are in the log already: those that a repeated call gives again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["count_known"]

Message = TypeVar("Message")


def count_known(logged: Sequence[Message], given: Sequence[Message], *, is_recent: bool) -> int:
    """Return how many leading messages of `given` are in the log already.

    Callers give the new messages alone, or the whole conversation so far, or repeat a call. So the
    longest beginning of `given` that ends the log is known, and all of `given` if two or more of
    its messages stand in the log in a row. A single message that equals the end of the log is known
    only if the log `is_recent`: later, the same words were said again.
    """
    if len(given) > 1 and _contains(logged, given):
        return len(given)
    for count in range(min(len(logged), len(given)), 0, -1):
        if list(logged[-count:]) == list(given[:count]):
            return count if count > 1 or len(given) > 1 or is_recent else 0
    return 0


def _contains(logged: Sequence[Message], given: Sequence[Message]) -> bool:
    first = given[0]
    return any(
        message == first and list(logged[start : start + len(given)]) == list(given)
        for start, message in enumerate(logged)
    )
