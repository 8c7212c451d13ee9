"""`briefing`, `hook`, and the taking in of what hooks have noted by other commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from infinite_memory.features.sessions.spool import append_line

Run = Callable[..., Result]
Ask = Callable[..., Any]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    record = {
        "type": "user",
        "uuid": "1",
        "sessionId": "s",
        "timestamp": "2026-05-01T10:00:00Z",
        "message": {"content": "the cat is called Tom"},
    }
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(record) + "\n")
    return path


@pytest.fixture(autouse=True)
def _no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where no repository is."""
    monkeypatch.chdir(tmp_path)


def note(home: Path, transcript: Path) -> None:
    append_line(home, {"client": "claude-code", "transcript": str(transcript), "folder": "/"})


def test_a_briefing_is_printed_as_text_and_as_a_document(run: Run, ask: Ask) -> None:
    assert "holds nothing for Global yet" in run("briefing").stdout
    run("remember", "We chose SQLite", "--kind", "decision", "--id", "d")
    assert ": We chose SQLite\n" in run("briefing").stdout
    document = ask("briefing", "--budget", "300")
    assert document["budget"] == 300
    assert document["tokens"] <= 300
    assert document["text"].startswith("From the memory, for Global")
    ((section),) = document["sections"]
    assert (section["part"], section["omitted"]) == ("holds", 0)
    assert section["items"][0]["id"] == "d"


def test_a_project_without_memories_has_the_briefing_of_the_default_scope(
    run: Run, tmp_path: Path
) -> None:
    run("remember", "We chose SQLite", "--kind", "decision")
    assert "We chose SQLite" in run("briefing", "--project", str(tmp_path / "gone")).stdout


def test_scope_and_project_exclude_each_other_and_errors_are_sentences(run: Run) -> None:
    assert "not both" in run("briefing", "--scope", "a", "--project", ".", code=2).stderr
    assert "there is no scope 'zz'" in run("briefing", "--scope", "zz", code=5).stderr
    assert "budget" in run("briefing", "--budget", "1", code=2).stderr


def test_a_command_takes_in_what_hooks_have_noted_and_says_so(
    run: Run, ask: Ask, home: Path, transcript: Path
) -> None:
    note(home, transcript)
    assert "1 transcript waits" in run("doctor").stdout
    listed = run("search", "what is the cat called?")
    assert "the cat is called Tom" in listed.stdout
    assert "Took in 1 message of 1 conversation" in listed.stderr
    assert "Everything that hooks have noted is taken in." in run("doctor").stdout
    note(home, transcript)
    assert "Took in" not in run("list").stderr


def test_a_session_is_taken_back_by_either_end_of_its_id_and_no_plain_undo_means_it(
    run: Run, home: Path, transcript: Path
) -> None:
    name = "0f00e1c2-8b6d-4cc0-9b5e-7a2d8929d5fc"
    transcript.write_text(transcript.read_text().replace('"s"', f'"{name}"'))
    run("remember", "Kiki eats fish", "--id", "fish")
    note(home, transcript)
    assert "\tclaude-code\t" in run("log").stdout
    assert "1 memory (fish)" in run("undo", "--dry-run").stdout
    for part in ("8929d5fc", "0f00e1c2", name):
        assert "1 message" in run("undo", "--dry-run", "--session", part).stdout
    for part in ("929d5fc", "2d8929d5fc"):
        missing = run("undo", "--session", part, code=5).stderr
        assert "`infinite-memory conversations` lists the ids" in missing


def test_json_and_the_briefing_stay_silent_and_the_briefing_takes_nothing_in(
    run: Run, ask: Ask, home: Path, transcript: Path
) -> None:
    note(home, transcript)
    run("briefing")
    assert (home / "spool" / "spool.jsonl").exists()
    result = run("list", "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout)["memories"][0]["text"] == "the cat is called Tom"


def test_another_store_than_that_of_the_home_folder_takes_nothing_in(
    run: Run, home: Path, transcript: Path, tmp_path: Path
) -> None:
    note(home, transcript)
    run("--store", str(tmp_path / "other"), "list")
    run("--store", "memory://", "list")
    assert (home / "spool" / "spool.jsonl").exists()


def test_a_spool_that_cannot_be_read_does_not_fail_the_command(run: Run, home: Path) -> None:
    (home / "spool" / "spool.jsonl").mkdir(parents=True)
    assert "was not taken in" in run("list").stderr


def test_the_hook_notes_a_session_and_never_fails(run: Run, home: Path, transcript: Path) -> None:
    event = json.dumps({"transcript_path": str(transcript), "session_id": "s", "cwd": "/"})
    assert run("hook", "Stop", stdin=event).output == ""
    assert run("hook", "Stop", stdin="no json").output == ""
    assert "no JSON" in (home / "logs" / "hooks.log").read_text()
    assert "the cat is called Tom" in run("list").stdout
    assert "names no transcript. Delete it when it is done." not in run("doctor").stdout


def test_what_is_known_about_a_topic_is_printed_as_text_and_as_a_document(
    run: Run, ask: Ask
) -> None:
    assert 'Nothing is known about "Alice"' in run("know", "Alice", code=1).stdout
    run("remember", "Alice is allergic to nuts", "--id", "nuts")
    run("remember", "Alice works in Oslo", "--id", "oslo", "--scope", "work")
    known = run("know", "what", "about", "Alice").stdout
    assert "[nuts] (Global)\n> Alice is allergic to nuts" in known
    document = ask("know", "Alice", "--scope", "work", "--budget", "300")
    assert {highlight["id"] for highlight in document["highlights"]} == {"nuts", "oslo"}
    assert document["tokens"] <= document["budget"] == 300
    assert "there is no scope 'zz'" in run("know", "Alice", "--scope", "zz", code=5).stderr
    assert "budget 1 cannot be used" in run("know", "Alice", "--budget", "1", code=2).stderr
    assert "topic '' is empty" in run("know", "", code=2).stderr
