"""`infinite-memory insights`, as a person uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

Ask = Callable[..., Any]
Run = Callable[..., Any]

NOTHING = "Nothing is stored of work on repositories in that time.\n"


@pytest.fixture
def worked(home: Path) -> Path:
    """Store four pieces of work: a problem that was solved twice, a change, and another project."""
    with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder()) as store:
        begin = datetime.now(UTC) - timedelta(days=3)
        for number, minutes in enumerate((40.0, 10.0)):
            store.projects.store_chunk(
                f"Begin the transaction with IMMEDIATE ({number})",
                kind="solution",
                repository="github.com/octo/apollo",
                summary="Begin with IMMEDIATE",
                problem="The database is locked",
                error="database is locked",
                outcome="success",
                minutes=minutes,
                files=["src/store.py"],
                session=f"s{number}",
                happened_at=begin + timedelta(days=number),
            )
        store.projects.store_chunk(
            "Move the store into a folder",
            kind="code_change",
            repository="github.com/octo/apollo",
            outcome="failed",
            difficulty="complex",
            minutes=90.0,
            component="storage",
            files=["src/store.py", "src/app.py"],
            session="s1",
            happened_at=begin + timedelta(days=1),
        )
        store.projects.store_decision(
            "Use tabs",
            rationale="They are short",
            repository="github.com/octo/boreal",
            happened_at=datetime(2020, 5, 1, tzinfo=UTC),
        )
    return home


@pytest.mark.usefixtures("worked")
def test_the_overview_says_how_the_work_went(run: Run) -> None:
    shown = run("insights", "--repository", "apollo").stdout
    assert shown.startswith("github.com/octo/apollo  ")
    for line in (
        "3 pieces of work in 2 sessions.",
        "Activity: ▅█ by day",
        "Kinds: 2 solution, 1 code change",
        "Outcomes: 2 success, 1 failed (67% of ends)",
        "Time: 2 h 20 min (known for 3 of 3): github.com/octo/apollo 2 h 20 min",
        "  src/store.py  1 failed, 1 complex, 2 h 20 min",
        "  storage  1 failed, 1 complex, 1 h 30 min",
        "  2 times, steady: The database is locked",
        "    last fix: Begin with IMMEDIATE",
        "No earlier work was recalled in a later session so far.",
        "1 problem solved again, 1 of them faster: on average 40 min the first time, 10 min later.",
        "  The database is locked  40 min, later 10 min",
    ):
        assert f"{line}\n" in shown


@pytest.mark.usefixtures("worked")
def test_all_repositories_or_a_time_are_chosen(run: Run, ask: Ask) -> None:
    assert ask("insights")["chunks"] == 4
    assert ask("insights", "--timeframe", "2020")["chunks"] == 1
    assert ask("insights", "--since", "2021")["chunks"] == 3
    assert run("insights", "--timeframe", "2019").stdout == NOTHING
    both = run("insights", "--timeframe", "2020", "--since", "2021", code=2)
    assert "give --timeframe or --since, not both" in both.stderr
    assert "cannot be read" in run("insights", "--timeframe", "if it rains", code=2).stderr


@pytest.mark.usefixtures("worked")
def test_json_is_one_document(ask: Ask) -> None:
    document = ask("insights", "--repository", "apollo")
    assert document["scope"] == "repo/github.com/octo/apollo"
    assert document["minutes"] == {"repo/github.com/octo/apollo": 140.0}
    solved = document["solved_again"][0]
    assert (solved["first_minutes"], solved["later_minutes"]) == (40.0, [10.0])


def test_an_empty_store_has_no_insights(run: Run, ask: Ask) -> None:
    assert run("insights").stdout == NOTHING
    assert ask("insights")["periods"] == []
    refused = run("insights", "--repository", "apollo", code=5)
    assert "nothing is stored of 'repo/apollo' yet" in refused.stderr


@pytest.mark.usefixtures("worked")
def test_a_page_is_refused_with_the_command_that_shows_it(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "insights.html"
    refused = run("insights", "--html", str(page), code=2)
    assert "`infinite-memory web` shows the insights in a browser" in refused.stderr
    assert not page.exists()


@pytest.mark.thorough
def test_the_command_itself_works_in_a_process(worked: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infinite_memory", "insights", "--json"],
        env={**os.environ, "INFINITE_MEMORY_HOME": str(worked)},
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["chunks"] == 4
