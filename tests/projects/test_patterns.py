"""What recurs in the work on repositories."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from checkouts import REPOSITORY, SCOPE
from stopped_clock import StoppedClock

from infinite_memory import InvalidInput, MemoryStore
from infinite_memory.features.projects.patterns import (
    Pattern,
    PatternExample,
    PatternKind,
    Patterns,
    Trend,
)
from infinite_memory.testing.embedders import HashingEmbedder

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
HERMES = "github.com/octo/hermes"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    clock = StoppedClock(NOW)
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), clock=clock) as opened:
        yield opened


def note(store: MemoryStore, name: str, text: str, *, days: float = 0, **fields: Any) -> None:
    given = {"kind": "problem", "repository": REPOSITORY, **fields}
    store.projects.store_chunk(text, id=name, happened_at=NOW - timedelta(days=days), **given)


def example(store: MemoryStore, name: str) -> PatternExample:
    memory = store.get(name)
    return PatternExample(
        id=name, summary=memory.heading, scope=memory.scope, happened_at=memory.happened_at
    )


def test_without_work_there_are_no_patterns(store: MemoryStore) -> None:
    assert store.projects.identify_patterns() == Patterns(scope=None, chunks=0, patterns=())
    store.scopes.create(SCOPE)
    assert store.projects.identify_patterns(REPOSITORY) == Patterns(
        scope=SCOPE, chunks=0, patterns=()
    )


def test_a_problem_that_recurs_is_counted_with_its_examples_and_the_last_fix(
    store: MemoryStore,
) -> None:
    note(store, "p1", "the login token expired at night", days=9)
    note(store, "p2", "the login token expired at night again", days=8)
    note(store, "s1", "the login token expired at night: set the clock", days=7, kind="solution")
    note(store, "p3", "the login token expired at night too", days=1)
    note(store, "q", "pictures of cats are upside down", days=2)
    assert store.projects.identify_patterns(REPOSITORY) == Patterns(
        scope=SCOPE,
        chunks=5,
        patterns=(
            Pattern(
                kind=PatternKind.PROBLEM,
                name="the login token expired at night too",
                count=4,
                trend=Trend.FALLING,
                examples=tuple(example(store, name) for name in ("p3", "s1", "p2")),
                fix=example(store, "s1"),
            ),
        ),
    )


def test_the_same_error_is_the_same_problem_whatever_is_said_of_it(store: MemoryStore) -> None:
    note(store, "a", "red apples", days=2, error="E1234")
    note(store, "b", "nobody knows why", days=1, error="E1234")
    note(store, "c", "quite different words here", days=0, error="E9")
    (pattern,) = store.projects.identify_patterns(REPOSITORY).patterns
    assert (pattern.count, [each.id for each in pattern.examples]) == (2, ["b", "a"])
    assert pattern.fix is None


def test_a_failed_solution_is_no_fix(store: MemoryStore) -> None:
    note(store, "a", "the login token expired", days=3)
    note(store, "s", "the login token expired: wait", days=2, kind="solution", outcome="failed")
    (pattern, *_) = store.projects.identify_patterns(REPOSITORY).patterns
    assert (pattern.kind, pattern.fix) == (PatternKind.PROBLEM, None)


def test_a_problem_is_one_of_its_repository(store: MemoryStore) -> None:
    note(store, "a", "the login token expired", error="E1")
    note(store, "h", "the login token expired", error="E1", repository=HERMES)
    patterns = store.projects.identify_patterns()
    assert patterns == Patterns(scope=None, chunks=2, patterns=())


def test_files_tools_and_outcomes_are_counted_over_all_open_repositories(
    store: MemoryStore,
) -> None:
    work = {"kind": "code_change", "files": ["b.py", "a.py"], "outcome": "success"}
    note(store, "a", "first words", days=3, tools=["ruff", "mypy", "ruff"], **work)
    note(store, "h", "second thoughts", days=2, tools=["ruff"], repository=HERMES, **work)
    note(store, "one", "third rail", days=1, kind="code_change", files=["a.py"])
    examples = (example(store, "h"), example(store, "a"))
    fields = {"count": 2, "trend": Trend.FALLING, "examples": examples}
    assert store.projects.identify_patterns() == Patterns(
        scope=None,
        chunks=3,
        patterns=(
            Pattern(kind=PatternKind.FILES, name="a.py + b.py", **fields),
            Pattern(kind=PatternKind.TOOL, name="ruff", **fields),
            Pattern(kind=PatternKind.OUTCOME, name="success", **fields),
        ),
    )
    assert store.projects.identify_patterns(REPOSITORY).patterns == ()


def test_a_change_of_very_many_files_says_nothing_of_any_two(store: MemoryStore) -> None:
    for number in range(2):
        files = [f"f{each}.py" for each in range(21)]
        note(store, f"c{number}", f"words {number}", kind="code_change", files=files)
    assert store.projects.identify_patterns(REPOSITORY).of(PatternKind.FILES) == ()


@pytest.mark.parametrize(
    ("days", "trend"),
    [
        ((10, 1, 0), Trend.STEADY),
        ((10, 2, 1, 0), Trend.RISING),
        ((10, 9, 8, 0), Trend.FALLING),
        ((10, 9, 1, 0), Trend.STEADY),
        ((5, 5, 5), Trend.STEADY),
    ],
)
def test_the_trend_compares_the_later_half_of_the_time_with_the_earlier(
    store: MemoryStore, days: tuple[int, ...], trend: Trend
) -> None:
    for number, age in enumerate(days):
        note(store, f"c{number}", f"text {number}", kind="discussion", days=age, tools=["ruff"])
    (pattern,) = store.projects.identify_patterns(REPOSITORY).of(PatternKind.TOOL)
    assert (pattern.count, pattern.trend) == (len(days), trend)


def test_a_timeframe_in_words_bounds_what_is_counted(store: MemoryStore) -> None:
    for number, days in enumerate((40, 41, 2)):
        note(store, f"c{number}", f"text {number}", kind="discussion", days=days, tools=["ruff"])
    assert store.projects.identify_patterns(REPOSITORY, timeframe="last month").chunks == 2
    assert store.projects.identify_patterns(REPOSITORY, timeframe="this month").patterns == ()
    assert store.projects.identify_patterns(REPOSITORY, timeframe="always").chunks == 3
    with pytest.raises(InvalidInput, match="when pigs fly"):
        store.projects.identify_patterns(timeframe="when pigs fly")
