"""`infinite-memory worker`, as a person and as a service use it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from infinite_memory.storage.sqlite import SqliteStorage

Ask = Callable[..., Any]
Run = Callable[..., Any]

LONG = 60.0


@pytest.fixture
def told(home: Path, run: Run) -> str:
    """Store a memory that a rule archives, and return its id."""
    home.mkdir(exist_ok=True)
    config = {"upkeep": {"scopes": {"old": {"retired": True}}}}
    (home / "infinite_memory_config.json").write_text(json.dumps(config))
    run("remember", "The ferry leaves at ten", "--id", "ferry", "--scope", "old")
    return "ferry"


def test_once_does_what_is_due_and_then_nothing(run: Run, ask: Ask, told: str) -> None:
    done = run("worker", "--once").stdout
    assert "retire: archived 1 memory. To take it back: infinite-memory undo" in done
    assert ask("show", told)["status"] == "archived"
    again = run("worker", "--once")
    assert again.stdout == ""
    assert "There is nothing to do now." in again.stderr


@pytest.mark.usefixtures("told")
def test_json_is_a_line_for_each_job_that_did_something(run: Run) -> None:
    lines = run("worker", "--once", "--json").stdout.splitlines()
    assert "retire" in {json.loads(line)["job"] for line in lines}
    assert run("worker", "--once", "--json").stdout == ""


@pytest.mark.usefixtures("told")
def test_once_says_who_does_the_upkeep(run: Run, home: Path) -> None:
    with closing(SqliteStorage.open(home)) as storage:
        lease = storage.try_lease("process 7 on the other desk")
        assert lease is not None
        waiting = run("worker", "--once")
        assert "process 7 on the other desk does the upkeep." in waiting.stderr
        assert waiting.stdout == ""
        lease.release()
    assert "retire" in run("worker", "--once").stdout


def test_a_worker_works_on_the_whole_store(run: Run) -> None:
    refused = run("worker", "--scopes", "team", "--once", code=2)
    assert "leave out --scopes" in refused.stderr


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("told")
def test_a_signal_ends_it_and_the_lease_is_free(number: signal.Signals, home: Path) -> None:
    command = [sys.executable, "-m", "infinite_memory", "--home", str(home), "worker"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"does the upkeep" in process.stderr.readline()
        process.send_signal(number)
        out, rest = process.communicate(timeout=LONG)
    assert (process.returncode, rest) == (0, b"")
    assert out == b""
    with closing(SqliteStorage.open(home)) as storage:
        assert storage.try_lease("here") is not None
