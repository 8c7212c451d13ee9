"""Pairs of memories that may belong together, and their judgements."""

from __future__ import annotations

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Memory


@frozen(kw_only=True)
class Pair(PlainData):
    """Two memories of a scope that may belong together, the later of them first.

    `cosine` is that of their nearest passages, None if a memory is not embedded, or if neither is
    among the nearest of the other. `score` is that of `receipt.similar`, in [0, 1], 0 if it is
    below the least of similar memories. `sampled` says how the pair was found, in a few words.

    `meaning` is the number of standard deviations by which the cosine exceeds the mean cosine of
    the nearest memories, the lesser for the two memories; None if the embedding model was not made
    for the language of both, or without a cosine. `words` is the same for the words in common,
    weighted by rarity. `shared_words` counts the words in common without function words; a Chinese
    word counts as its characters and pairs of characters. `shared_neighbors` counts the memories
    that stand out among the nearest of both.
    """

    first: Memory
    second: Memory
    cosine: float | None
    score: float
    sampled: str
    meaning: float | None = None
    words: float = 0.0
    shared_words: int = 0
    shared_neighbors: int = 0


@frozen(kw_only=True)
class Judgement(PlainData):
    """Whether the memories of a pair belong together.

    `weight` is that of the link, in (0, 1], or 0 for none. `reason` says why in a few words, and
    quotes neither memory: the journal keeps it after they are erased.
    """

    weight: float
    reason: str
