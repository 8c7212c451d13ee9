"""The memories near to a memory, with how near they are."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Neighbor:
    """A memory near to another, by its id.

    `cosine` is that of their nearest passages, None if either has no vector. `words` is the cosine
    of their words weighted by rarity, in [0, 1]. `score` is that of `receipt.similar`, in [0, 1), 0
    if it is below the least of similar memories.
    """

    id: str
    cosine: float | None
    words: float
    score: float
