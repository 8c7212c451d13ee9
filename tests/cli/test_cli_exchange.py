"""`infinite-memory export` and `infinite-memory import`, as a person uses them."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def told(run: Run) -> None:
    """Store four memories in three scopes, one of which is private."""
    run(
        "remember",
        "The ferry leaves at ten",
        "--id",
        "ferry",
        "--scope",
        "harbour",
        "--tag",
        "times",
    )
    run(
        "remember",
        "The crane is broken",
        "--id",
        "crane",
        "--scope",
        "harbour",
        "--kind",
        "problem",
    )
    run("remember", "Tomatoes grow in June", "--id", "tomatoes", "--scope", "garden")
    run("scopes", "create", "diary", "--private")
    run("remember", "I slept badly", "--id", "sleep", "--scope", "diary")


@pytest.mark.usefixtures("told")
def test_an_export_says_what_it_holds_and_leaves_private_scopes_out(
    run: Run, tmp_path: Path
) -> None:
    out = tmp_path / "memories.jsonl"
    result = run("export", str(out))
    assert f"Exported 3 memories into {out}." in result.stdout
    assert "1 private scope was left out: --private exports them too" in result.stderr
    assert "holds personal data in the clear" in result.stderr
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "I slept badly" not in out.read_text("utf-8")
    assert "Exported 4 memories" in run("export", str(out), "--private", "--force").stdout


@pytest.mark.usefixtures("told")
def test_conditions_choose_what_is_exported_and_json_says_how_much(
    ask: Ask, tmp_path: Path
) -> None:
    chosen = {
        "scope": ("--scope", "diary"),
        "tag": ("--tag", "times"),
        "kind": ("--kind", "problem"),
        "past": ("--until", "2020-01-01"),
        "future": ("--since", "2020-01-01", "--scope", "garden"),
        "words": ("--when", "today", "--scope", "harbour"),
    }
    counts = {
        name: ask("export", "--to", str(tmp_path / f"{name}.csv"), *options)["memories"]
        for name, options in chosen.items()
    }
    assert counts == {"scope": 1, "tag": 1, "kind": 1, "past": 0, "future": 1, "words": 2}


@pytest.mark.usefixtures("told")
def test_a_folder_of_notes_is_brought_up_to_date(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    assert "Exported 3 memories into 2 files" in run("export", str(notes)).stdout
    assert sorted(path.name for path in notes.iterdir()) == ["garden.md", "harbour.md"]
    refused = run("export", str(notes), code=5)
    assert "holds files already, and nothing was written" in refused.stderr
    run("forget", "tomatoes")
    updated = run("export", str(notes), "--force").stdout
    assert "Files: 0 written, 1 unchanged, 1 removed." in updated
    days = run("export", str(tmp_path / "days"), "--by", "day").stdout
    assert "Exported 2 memories into 1 file" in days


@pytest.mark.parametrize("arguments", [(), ("a.jsonl", "--to", "b.jsonl")])
def test_an_export_needs_exactly_one_name(run: Run, arguments: tuple[str, ...]) -> None:
    assert "give OUT once" in run("export", *arguments, code=2).stderr


@pytest.mark.usefixtures("told")
def test_an_export_comes_back_into_another_home_and_is_undone_as_one(
    run: Run, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "memories.jsonl"
    run("export", str(out), "--private")
    monkeypatch.setenv("INFINITE_MEMORY_HOME", str(tmp_path / "other"))
    result = run("import", str(out))
    assert "Added 4 memories, from" in result.stdout
    entry = re.search(r"take the whole import back: infinite-memory undo (\d+)", result.stderr)
    assert entry is not None
    again = ask("import", str(out))
    assert (again["added"], again["unchanged"]) == (0, 4)
    run("undo", entry[1])
    assert ask("list", "--scope", "ALL")["memories"] == []


def test_a_dry_run_shows_what_would_come_and_stores_nothing(
    run: Run, ask: Ask, tmp_path: Path
) -> None:
    rows = [
        {"text": f"Fact number {n}", "scope": f"scope {n}", "speaker": "Ann"} for n in range(12)
    ]
    path = tmp_path / "facts.jsonl"
    path.write_text("\n".join([*(json.dumps(row) for row in rows), '{"text": 7}', "{"]) + "\n")
    result = run("import", str(path), "--dry-run")
    assert "It holds 12 memories: " in result.stdout
    assert "An import would add 12 memories" in result.stdout
    assert "Nothing was stored." in result.stdout
    assert result.stdout.count("Ann: Fact number") == 10
    assert "and 4 more" in result.stdout
    assert "2 records or values that cannot be used, left out:" in result.stderr
    assert "line 13" in result.stderr
    assert ask("stats")["memories"] == 0


def test_a_record_that_cannot_be_used_stops_the_import_or_is_left_out(
    run: Run, ask: Ask, tmp_path: Path
) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text('{"text": "One"}\n' + '{"text": 7}\n' * 30)
    assert "nothing was imported" in run("import", str(path), "--strict", code=2).stderr
    assert ask("stats")["memories"] == 0
    result = run("import", str(path), "--no-embed")
    assert "Added 1 memory" in result.stdout
    assert "Read 1 of 1 file, 1 record; left out: 30 records or values." in result.stdout
    assert "30 records or values that cannot be used, left out:" in result.stderr
    assert "and 10 more" in result.stderr


def test_what_was_forgotten_here_stays_so_and_is_said(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text('{"id": "one", "text": "One"}\n{"id": "two", "text": "Two"}\n')
    run("import", str(path))
    run("forget", "one")
    run("forget", "two", "--hard", "--yes")
    said = run("import", str(path)).stderr
    assert "Left out 1 memory that was forgotten here." in said
    assert "Left out 1 memory that was erased for good here." in said


def test_a_file_that_nothing_recognises_is_refused_with_the_known_formats(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "image.bin"
    path.write_bytes(bytes(range(256)))
    refused = run("import", str(path), code=2).stderr
    assert str(path) in refused
    assert "name one with --from, one of jsonl, markdown, chatgpt" in refused
