"""Which messages of a call are in the log already: those that a repeated call gives again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

# So many messages in a row are not said again by chance.
_LONG_ROW = 4

Message = TypeVar("Message")


def count_known(logged: Sequence[Message], given: Sequence[Message], *, recent_from: int) -> int:
    """Return how many leading messages of `given` are in the log already.

    Callers give the new messages alone, or the whole conversation so far, or repeat a call. So the
    longest beginning of `given` that ends the log is known. All of `given` is known if the log has
    it in a row: of two or three messages only if they are recent, since later the same words were
    said again. A single message that equals the end of the log is known only if that is recent.
    The messages of the log from the position `recent_from` on are recent.
    """
    row = find_row(logged, given) if len(given) > 1 else None
    if row is not None and (row >= recent_from or len(given) >= _LONG_ROW):
        return len(given)
    for count in range(min(len(logged), len(given)), 0, -1):
        if logged[-count] == given[0] and list(logged[-count:]) == list(given[:count]):
            is_recent = recent_from < len(logged)
            return count if count > 1 or len(given) > 1 or is_recent else 0
    return 0


def find_row(logged: Sequence[Message], given: Sequence[Message]) -> int | None:
    """Return where the log has `given` in a row the last time, None if it has not."""
    for start in range(len(logged) - len(given), -1, -1):
        if logged[start] == given[0] and list(logged[start : start + len(given)]) == list(given):
            return start
    return None
