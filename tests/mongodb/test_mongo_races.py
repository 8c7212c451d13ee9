"""Two processes change the same memory, or tell values of the same key, at once, on MongoDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mongo_servers import Deployment

from tests.harness.racing import (
    check_counter,
    check_values,
    count_up,
    opened,
    remember_the_same,
    run_both,
    tell_values,
)

pytestmark = pytest.mark.slow("mongodb")

_LONG = pytest.mark.slow("mongodb-endurance")


@pytest.fixture
def address(either: Deployment, tmp_path: Path) -> Iterator[str]:
    yield either.address_of(tmp_path)
    either.drop(tmp_path)


@pytest.mark.parametrize("times", [25, pytest.param(100, marks=_LONG)])
def test_no_change_is_lost_when_two_processes_edit_one_memory(
    tmp_path: Path, address: str, times: int
) -> None:
    with opened(str(tmp_path), address) as store:
        store.remember("count 0", id="counter")
    answers = run_both(count_up, tmp_path, address, times)
    with opened(str(tmp_path), address) as store:
        check_counter(store, answers, times)


@pytest.mark.parametrize("times", [10, pytest.param(40, marks=_LONG)])
def test_of_the_values_that_two_processes_tell_at_once_the_last_one_holds(
    tmp_path: Path, address: str, times: int
) -> None:
    answers = run_both(tell_values, tmp_path, address, times)
    assert [len(answer) for answer in answers] == [times, times]
    with opened(str(tmp_path), address) as store:
        check_values(store, answers)


@pytest.mark.parametrize("times", [10, pytest.param(40, marks=_LONG)])
def test_what_two_processes_tell_alike_at_once_is_stored_once(
    tmp_path: Path, address: str, times: int
) -> None:
    with opened(str(tmp_path), address):
        pass  # made before both come
    one, other = run_both(remember_the_same, tmp_path, address, times)
    assert [each for each, _ in one] == [each for each, _ in other]
    outcomes = [sorted(pair) for pair in zip(dict(one).values(), dict(other).values(), strict=True)]
    assert outcomes == [["stored", "strengthened"]] * times
