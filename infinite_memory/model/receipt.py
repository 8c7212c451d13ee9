"""What a write answers."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import frozen

__all__ = ["Outcome", "Receipt", "Searchable", "Similar"]


class Outcome(StrEnum):
    """What a write did."""

    STORED = "stored"
    REVISED = "revised"
    FORGOTTEN = "forgotten"
    ERASED = "erased"
    UNCHANGED = "unchanged"
    STRENGTHENED = "strengthened"
    ECHO = "echo"


class Searchable(StrEnum):
    """How a memory can be found now: by its words at once, by meaning when embedded."""

    MEANING = "meaning"
    WORDS = "words"
    NOT = "not"


@frozen(kw_only=True)
class Similar:
    """A current memory that is near a new one in meaning or in words, and may be replaced by it.

    `text` is its beginning on one line, at most 240 characters, with "…" at the end where it is
    cut. `score` in [0, 1] grows with the nearness.
    """

    id: str
    text: str
    happened_at: datetime
    scope: str
    key: str | None
    score: float


@frozen(kw_only=True)
class Receipt:
    """Proof that a write is durable, and what it did.

    `unchanged` means that the request had been carried out before. `strengthened` means that the
    same, in every field, was stored within the hour, with nothing else in its scope since: nothing
    was stored again, and `id` is that of the memory which is there. `echo` is the same for what
    recall had just returned to the assistant that stored it.
    `similar` are at most three current memories that are near what `remember` has just stored,
    nearest first: whoever stored it decides whether it replaces one of them.
    `erased` lists what a hard forget removed for good. `superseded` are the ids of the memories
    that this one replaced, and `superseded_by` is the one that replaced it, where it was told late.
    `conflicts` are those with the same key that begin at the same moment and say something else:
    all of them stay current until somebody decides. `pending` says in words what could not be done
    once the write was durable, such as why the text could not be embedded, and what to do about it.
    """

    id: str
    outcome: Outcome
    revision: int
    scope: str
    stored_at: datetime
    searchable: Searchable
    erased: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    superseded_by: str | None = None
    conflicts: tuple[str, ...] = ()
    similar: tuple[Similar, ...] = ()
    pending: tuple[str, ...] = ()
