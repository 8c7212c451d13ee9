"""Choose which short-term memories come up."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter

from attrs import frozen

from infinite_memory.core.config import ShortTerm
from infinite_memory.features.chats.short_term.relevance import flashback_weight, relevance


@frozen(kw_only=True)
class Candidate:
    """What the choice needs to know of a memory."""

    id: str
    happened_at: datetime
    keywords: Mapping[str, float]
    activation: float = 0.0


@frozen(kw_only=True)
class Chosen:
    """A memory that comes up, with its relevance at that moment."""

    candidate: Candidate
    relevance: float


@frozen(kw_only=True)
class Choice:
    """The memories that come up: the most relevant, the next, and flashbacks."""

    top: tuple[Chosen, ...] = ()
    next: tuple[Chosen, ...] = ()
    flashbacks: tuple[Chosen, ...] = ()


def choose(
    candidates: Sequence[Candidate],
    keywords: Mapping[str, float],
    *,
    now: datetime,
    seed: int,
    constants: ShortTerm,
) -> Choice:
    """Choose among the short-term memories of a conversation, given the keywords of the moment.

    By relevance, the greatest first (of equal ones the later, then the smaller id), the first `top`
    memories of at least `threshold` are the top, and the `next` ones the next tier. Then
    `flashbacks` of the others are drawn at random, one after the other, by `flashback_weight`: each
    draw takes a point of `random.Random(seed)` in the sum of the weights, added up by time and id.
    Nothing within `recent_minutes` of `now` is chosen, and nothing within `apart_minutes` of a
    memory that was chosen before it.

    The tiers, their sizes and the minutes are those of memory-mcp-server
    (https://github.com/win10ogod/memory-mcp-server).
    """
    recent = timedelta(minutes=constants.recent_minutes)
    past = [candidate for candidate in candidates if now - candidate.happened_at >= recent]

    def score(candidate: Candidate) -> float:
        return relevance(
            keywords,
            candidate.keywords,
            happened_at=candidate.happened_at,
            activation=candidate.activation,
            now=now,
            constants=constants,
        )

    # An object for each of thousands would cost more than its score.
    near = [
        Chosen(candidate=candidate, relevance=value)
        for candidate, value in zip(past, map(score, past), strict=True)
        if value >= constants.threshold
    ]
    relevant = _choose_relevant(near, constants)
    drawn = _draw_flashbacks(
        past, [each.candidate for each in relevant], now=now, seed=seed, constants=constants
    )
    return Choice(
        top=tuple(relevant[: constants.top]),
        next=tuple(relevant[constants.top :]),
        flashbacks=tuple([Chosen(candidate=each, relevance=score(each)) for each in drawn]),
    )


def _choose_relevant(near: Iterable[Chosen], constants: ShortTerm) -> list[Chosen]:
    """Return the memories of the first two tiers, the most relevant first."""
    wanted = constants.top + constants.next
    relevant: list[Chosen] = []
    for chosen in sorted(near, key=_rank_chosen):
        if len(relevant) == wanted:
            break
        if _is_apart(chosen.candidate, [each.candidate for each in relevant], constants):
            relevant.append(chosen)
    return relevant


def _rank_chosen(chosen: Chosen) -> tuple[float, float, str]:
    candidate = chosen.candidate
    return -chosen.relevance, -candidate.happened_at.timestamp(), candidate.id


def _is_apart(candidate: Candidate, earlier: Iterable[Candidate], constants: ShortTerm) -> bool:
    """Return whether a memory lies far enough in time from all that were chosen before it."""
    apart, moment = timedelta(minutes=constants.apart_minutes), candidate.happened_at
    return all(abs(moment - other.happened_at) >= apart for other in earlier)


def _draw_flashbacks(
    candidates: Iterable[Candidate],
    relevant: Sequence[Candidate],
    *,
    now: datetime,
    seed: int,
    constants: ShortTerm,
) -> list[Candidate]:
    """Return the flashbacks, in the order in which they are drawn."""
    generator = random.Random(seed)
    pool = sorted(candidates, key=attrgetter("id"))
    pool.sort(key=attrgetter("happened_at"))
    weights = [
        flashback_weight(happened_at=each.happened_at, activation=each.activation, now=now)
        for each in pool
    ]
    drawn: list[Candidate] = []
    earlier = relevant
    while len(drawn) < constants.flashbacks:
        for each in earlier:
            near = _find_near(pool, each, constants)
            del pool[near], weights[near]
        if not pool:
            break
        drawn.append(_pick_entry(pool, weights, generator))
        earlier = drawn[-1:]
    return drawn


def _find_near(pool: Sequence[Candidate], chosen: Candidate, constants: ShortTerm) -> slice:
    """Return the part of a pool, by time and id, that lies too near to a chosen memory."""
    apart = timedelta(minutes=constants.apart_minutes)
    if not apart:  # then it is too near to itself alone
        low = bisect_left(
            pool, (chosen.happened_at, chosen.id), key=attrgetter("happened_at", "id")
        )
        return slice(low, low + (low < len(pool) and pool[low] is chosen))

    def distance(candidate: Candidate) -> timedelta:
        return candidate.happened_at - chosen.happened_at

    return slice(bisect_right(pool, -apart, key=distance), bisect_left(pool, apart, key=distance))


def _pick_entry(
    pool: Sequence[Candidate], weights: Sequence[float], generator: random.Random
) -> Candidate:
    """Return an entry of `pool` with a probability in proportion to its weight."""
    total = sum(weights)
    if total <= 0:
        return pool[generator.randrange(len(pool))]
    point = generator.random() * total
    reached = 0.0
    for candidate, weight in zip(pool, weights, strict=True):
        reached += weight
        if point < reached:
            return candidate
    return pool[-1]
