"""Several processes share one server, which starts with the first and ends with the last."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from managed_processes import User, kill_server, left_over, server, servers, starts, users

pytestmark = pytest.mark.slow("mongodb")

PROCESSES = 8
EACH = 200


def ids(number: int, *, count: int = EACH) -> list[str]:
    return [f"p{number}-{i}" for i in range(count)]


def test_eight_processes_started_together_share_one_server(managed_home: Path) -> None:
    with users(managed_home, PROCESSES, wait=True) as started:
        assert [user.answer() for user in started] == ["waits"] * PROCESSES
        for user in started:
            user.send("go")
        assert [user.answer() for user in started] == ["opened"] * PROCESSES
        assert server(managed_home)
        for number, user in enumerate(started):
            user.send("remember", ids(number), "everybody")
        assert [user.answer() for user in started] == [EACH] * PROCESSES
        expected = {name for number in range(PROCESSES) for name in ids(number)}
        for user in started:
            user.send("found", "everybody")
        for user in started:
            found = user.answer()
            assert len(found) == PROCESSES * EACH
            assert set(found) == expected
        for user in started[1:]:
            assert user.ask("close") is None
        assert server(managed_home)
        assert started[0].ask("count") == PROCESSES * EACH
        assert started[0].ask("close") is None
    assert left_over(managed_home) == []
    assert starts(managed_home) == 1


def test_a_process_that_ends_without_closing_is_no_user_any_more(managed_home: Path) -> None:
    with users(managed_home, 1) as (user,):
        assert user.answer() == "opened"
        assert user.end() == 0
    assert left_over(managed_home) == []


def test_a_server_whose_last_user_was_killed_is_adopted(managed_home: Path) -> None:
    with users(managed_home, 2) as (first, second):
        assert [first.answer(), second.answer()] == ["opened", "opened"]
        assert first.ask("remember", ["one", "two"], "word") == 2
        pid = server(managed_home)
        first.kill()
        assert second.ask("found", "word") in (["one", "two"], ["two", "one"])
        second.kill()
    assert servers(managed_home) == [pid]
    with users(managed_home, 1) as (third,):
        assert third.answer() == "opened"
        assert third.ask("count") == 2
        assert servers(managed_home) == [pid]
        assert third.ask("close") is None
    assert left_over(managed_home) == []
    assert starts(managed_home) == 1


def test_what_is_left_of_users_and_server_that_were_all_killed_is_replaced(
    managed_home: Path,
) -> None:
    with users(managed_home, 1) as (first,):
        assert first.answer() == "opened"
        assert first.ask("remember", ["one"], "word") == 1
        first.kill()
        kill_server(managed_home)
    with users(managed_home, 1) as (second,):
        assert second.answer() == "opened"
        assert second.ask("found", "word") == ["one"]
        assert second.ask("close") is None
    assert left_over(managed_home) == []


@pytest.mark.slow("mongodb-endurance")
def test_users_killed_while_they_open_leave_nothing_that_hinders_the_next(
    managed_home: Path,
) -> None:
    for delay in range(8):
        user = User(managed_home, wait=True)
        assert user.answer() == "waits"
        user.send("go")
        try:
            # The opening takes about a second: killed in each part of it.
            user.process.wait(delay / 6)
        except subprocess.TimeoutExpired:
            user.kill()
        user.dispose()
    with users(managed_home, 1) as (last,):
        assert last.answer() == "opened"
        assert last.ask("remember", ["one"], "word") == 1
        assert server(managed_home)
        assert last.ask("close") is None
    assert left_over(managed_home) == []


def test_a_child_that_was_forked_is_no_user(managed_home: Path) -> None:
    with users(managed_home, 1) as (user,):
        assert user.answer() == "opened"
        assert user.ask("remember", ["one"], "word") == 1
        pid = server(managed_home)
        refused_as_closed = "2"
        assert user.ask("fork") == [refused_as_closed, "child"]
        assert servers(managed_home) == [pid]
        assert user.ask("close") is None
    assert left_over(managed_home) == []


@pytest.mark.slow("mongodb-endurance")
def test_a_forked_child_that_lives_on_keeps_no_lock(managed_home: Path) -> None:
    with users(managed_home, 1) as (user,):
        assert user.answer() == "opened"
        user.ask("fork_sleeper")
        assert user.ask("close") is None
        assert left_over(managed_home) == []
        with users(managed_home, 1) as (other,):
            assert other.answer() == "opened"
            assert other.ask("close") is None
        assert left_over(managed_home) == []


@pytest.mark.slow("mongodb-endurance")
def test_the_child_of_a_killed_user_does_not_count_as_one(managed_home: Path) -> None:
    with users(managed_home, 2) as (user, other):
        assert [user.answer(), other.answer()] == ["opened", "opened"]
        user.ask("fork_sleeper")
        user.kill()
        assert other.ask("close") is None
        assert left_over(managed_home) == []


def test_an_interrupt_from_the_terminal_does_not_end_the_server(managed_home: Path) -> None:
    with users(managed_home, 1) as (user,):
        assert user.answer() == "opened"
        pid = server(managed_home)
        user.signal(signal.SIGINT)
        assert user.answer() == "interrupted"
        assert user.ask("remember", ["one"], "word") == 1
        assert servers(managed_home) == [pid]
        assert user.ask("close") is None
    assert left_over(managed_home) == []
    assert starts(managed_home) == 1


def test_a_user_that_is_stopped_keeps_nobody_from_closing(managed_home: Path) -> None:
    with users(managed_home, 2) as (stopped, other):
        assert [stopped.answer(), other.answer()] == ["opened", "opened"]
        stopped.signal(signal.SIGSTOP)
        assert other.ask("remember", ["one"], "word") == 1
        assert other.ask("close") is None
        assert server(managed_home)
        with users(managed_home, 1) as (third,):
            assert third.answer() == "opened"
            assert third.ask("found", "word") == ["one"]
            assert third.ask("close") is None
        stopped.signal(signal.SIGCONT)
        assert stopped.ask("found", "word") == ["one"]
        assert stopped.ask("close") is None
    assert left_over(managed_home) == []
    assert starts(managed_home) == 1
