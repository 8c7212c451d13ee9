"""Which short-term memories are chosen: a golden table, a second implementation, properties."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.core.config import ShortTerm
from infinite_memory.features.chats.short_term.choosing import Candidate, Choice, Chosen, choose

NOW = datetime(2026, 7, 17, 12, tzinfo=UTC)
CONSTANTS = ShortTerm()


def memory(
    name: str, minutes: float, keywords: Mapping[str, float], activation: float = 0.0
) -> Candidate:
    return Candidate(
        id=name,
        happened_at=NOW - timedelta(minutes=minutes),
        keywords=keywords,
        activation=activation,
    )


def names(tier: Sequence[Chosen]) -> list[str]:
    return [chosen.candidate.id for chosen in tier]


def choose_names(candidates: Sequence[Candidate], keywords: Mapping[str, float]) -> list[list[str]]:
    choice = choose(candidates, keywords, now=NOW, seed=1, constants=ShortTerm(flashbacks=0))
    return [names(choice.top), names(choice.next)]


A = {"a": 5.0}


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        # The most relevant two, then the next one; the fourth does not come up.
        (
            [
                memory("x", 100, {"a": 4.0}),
                memory("y", 200, {"a": 9.0}),
                memory("z", 300, {"a": 2.0}),
                memory("w", 400, {"a": 1.0}),
            ],
            [["y", "x"], ["z"]],
        ),
        # Nothing of the last 20 minutes, and exactly 20 minutes is long enough.
        ([memory("x", 19.99, {"a": 4.0}), memory("y", 20, {"a": 4.0})], [["y"], []]),
        # Nothing within ten minutes of one that was chosen before it.
        (
            [
                memory("x", 100, {"a": 9.0}),
                memory("y", 109.99, {"a": 8.0}),
                memory("z", 110, {"a": 7.0}),
                memory("w", 90.01, {"a": 6.0}),
                memory("v", 120, {"a": 5.0}),
            ],
            [["x", "z"], ["v"]],
        ),
        # The threshold is 5: after 41 minutes the penalty is 0.07362.
        ([memory("x", 41, {"a": 0.0737})], [["x"], []]),
        ([memory("x", 41, {"a": 0.0736})], [[], []]),
        ([memory("x", 41, {"a": 0.0736}, activation=0.0001)], [["x"], []]),
        # Without a shared keyword activation alone may be enough.
        ([memory("x", 41, {"b": 50.0}, activation=4.9)], [[], []]),
        ([memory("x", 41, {"b": 50.0}, activation=5.1)], [["x"], []]),
        # Of equal relevance the later comes first, and at the same moment the smaller id.
        (
            [memory("x", 100, {"a": 9.0}, 0.2), memory("y", 100, {"a": 9.0}, 0.2)],
            [["x"], []],
        ),
        ([], [[], []]),
    ],
)
def test_the_tiers_follow_the_rules(candidates: list[Candidate], expected: list[list[str]]) -> None:
    assert choose_names(candidates, A) == expected


def second_implementation(
    candidates: Sequence[Candidate], keywords: Mapping[str, float], seed: int
) -> list[list[str]]:
    """The rules once more, straight from their description."""

    def score(c: Candidate) -> float:
        age = max(0.0, (NOW - c.happened_at).total_seconds() * 1000)
        shared = sum(keywords[word] + c.keywords[word] for word in keywords if word in c.keywords)
        return shared - 15 * (1 - math.exp(-2e-9 * age)) + c.activation

    def minutes(a: datetime, b: datetime) -> float:
        return abs((a - b).total_seconds()) / 60

    old = [c for c in candidates if (NOW - c.happened_at).total_seconds() >= 20 * 60]
    by_relevance = sorted(old, key=lambda c: (-score(c), -c.happened_at.timestamp(), c.id))
    picked: list[Candidate] = []
    for c in by_relevance:
        is_apart = all(minutes(c.happened_at, p.happened_at) >= 10 for p in picked)
        if score(c) >= 5 and len(picked) < 3 and is_apart:
            picked.append(c)
    generator, flashes = random.Random(seed), list[Candidate]()
    for _ in range(2):
        pool = [
            c
            for c in sorted(old, key=lambda c: (c.happened_at, c.id))
            if c not in picked + flashes
            and all(minutes(c.happened_at, p.happened_at) >= 10 for p in picked + flashes)
        ]
        if not pool:
            break
        weights = [c.activation + (NOW - c.happened_at).total_seconds() / 86400 for c in pool]
        point, index = generator.random() * sum(weights), 0
        while index < len(pool) - 1 and point >= sum(weights[: index + 1]):
            index += 1
        flashes.append(pool[index])
    return [[c.id for c in group] for group in (picked[:2], picked[2:], flashes)]


@st.composite
def conversations(draw: st.DrawFn) -> list[Candidate]:
    words = st.dictionaries(st.sampled_from("abcd"), st.integers(8, 90).map(lambda n: n / 10))
    ages = draw(st.lists(st.integers(0, 60_000), max_size=25))
    return [
        memory(f"m{n}", age / 7, draw(words), draw(st.sampled_from([0.0, 2.0, 5.0, 12.0])))
        for n, age in enumerate(ages)
    ]


@given(
    candidates=conversations(),
    keywords=st.dictionaries(st.sampled_from("abcd"), st.integers(8, 90).map(lambda n: n / 10)),
    seed=st.integers(0, 2**64),
)
def test_the_choice_is_that_of_a_second_implementation(
    candidates: list[Candidate], keywords: dict[str, float], seed: int
) -> None:
    choice = choose(candidates, keywords, now=NOW, seed=seed, constants=CONSTANTS)
    ours = [names(choice.top), names(choice.next), names(choice.flashbacks)]
    assert ours == second_implementation(candidates, keywords, seed)
    assert_rules(choice)


def assert_rules(choice: Choice) -> None:
    chosen = [*choice.top, *choice.next, *choice.flashbacks]
    assert len(choice.top) <= 2
    assert len(choice.next) <= 1
    assert not choice.next or len(choice.top) == 2
    assert len(choice.flashbacks) <= 2
    assert len(set(names(chosen))) == len(chosen)
    assert all(c.relevance >= 5 for c in (*choice.top, *choice.next))
    moments = [c.candidate.happened_at for c in chosen]
    assert all(NOW - moment >= timedelta(minutes=20) for moment in moments)
    for position, moment in enumerate(moments):
        for earlier in moments[:position]:
            assert abs(moment - earlier) >= timedelta(minutes=10)


def test_a_seed_draws_the_same_again_and_seeds_differ() -> None:
    pool = [memory(f"m{n}", 60 * 24 * n + 60, {}) for n in range(40)]

    def draw(seed: int) -> list[str]:
        return names(choose(pool, {}, now=NOW, seed=seed, constants=CONSTANTS).flashbacks)

    assert draw(7) == draw(7)
    assert len({tuple(draw(seed)) for seed in range(30)}) > 20


def test_flashbacks_are_drawn_in_proportion_to_their_weights() -> None:
    # Weights 1 + 1, 3 and 5 + 1 in days and activation, at distances that exclude nothing.
    day = 60 * 24
    pool = [memory("x", day, {}, 1.0), memory("y", 3 * day, {}), memory("z", day + 60, {}, 5.0)]
    first = ShortTerm(flashbacks=1, threshold=1000)
    draws = [
        names(choose(pool, {}, now=NOW, seed=seed, constants=first).flashbacks)[0]
        for seed in range(4000)
    ]
    total = 2 + 3 + 6 + 1 / 24
    for name, weight in (("x", 2.0), ("y", 3.0), ("z", 6 + 1 / 24)):
        assert draws.count(name) / 4000 == pytest.approx(weight / total, abs=0.03)


def test_the_constants_can_be_replaced() -> None:
    pool = [memory(f"m{n}", 30 * n + 1, {"a": 5.0}) for n in range(8)]
    constants = ShortTerm(top=1, next=3, flashbacks=0, recent_minutes=0, apart_minutes=0)
    choice = choose(pool, A, now=NOW, seed=1, constants=constants)
    assert [names(choice.top), names(choice.next)] == [["m0"], ["m1", "m2", "m3"]]


def test_without_a_distance_each_memory_of_one_moment_is_drawn_once() -> None:
    constants = ShortTerm(threshold=1000, flashbacks=5, apart_minutes=0)
    pool = [memory(name, 100, {}) for name in "cab"]
    drawn = names(choose(pool, {}, now=NOW, seed=3, constants=constants).flashbacks)
    assert sorted(drawn) == ["a", "b", "c"]
