"""The links of a cycle: new ones, strengthened ones, and what is left alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from attrs import evolve
from stopped_clock import StoppedClock

from infinite_memory import JudgeError, MemoryStore
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.dream.pair import Judgement, Pair
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.features.background.dreamer.pairs.linking import LinkPlan, plan_links
from infinite_memory.features.background.dreamer.view import DREAMER
from tests.harness.dreaming import NOW, TOLD, open_store, view_of

DAY = timedelta(days=1)


class ListJudge:
    """Gives the weights that it was made with, in order."""

    name = "list"

    def __init__(self, *weights: float) -> None:
        self.weights = weights

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return a judgement for each weight."""
        return [Judgement(weight=weight, reason=f"of {len(pairs)}") for weight in self.weights]


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(NOW)


@pytest.fixture
def opened(clock: StoppedClock) -> Iterator[tuple[Storage, MemoryStore]]:
    with open_store(clock=clock) as (storage, store):
        for number in range(16):
            store.remember(f"fact {number}", id=f"m{number:02}", happened_at=TOLD + number * DAY)
        yield storage, store


def pair_of(store: MemoryStore, first: int, second: int) -> Pair:
    later, earlier = store.get(f"m{first:02}"), store.get(f"m{second:02}")
    return Pair(first=later, second=earlier, cosine=0.9, score=0.8, sampled="new, near")


def plan(
    store: MemoryStore, pairs: Sequence[tuple[int, int]], *weights: float, **options: object
) -> LinkPlan:
    return plan_links(
        view_of(store),
        [pair_of(store, *pair) for pair in pairs],
        ListJudge(*weights),
        **{"rejected": (), **options},  # type: ignore[arg-type]
    )


def dreamed(source: int, target: int, weight: float = 0.5, **fields: object) -> Link:
    return Link(  # type: ignore[arg-type]
        source=f"m{source:02}",
        target=f"m{target:02}",
        **{
            "type": LinkType.SEMANTIC,
            "weight": weight,
            "made_by": DREAMER,
            "reason": "of 1",
            "made_at": NOW,
            **fields,
        },
    )


def test_a_link_leads_from_the_later_memory_to_the_earlier(
    opened: tuple[Storage, MemoryStore],
) -> None:
    _, store = opened
    assert plan(store, [(1, 0), (3, 2), (5, 4)], 0.6, 0, 0.7) == LinkPlan(
        new=(dreamed(5, 4, 0.7, reason="of 3"), dreamed(1, 0, 0.6, reason="of 3")),
        looked_at=3,
        seen={"m05": 1, "m04": 1, "m01": 1, "m00": 1},
    )


def test_nothing_is_planned_without_pairs_and_the_judge_is_not_asked(
    opened: tuple[Storage, MemoryStore],
) -> None:
    assert plan(opened[1], [], 0.5) == LinkPlan()


def test_a_rejected_pair_is_never_linked_and_never_strengthened(
    opened: tuple[Storage, MemoryStore], clock: StoppedClock
) -> None:
    storage, store = opened
    storage.commit(Commit(links=(dreamed(3, 2),)))
    clock.now += 2 * DAY
    rejected = {frozenset({"m00", "m01"}), frozenset({"m02", "m03"})}
    planned = plan(store, [(1, 0), (3, 2)], 0.9, 0.9, rejected=rejected)
    assert planned == LinkPlan(looked_at=2, dropped=2)


def test_a_link_is_strengthened_once_a_day(
    opened: tuple[Storage, MemoryStore], clock: StoppedClock
) -> None:
    storage, store = opened
    (link,) = plan(store, [(1, 0)], 0.5).new
    storage.commit(Commit(links=(link,)))
    clock.now += DAY - timedelta(seconds=1)
    assert plan(store, [(1, 0)], 0.5) == LinkPlan(looked_at=1)
    for times, weight in (("once", 0.55), ("2 times", 0.595), ("3 times", 0.6355)):
        clock.now += DAY
        planned = plan(store, [(1, 0)], 0.5)
        (again,) = planned.strengthened
        expected = evolve(link, reason=f"of 1; found again, {times}", made_at=clock.now)
        assert evolve(again, weight=0.5) == expected
        assert again.weight == pytest.approx(weight)
        assert (planned.new, planned.dropped, planned.seen) == ((), 0, {"m01": 1, "m00": 1})
        storage.commit(Commit(links=(again,)))


def test_a_link_in_the_other_direction_is_strengthened_where_it_is(
    opened: tuple[Storage, MemoryStore], clock: StoppedClock
) -> None:
    storage, store = opened
    storage.commit(Commit(links=(dreamed(0, 1),)))
    clock.now += DAY
    (again,) = plan(store, [(1, 0)], 0.5).strengthened
    assert (again.source, again.target) == ("m00", "m01")


@pytest.mark.parametrize(
    "present",
    [
        dreamed(1, 0, made_by="Ada"),
        dreamed(0, 1, made_by="Ada", type=LinkType.INTENT),
        dreamed(1, 0, made_by="upkeep", type=LinkType.NEAR_DUPLICATE_OF),
        dreamed(1, 0, made_by="Ada", type=LinkType.SUPERSEDES),
        dreamed(1, 0, type=LinkType.DERIVED_FROM),
    ],
)
def test_a_pair_that_somebody_else_linked_is_left_alone(
    opened: tuple[Storage, MemoryStore], present: Link, clock: StoppedClock
) -> None:
    storage, store = opened
    storage.commit(Commit(links=(present,)))
    clock.now += 2 * DAY
    assert plan(store, [(1, 0)], 0.9) == LinkPlan(looked_at=1, dropped=1)


def test_a_pair_that_comes_twice_gets_one_link(opened: tuple[Storage, MemoryStore]) -> None:
    planned = plan(opened[1], [(1, 0), (1, 0)], 0.5, 0.6)
    assert [link.weight for link in planned.new] == [0.6]
    assert planned.strengthened == ()


def test_a_memory_gets_twelve_links_the_strongest(opened: tuple[Storage, MemoryStore]) -> None:
    storage, store = opened
    storage.commit(Commit(links=tuple(dreamed(15, target) for target in (13, 14))))
    weights = [(number + 1) / 20 for number in range(13)]
    planned = plan(store, [(15, number) for number in range(13)], *weights)
    assert {link.target for link in planned.new} == {f"m{n:02}" for n in range(3, 13)}
    assert planned.dropped == 3


def test_a_cycle_makes_a_hundred_links_and_strengthens_a_hundred(
    opened: tuple[Storage, MemoryStore], clock: StoppedClock
) -> None:
    storage, store = opened
    for number in range(16, 120):
        store.remember(f"fact {number}", id=f"m{number}", happened_at=TOLD + number * DAY)
    pairs = [(number + 1, number) for number in range(110)]
    planned = plan(store, pairs, *[0.5] * 110)
    assert (len(planned.new), planned.dropped) == (100, 10)
    storage.commit(Commit(links=tuple(dreamed(*pair) for pair in pairs)))
    clock.now += DAY
    again = plan(store, pairs, *[0.5] * 110)
    assert (len(again.new), len(again.strengthened), again.dropped) == (0, 100, 10)


@pytest.mark.parametrize("weights", [(0.5, 0.5), (), (1.5,), (-0.1,), (float("nan"),)])
def test_a_judge_that_gives_no_judgement_for_each_pair_is_refused(
    opened: tuple[Storage, MemoryStore], weights: tuple[float, ...]
) -> None:
    with pytest.raises(JudgeError, match="the judge 'list' gave"):
        plan(opened[1], [(1, 0)], *weights)


def test_a_long_reason_is_shortened(opened: tuple[Storage, MemoryStore]) -> None:
    class Talkative(ListJudge):
        def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
            return [Judgement(weight=0.5, reason="word " * 900) for _ in pairs]

    (link,) = plan_links(
        view_of(opened[1]), [pair_of(opened[1], 1, 0)], Talkative(), rejected=()
    ).new
    assert len(link.reason) <= 200
