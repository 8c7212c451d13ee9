"""What a write answers."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import frozen

__all__ = ["Outcome", "Receipt", "Searchable"]


class Outcome(StrEnum):
    """What a write did."""

    STORED = "stored"
    REVISED = "revised"
    FORGOTTEN = "forgotten"
    ERASED = "erased"
    UNCHANGED = "unchanged"


class Searchable(StrEnum):
    """How a memory can be found now: by its words at once, by meaning when embedded."""

    MEANING = "meaning"
    WORDS = "words"
    NOT = "not"


@frozen(kw_only=True)
class Receipt:
    """Proof that a write is durable, and what it did.

    `unchanged` means that the request had been carried out before. `erased` lists what a hard
    forget removed for good.
    """

    id: str
    outcome: Outcome
    revision: int
    scope: str
    stored_at: datetime
    searchable: Searchable
    erased: tuple[str, ...] = ()
