"""`infinite-memory optimize`, as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]

LONG_AGO = "2019-05-01T12:00:00Z"


@pytest.fixture
def kept_for_a_day(home: Path) -> None:
    """Configure a scope whose memories expire after a day, and one whose memories are erased."""
    home.mkdir(exist_ok=True)
    rules = {"inbox": {"keep_days": 1}, "screen": {"keep_days": 1, "erase": True}}
    config = {"upkeep": {"daily_backups": 0, "weekly_backups": 0, "scopes": rules}}
    (home / "infinite_memory_config.json").write_text(json.dumps(config))


def tell_long_ago(run: Run, tmp_path: Path, scope: str, count: int) -> None:
    """Bring memories of years ago back from an export, so that they are as old as they say."""
    lines = [
        {
            "record": "memory",
            "id": f"{scope}-{number}",
            "text": f"Letter {number} of {scope}",
            "kind": "note",
            "title": None,
            "scope": scope,
            "tags": [],
            "context": {},
            "conversation_id": None,
            "speaker": None,
            "origin": "user",
            "happened_at": LONG_AGO,
            "stored_at": LONG_AGO,
            "valid_from": None,
            "valid_to": None,
            "key": None,
            "status": "current",
            "important": False,
            "sources": [],
            "attachments": [],
            "revision": 1,
        }
        for number in range(count)
    ]
    path = tmp_path / f"{scope}.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    run("import", str(path))


@pytest.mark.usefixtures("kept_for_a_day")
def test_it_says_what_each_job_would_do_and_did_and_how_to_take_it_back(
    run: Run, ask: Ask, tmp_path: Path
) -> None:
    tell_long_ago(run, tmp_path, "inbox", 7)
    tell_long_ago(run, tmp_path, "screen", 1)
    dry = run("optimize", "--dry-run", "--job", "archive").stdout
    assert "archive: would erase 1 memory for good, would archive 7 memories." in dry
    assert '"Letter 0 of screen" (older than the 1 day that screen keeps)' in dry
    assert "and 3 more" in dry
    assert dry.index("of screen") < dry.index("of inbox")
    assert ask("list", "--scope", "inbox")["memories"] != []
    done = run("optimize", "--job", "archive").stdout
    assert "archive: erased 1 memory for good, archived 7 memories." in done
    assert ask("list", "--scope", "inbox")["memories"] == []
    found = ask("search", "letter", "--scope", "inbox", "--depth", "exhaustive")["hits"]
    assert len(found) == 7
    run("show", "screen-0", code=5)
    run("revise", "inbox-0", "--status", "current")
    assert [m["id"] for m in ask("list", "--scope", "inbox")["memories"]] == ["inbox-0"]


@pytest.mark.usefixtures("kept_for_a_day")
def test_a_run_is_undone_by_the_command_that_it_printed(run: Run, ask: Ask, tmp_path: Path) -> None:
    tell_long_ago(run, tmp_path, "inbox", 2)
    done = run("optimize", "--job", "archive").stdout
    entry = done.split("infinite-memory undo ")[1].split()[0]
    run("undo", entry)
    assert len(ask("list", "--scope", "inbox")["memories"]) == 2


@pytest.mark.usefixtures("kept_for_a_day")
def test_what_was_done_is_not_due_again(run: Run, ask: Ask) -> None:
    run("remember", "The ferry leaves at ten")
    assert {job["job"] for job in ask("optimize")["jobs"]} >= {"archive", "index", "compact"}
    assert run("optimize").stdout == "Nothing is due; name a job to run it now.\n"
    assert "archive: found nothing to do." in run("optimize", "--job", "archive").stdout
    said = run("optimize", "--dry-run", "--job", "archive", "--job", "limit").stdout
    assert "archive, limit: would change nothing." in said


def test_an_unknown_job_is_refused_with_the_names_of_all(run: Run) -> None:
    refused = run("optimize", "--job", "archiv", code=2).stderr
    assert "'archive'" in refused


def test_a_job_that_fails_is_named_and_the_exit_says_so(run: Run, home: Path) -> None:
    run("remember", "The ferry leaves at ten")
    (home / "backups").write_text("in the way")
    result = run("optimize", code=1)
    assert "backup: given up, and nothing was changed:" in result.stdout
    assert "compact: Compacted the files of the store." in result.stdout
