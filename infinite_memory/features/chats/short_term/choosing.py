"""Choose which short-term memories come up."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

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
    scored = [
        Chosen(candidate=candidate, relevance=_score_candidate(candidate, keywords, now, constants))
        for candidate in candidates
        if now - candidate.happened_at >= recent
    ]
    relevant = _choose_relevant(scored, constants)
    drawn = _draw_flashbacks(scored, relevant, now=now, seed=seed, constants=constants)
    return Choice(
        top=tuple(relevant[: constants.top]),
        next=tuple(relevant[constants.top :]),
        flashbacks=tuple(drawn),
    )


def _score_candidate(
    candidate: Candidate, keywords: Mapping[str, float], now: datetime, constants: ShortTerm
) -> float:
    return relevance(
        keywords,
        candidate.keywords,
        happened_at=candidate.happened_at,
        activation=candidate.activation,
        now=now,
        constants=constants,
    )


def _choose_relevant(scored: Sequence[Chosen], constants: ShortTerm) -> list[Chosen]:
    """Return the memories of the first two tiers, the most relevant first."""
    wanted = constants.top + constants.next
    relevant: list[Chosen] = []
    for chosen in sorted(scored, key=_rank_chosen):
        if len(relevant) == wanted or chosen.relevance < constants.threshold:
            break
        if _is_apart(chosen, relevant, constants):
            relevant.append(chosen)
    return relevant


def _rank_chosen(chosen: Chosen) -> tuple[float, float, str]:
    candidate = chosen.candidate
    return -chosen.relevance, -candidate.happened_at.timestamp(), candidate.id


def _is_apart(chosen: Chosen, earlier: Iterable[Chosen], constants: ShortTerm) -> bool:
    """Return whether a memory lies far enough in time from all that were chosen before it."""
    apart = timedelta(minutes=constants.apart_minutes)
    moment = chosen.candidate.happened_at
    return all(abs(moment - other.candidate.happened_at) >= apart for other in earlier)


def _draw_flashbacks(
    scored: Sequence[Chosen],
    relevant: Sequence[Chosen],
    *,
    now: datetime,
    seed: int,
    constants: ShortTerm,
) -> list[Chosen]:
    """Return the flashbacks, in the order in which they are drawn."""
    generator = random.Random(seed)
    pool = sorted(scored, key=lambda c: (c.candidate.happened_at, c.candidate.id))
    drawn: list[Chosen] = []
    while len(drawn) < constants.flashbacks:
        pool = [chosen for chosen in pool if _is_apart(chosen, [*relevant, *drawn], constants)]
        # Two memories of the same moment are apart if no distance is asked for.
        pool = [chosen for chosen in pool if chosen not in relevant and chosen not in drawn]
        if not pool:
            break
        weights = [
            flashback_weight(
                happened_at=chosen.candidate.happened_at,
                activation=chosen.candidate.activation,
                now=now,
            )
            for chosen in pool
        ]
        drawn.append(_pick_entry(pool, weights, generator))
    return drawn


def _pick_entry(
    pool: Sequence[Chosen], weights: Sequence[float], generator: random.Random
) -> Chosen:
    """Return an entry of `pool` with a probability in proportion to its weight."""
    total = sum(weights)
    if total <= 0:
        return pool[generator.randrange(len(pool))]
    point = generator.random() * total
    reached = 0.0
    for chosen, weight in zip(pool, weights, strict=True):
        reached += weight
        if point < reached:
            return chosen
    return pool[-1]
