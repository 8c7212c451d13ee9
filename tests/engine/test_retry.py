from __future__ import annotations

import time

import pytest

from infinite_memory.core.errors import Conflict, IdTaken
from infinite_memory.engine.retry import attempts


def test_the_last_of_twenty_attempts_is_told_where_there_is_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("infinite_memory.engine.retry._SECONDS", 0.0)
    assert [attempt.is_last for attempt in attempts()] == [False] * 19 + [True]


def test_attempts_go_on_as_long_as_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infinite_memory.engine.retry._SECONDS", 0.3)
    start = time.monotonic()
    tried = list(attempts())
    assert time.monotonic() - start >= 0.3
    assert [attempt.number for attempt in tried] == [*range(1, len(tried) + 1)]
    assert len(tried) >= 20
    assert [attempt.is_last for attempt in tried] == [False] * (len(tried) - 1) + [True]


def _lose_every_attempt(lost: list[int]) -> None:
    for attempt in attempts():
        with attempt:
            raise Conflict(str(attempt.number))
        lost.append(attempt.number)


def test_a_conflict_ends_an_attempt_and_is_raised_by_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("infinite_memory.engine.retry._SECONDS", 0.0)
    lost: list[int] = []
    with pytest.raises(Conflict, match="20"):
        _lose_every_attempt(lost)
    assert lost == [*range(1, 20)]


@pytest.mark.parametrize("refusal", [IdTaken("taken"), ValueError("no conflict")])
def test_what_no_retry_can_change_is_raised_by_the_first_attempt(refusal: Exception) -> None:
    for attempt in attempts():
        assert attempt.number == 1
        with pytest.raises(type(refusal)), attempt:
            raise refusal
        break
