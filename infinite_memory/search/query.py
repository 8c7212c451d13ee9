"""A question to the index, and what it answers."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from infinite_memory.model.criteria import Criteria
from infinite_memory.model.hits import Explanation
from infinite_memory.model.search_options import Depth

__all__ = ["Arm", "Candidate", "Question", "Ranking"]


class Arm(StrEnum):
    """The two ways of finding: cosine of vectors, and BM25 of words."""

    MEANING = "meaning"
    WORDS = "words"


@frozen(kw_only=True)
class Question:
    """What to look for, by words and by meaning, among the memories that meet `criteria`.

    `threshold` is a score in [0, 1]; what lies under it is counted and left out. The first `offset`
    candidates are passed over. `about` is the id of a memory whose place is wanted as well,
    wherever it lies.
    """

    text: str
    criteria: Criteria
    limit: int
    threshold: float
    arms: frozenset[Arm] = frozenset(Arm)
    explain: bool = False
    depth: Depth = Depth.NORMAL
    offset: int = 0
    about: str | None = None


@frozen(kw_only=True)
class Candidate:
    """The id of a memory that was found, with its score in [0, 1] and how it came to it.

    `twins` are the ids of those that say the same and were found as well, newest first.
    """

    id: str
    score: float
    explanation: Explanation | None
    twins: tuple[str, ...] = ()


@frozen(kw_only=True)
class Ranking:
    """Candidates, best first; the counts are those of `infinite_memory.model.hits.Hits`.

    `further` tells whether there are candidates behind the last one, `best` is the score of the
    first of all, passed over or not.
    `place` is the rank, counted from 1, of the memory that the question is about, with its score
    and explanation; None where it was not asked for, does not meet the criteria, or matches in no
    way.
    """

    candidates: tuple[Candidate, ...]
    eligible: int
    matches: int
    more: int
    further: bool
    best: float
    below: int
    pending: int
    note: str | None
    place: tuple[int, Candidate] | None = None
