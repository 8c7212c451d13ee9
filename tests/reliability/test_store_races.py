"""Two processes change the same memory, or tell values of the same key, at once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.harness.racing import (
    check_counter,
    check_values,
    count_up,
    opened,
    remember_the_same,
    run_both,
    tell_late,
    tell_values,
)

_START = datetime(2026, 1, 1, tzinfo=UTC)
_LONG = pytest.mark.slow("sqlite-endurance")


@pytest.mark.parametrize("times", [100, pytest.param(1000, marks=_LONG)])
def test_no_change_is_lost_when_two_processes_edit_one_memory(tmp_path: Path, times: int) -> None:
    with opened(str(tmp_path), str(tmp_path)) as store:
        store.remember("count 0", id="counter")
    answers = run_both(count_up, tmp_path, str(tmp_path), times)
    with opened(str(tmp_path), str(tmp_path)) as store:
        check_counter(store, answers, times)
    assert any(answers)


@pytest.mark.parametrize("times", [40, pytest.param(300, marks=_LONG)])
def test_of_the_values_that_two_processes_tell_at_once_the_last_one_holds(
    tmp_path: Path, times: int
) -> None:
    answers = run_both(tell_values, tmp_path, str(tmp_path), times)
    with opened(str(tmp_path), str(tmp_path)) as store:
        assert [len(answer) for answer in answers] == [times, times]
        check_values(store, answers)


@pytest.mark.parametrize("times", [40, pytest.param(200, marks=_LONG)])
def test_what_two_processes_tell_alike_at_once_is_stored_once(tmp_path: Path, times: int) -> None:
    with opened(str(tmp_path), str(tmp_path)):
        pass  # made before both come
    one, other = run_both(remember_the_same, tmp_path, str(tmp_path), times)
    assert [each for each, _ in one] == [each for each, _ in other]
    outcomes = [sorted(pair) for pair in zip(dict(one).values(), dict(other).values(), strict=True)]
    assert outcomes == [["stored", "strengthened"]] * times
    with opened(str(tmp_path), str(tmp_path)) as store:
        assert store.stats().memories == times
        assert store.verify().findings == ()


@pytest.mark.parametrize("first", [True, False])
def test_what_two_processes_tell_late_finds_its_place(tmp_path: Path, *, first: bool) -> None:
    with opened(str(tmp_path), str(tmp_path)) as store:
        key = "value" if first else None
        store.remember("first", id="first", key=key, happened_at=_START)
        store.remember("last", id="last", key="value")
    answers = run_both(tell_late, tmp_path, str(tmp_path), 50)
    with opened(str(tmp_path), str(tmp_path)) as store:
        check_values(store, [*answers, ["first", "last"] if first else ["last"]])
