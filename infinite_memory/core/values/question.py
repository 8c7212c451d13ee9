"""A checked question to a search, and the ranking that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import field, frozen

from infinite_memory.core.values.criteria import Criteria, Cut, Depth

if TYPE_CHECKING:
    from infinite_memory.core.values.hits import Explanation, Reached
    from infinite_memory.core.values.time_range import Reading


class Arm(StrEnum):
    """The two ways of finding: cosine of vectors, and BM25 of words."""

    MEANING = "meaning"
    WORDS = "words"


@frozen(kw_only=True)
class Question:
    """A question, which is compared by words and by meaning with the memories that meet `criteria`.

    `threshold` is a score in [0, 1]; memories with a lower score are counted and left out, except
    the best `spared` matches. An explanation that is an `outline` has only `total`, `passage` and
    the steps after the scores. The first `offset` candidates are passed over. `about` is the id of
    a memory whose rank is wanted as well, however low it is. `cut` is for the caller of a search,
    which shows a part of the candidates. `time` is the time that the text names:
    a memory that happened in it gains a share of its score. `reached` maps ids to the ways by which
    links lead there: such a memory has at least half of the score of the match, times the weight.
    `earlier` says that the text asks for what held before it changed: of two near memories the one
    that was told earlier comes first.
    `lowered` has the ids of memories that somebody marked as not useful, and the share in (0, 1) of
    its total that each keeps.
    """

    text: str
    criteria: Criteria
    limit: int
    threshold: float
    arms: frozenset[Arm] = frozenset(Arm)
    explain: bool = False
    outline: bool = False
    depth: Depth = Depth.NORMAL
    cut: Cut = Cut.WIDE
    offset: int = 0
    about: str | None = None
    spared: int = 0
    time: Reading | None = None
    earlier: bool = False
    reached: Mapping[str, Reached] = field(factory=dict)
    lowered: Mapping[str, float] = field(factory=dict)


@frozen(kw_only=True)
class Candidate:
    """The id of a memory that matches, with its score in [0, 1] and, if asked for, its explanation.

    `twins` are the ids of the other matching memories that say the same, newest first. `later` and
    `earlier` are the ids of candidates of the same ranking that are near in meaning and were told
    later or earlier, nearest first. `reached` is the way of the question that raised its total,
    None if it matches as well by itself.
    """

    id: str
    score: float
    explanation: Explanation | None
    twins: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    reached: Reached | None = None


@frozen(kw_only=True)
class Ranking:
    """Candidates, best first, at most the `limit` of the question.

    `eligible` counts the memories that meet the criteria, `matches` the memories that pass the
    threshold, `below` the matches with a lower score, `more` the matches behind the last candidate
    and its twins, and `pending` the eligible memories without a vector. `further` says whether more
    candidates follow, `best` is the score of the first candidate of all, passed over or not. `note`
    says in words what limits the answer, such as a model that cannot be run. `time` is the time of
    the question whose memories gained, None if no memory did; `empty_time` is the time of the
    question if no eligible memory happened in it. `place` is the rank, counted from 1, of the
    memory that the question is about, with its score and explanation; None where no rank was
    asked for, or the memory does not meet the criteria or does not match. `has_archived` says
    whether any memory is archived, whatever the criteria; True where that is not known.
    """

    candidates: tuple[Candidate, ...] = ()
    eligible: int = 0
    matches: int = 0
    more: int = 0
    further: bool = False
    best: float = 0.0
    below: int = 0
    pending: int = 0
    note: str | None = None
    time: Reading | None = None
    empty_time: Reading | None = None
    place: tuple[int, Candidate] | None = None
    has_archived: bool = True
