"""The numbers of insights, from chunks that are made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from infinite_memory import InvalidInput, MemoryStore, UnknownScope
from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.record import Usage
from infinite_memory.features.projects.chunk import Chunk, Difficulty, WorkOutcome
from infinite_memory.features.projects.hard_spots import HardSpot, hard_components, hard_files
from infinite_memory.features.projects.insights import Calendar, Insights, Step, make_insights
from infinite_memory.features.projects.patterns import Patterns
from infinite_memory.features.projects.recalls import Recalls
from infinite_memory.features.projects.solved_again import SolvedAgain, find_solved_again
from infinite_memory.testing.embedders import HashingEmbedder

APOLLO, BOREAL = "repo/github.com/octo/apollo", "repo/github.com/octo/boreal"
# A Monday.
MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
REPOSITORY = "github.com/octo/apollo"


def chunk(number: int, *, hours: float = 0, **fields: Any) -> Chunk:
    """Return a chunk, `hours` after Monday at nine."""
    defaults: dict[str, Any] = {
        "id": f"c{number}",
        "kind": Kind.CODE_CHANGE,
        "content": f"Work {number}",
        "summary": f"Work {number}",
        "scope": APOLLO,
        "happened_at": MONDAY + timedelta(hours=hours),
        "session": "s1",
    }
    return Chunk(**{**defaults, **fields})


def insights_of(
    *chunks: Chunk,
    usage: Mapping[str, Usage] | None = None,
    clusters: Sequence[Sequence[Chunk]] = (),
    zone: str = "UTC",
    week_start: str = "monday",
) -> Insights:
    return make_insights(
        sorted(chunks, key=lambda each: each.happened_at, reverse=True),
        usage=usage or {},
        clusters=clusters,
        patterns=Patterns(scope=None, chunks=len(chunks), patterns=()),
        calendar=Calendar(zone=zone, week_start=week_start),
    )


def recalled(hours: float) -> Usage:
    return Usage(count=1, last=MONDAY + timedelta(hours=hours))


def test_kinds_outcomes_minutes_and_sessions_are_counted() -> None:
    insights = insights_of(
        chunk(1, outcome=WorkOutcome.SUCCESS, minutes=20.0),
        chunk(2, outcome=WorkOutcome.FAILED, minutes=10.5),
        chunk(3, outcome=WorkOutcome.SUCCESS, kind=Kind.SOLUTION, scope=BOREAL, minutes=60.0),
        chunk(4, outcome=WorkOutcome.IN_PROGRESS, session="s2"),
        chunk(5, outcome=WorkOutcome.ABANDONED, session=None),
        chunk(6, session=None),
    )
    assert (insights.chunks, insights.sessions, insights.timed) == (6, 3, 3)
    assert insights.kinds == {"code_change": 5, "solution": 1}
    assert insights.outcomes == {
        "success": 2,
        "abandoned": 1,
        "failed": 1,
        "in_progress": 1,
        "unknown": 1,
    }
    assert insights.success == 0.5
    assert list(insights.minutes.items()) == [(BOREAL, 60.0), (APOLLO, 30.5)]


def test_without_chunks_there_is_nothing_and_no_share() -> None:
    insights = insights_of()
    assert (insights.chunks, insights.first, insights.success) == (0, None, None)
    assert (insights.periods, insights.minutes, insights.kinds) == ((), {}, {})
    assert insights.recalls == Recalls(chunks=0, sessions=0, in_sessions=0)
    assert insights.to_dict()["periods"] == []


def test_a_short_time_is_counted_by_day_with_the_days_between() -> None:
    insights = insights_of(chunk(1, minutes=5.0), chunk(2, hours=48, kind=Kind.PROBLEM))
    assert insights.step is Step.DAY
    assert [period.begin for period in insights.periods] == [
        date(2026, 3, day) for day in (2, 3, 4)
    ]
    assert [period.kinds for period in insights.periods] == [{"code_change": 1}, {}, {"problem": 1}]
    assert [period.minutes for period in insights.periods] == [{APOLLO: 5.0}, {}, {}]


def test_a_day_begins_where_the_time_zone_says() -> None:
    late = chunk(1, hours=14.5)
    assert insights_of(late, zone="UTC").periods[0].begin == date(2026, 3, 2)
    assert insights_of(late, zone="Europe/Berlin").periods[0].begin == date(2026, 3, 3)


@pytest.mark.parametrize(
    ("days", "step", "count"),
    [
        (44, Step.DAY, 45),
        (45, Step.WEEK, 7),
        (3 * 366, Step.MONTH, 37),
        (20 * 366, Step.YEAR, 21),
        (8000 * 365, Step.YEAR, None),
    ],
)
def test_the_longer_the_time_the_longer_its_periods(
    days: int, step: Step, count: int | None
) -> None:
    far = date(9999, 12, 31) - MONDAY.date()
    insights = insights_of(chunk(1), chunk(2, hours=24 * min(days, far.days)))
    assert insights.step is step
    begins = [period.begin for period in insights.periods]
    assert begins == sorted(set(begins))
    assert sum(sum(period.kinds.values()) for period in insights.periods) == 2
    assert count is None or len(begins) == count


@pytest.mark.parametrize(("week_start", "day"), [("monday", 2), ("sunday", 1)])
def test_a_week_begins_on_the_configured_day(week_start: str, day: int) -> None:
    insights = insights_of(chunk(1), chunk(2, hours=24 * 100), week_start=week_start)
    assert insights.periods[0].begin == date(2026, 3, day)


def test_a_hard_spot_is_scored_by_failures_complexity_and_minutes() -> None:
    chunks = [
        chunk(1, files=("a.py", "b.py"), outcome=WorkOutcome.FAILED, minutes=30.0),
        chunk(2, files=("a.py", "a.py"), difficulty=Difficulty.COMPLEX, minutes=10.0),
        chunk(3, files=("c.py",), difficulty=Difficulty.SIMPLE),
        chunk(4, files=("a.py",), scope=BOREAL, outcome=WorkOutcome.ABANDONED, component="api"),
    ]
    assert hard_files(chunks) == (
        HardSpot(name="a.py", scope=APOLLO, chunks=2, failed=1, complex=1, minutes=40.0, score=1.0),
        HardSpot(
            name="b.py", scope=APOLLO, chunks=1, failed=1, complex=0, minutes=30.0, score=0.5833
        ),
        HardSpot(name="a.py", scope=BOREAL, chunks=1, failed=1, complex=0, minutes=0, score=0.3333),
    )
    assert [spot.name for spot in hard_components(chunks)] == ["api"]


def test_the_fifteen_hardest_are_named() -> None:
    chunks = [chunk(n, files=(f"{n}.py",), minutes=float(n)) for n in range(1, 21)]
    assert [spot.name for spot in hard_files(chunks)] == [f"{n}.py" for n in range(20, 5, -1)]


def test_a_recall_counts_from_the_end_of_the_own_session_on() -> None:
    chunks = [
        chunk(1),
        chunk(2, hours=2),
        chunk(3, hours=30, session="s2"),
        chunk(4, hours=90, session="s3"),
    ]
    within = insights_of(*chunks, usage={"c1": recalled(1), "c2": recalled(2)})
    assert within.recalls == Recalls(chunks=0, sessions=0, in_sessions=0)
    # Half an hour before the first chunk of the second session, and between two sessions.
    later = insights_of(*chunks, usage={"c1": recalled(29.5), "c2": recalled(60)})
    assert later.recalls == Recalls(chunks=2, sessions=1, in_sessions=1)
    activated = Usage(count=0, activation=5.0, activated_at=MONDAY + timedelta(hours=29.5))
    assert insights_of(*chunks, usage={"c1": activated}).recalls == within.recalls


def solution(number: int, session: str, minutes: float | None, **fields: Any) -> Chunk:
    return chunk(
        number, hours=24 * number, kind=Kind.SOLUTION, session=session, minutes=minutes, **fields
    )


def test_a_problem_solved_again_has_its_first_time_beside_the_later_ones() -> None:
    attempt = chunk(0, kind=Kind.PROBLEM, session="s0", minutes=20.0, summary="It is locked")
    cluster = [
        solution(5, "s5", None),
        solution(4, "s4", 8.0),
        solution(3, "s3", 50.0, outcome=WorkOutcome.FAILED),
        solution(2, "s2", 12.0),
        solution(1, "s1", 40.0),
        attempt,
    ]
    assert find_solved_again([cluster]) == (
        SolvedAgain(
            id="c1",
            summary="It is locked",
            scope=APOLLO,
            first_minutes=60.0,
            later_minutes=(12.0, 8.0),
            later_median=10.0,
        ),
    )
    assert find_solved_again([cluster])[0].is_faster


def test_the_chunks_of_a_session_are_one_time() -> None:
    cluster = [
        solution(3, "s2", 7.0),
        solution(2, "s1", 5.0),
        solution(1, "s1", 6.0),
    ]
    solved = find_solved_again([cluster])[0]
    assert (solved.first_minutes, solved.later_minutes) == (11.0, (7.0,))


def test_a_problem_that_was_solved_once_or_without_minutes_is_not_compared() -> None:
    assert find_solved_again([[solution(2, "s1", 7.0), solution(1, "s1", 6.0)]]) == ()
    assert find_solved_again([[solution(2, "s2", 7.0), solution(1, "s1", None)]]) == ()
    assert find_solved_again([[solution(2, "s2", None), solution(1, "s1", 6.0)]]) == ()


def tell(store: MemoryStore, number: int, repository: str = REPOSITORY, **fields: Any) -> str:
    details = {
        "summary": "Wait for the lock",
        "session": f"s{number}",
        "minutes": 40.0 / number,
        "outcome": "success",
        "error": "database is locked",
        "problem": "The database is locked",
        "files": ["store.py"],
        "happened_at": datetime.now(UTC) - timedelta(days=10 - number),
        **fields,
    }
    return store.projects.store_chunk(
        f"Begin the transaction with IMMEDIATE, {number}",
        kind="solution",
        repository=repository,
        **details,
    ).id


def test_a_store_gives_the_insights_of_one_repository_and_of_all(store: MemoryStore) -> None:
    for number in (1, 2):
        tell(store, number)
    tell(store, 3, "github.com/octo/boreal")
    insights = store.projects.insights("apollo")
    assert (insights.scope, insights.chunks, insights.sessions) == (APOLLO, 2, 2)
    problem = insights.problems[0]
    assert (problem.name, problem.count) == ("The database is locked", 2)
    assert problem.fix is not None
    assert problem.fix.summary == "Wait for the lock"
    solved = insights.solved_again[0]
    assert (solved.first_minutes, solved.later_minutes) == (40.0, (20.0,))
    everything = store.projects.insights()
    assert (everything.scope, everything.chunks) == (None, 3)
    assert set(everything.minutes) == {APOLLO, BOREAL}


def test_a_search_is_a_recall_and_insights_are_none(store: MemoryStore) -> None:
    memory_id = tell(store, 1)
    store.projects.insights()
    assert store.projects.insights().recalls.chunks == 0
    assert store.usage(memory_id) is None
    store.projects.search_similar_problems("database is locked")
    assert store.projects.insights().recalls == Recalls(chunks=1, sessions=1, in_sessions=0)


def test_a_timeframe_leaves_the_rest_out(store: MemoryStore) -> None:
    tell(store, 1, happened_at=datetime(2020, 5, 1, tzinfo=UTC))
    tell(store, 2)
    assert store.projects.insights(timeframe="2020").chunks == 1
    assert store.projects.insights(timeframe="since 2021").chunks == 1
    with pytest.raises(InvalidInput):
        store.projects.insights(timeframe="whenever it rains")
    with pytest.raises(UnknownScope):
        store.projects.insights("github.com/octo/none")


def test_a_private_repository_is_counted_only_by_name(store: MemoryStore) -> None:
    tell(store, 1)
    store.scopes.update(APOLLO, sensitivity="private")
    assert store.projects.insights().chunks == 0
    assert store.projects.insights(REPOSITORY).chunks == 1


def test_earlier_chunks_than_the_newest_are_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("infinite_memory.features.projects.insights._MOST", 2)
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        tell(store, 1)
        tell(store, 2)
        assert not store.projects.insights().more
        tell(store, 3)
        insights = store.projects.insights()
    assert (insights.chunks, insights.more) == (2, True)
