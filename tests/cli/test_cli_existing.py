"""`connect` finds what an assistant has left here before, and takes it in if it may."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infinite_memory.core.files.locks import FileLock
from infinite_memory.features.sessions.existing import find_existing
from infinite_memory.features.sessions.spool_reader import READER_LOCK

Run = Callable[..., Any]
Ask = Callable[..., Any]


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a user who has worked with Claude Code on a pond and at home."""
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    project, sessions = tmp_path / "pond", tmp_path / ".claude" / "projects" / "-pond"
    (sessions / "memory").mkdir(parents=True)
    project.mkdir()
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    (project / "CLAUDE.md").write_text("Run make check before each commit to the pond.")
    (sessions / "memory" / "pumps.md").write_text("The spare pump of the pond is P2.")
    (tmp_path / ".claude" / "CLAUDE.md").write_text("I prefer short answers.")
    for number in range(3):
        file = sessions / f"s{number}.jsonl"
        file.write_text("".join(list_lines(number, str(project))))
        os.utime(file, (1_780_000_000 + number, 1_780_000_000 + number))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def list_lines(number: int, folder: str) -> list[str]:
    said = (
        ("user", f"How long does filter {number} run?"),
        ("assistant", f"Filter {number} runs {number + 2} hours."),
    )
    return [
        json.dumps(
            {
                "type": speaker,
                "sessionId": f"s{number}",
                "uuid": f"u{number}-{line}",
                "cwd": folder,
                "timestamp": f"2026-05-28T1{number}:0{line}:00Z",
                "message": {"role": speaker, "content": text},
            }
        )
        + "\n"
        for line, (speaker, text) in enumerate(said)
    ]


def test_what_is_there_is_said_and_nothing_is_stored_without_a_yes(run: Run, user: Path) -> None:
    said = run("connect", "claude-code").stderr
    assert "Found of Claude Code on this machine: 3 sessions and 3 files of notes." in said
    assert "`infinite-memory connect claude-code --import-sessions` takes them in." in said
    assert not (user / "home").exists()
    for silent in (("--no-import",), ("--dry-run",), ("--remove",), ("--project",)):
        assert "Found of" not in run("connect", "claude-code", *silent).stderr
    assert "Found of" not in run("connect", "cursor").stderr
    nothing = run("connect", "cursor", "--import-sessions").stderr
    assert "Nothing of Cursor that can be read was found here." in nothing
    for other in (("--dry-run",), ("--scopes", "work"), ("--store", "memory://"), ("--remove",)):
        refused = run("connect", "claude-code", "--import-sessions", *other, code=2).stderr
        assert "--import-sessions goes with CLIENT, --home and --hooks" in refused
    assert "name a client" in run("connect", "--import-sessions", code=2).stderr


def test_sessions_and_notes_are_taken_in_once_into_the_scope_of_their_project(
    run: Run, ask: Ask, user: Path
) -> None:
    said = run("connect", "claude-code", "--import-sessions").stderr
    assert "Took in 6 messages of 3 sessions, and 3 memories of notes." in said
    assert "`infinite-memory worker`, makes them." in said
    (hit, *_) = ask("search", "which pump is the spare one?")["hits"]
    assert hit["scope"].endswith("/pond")
    assert hit["text"] == "The spare pump of the pond is P2."
    (hit, *_) = ask("search", "how many hours does filter 2 run?")["hits"]
    assert hit["text"].endswith("Filter 2 runs 4 hours.")
    assert hit["scope"].endswith("/pond")
    again = run("connect", "claude-code", "--import-sessions").stderr
    said = "Took in 0 messages of 0 sessions, and 0 memories of notes; 3 sessions did not change."
    assert said in again
    with (user / ".claude" / "projects" / "-pond" / "s1.jsonl").open("a") as file:
        file.write(list_lines(7, str(user / "pond"))[0])
    again = run("connect", "claude-code", "--import-sessions").stderr
    assert "Took in 1 message of 1 session, and 0 memories of notes; 2 sessions did" in again


def list_pieces(ask: Ask) -> list[str]:
    listed = ask("list", "--kind", "discussion")["memories"]
    return sorted(memory["title"] for memory in listed)


def test_the_pieces_of_work_follow_in_the_background_and_once(
    run: Run, ask: Ask, user: Path
) -> None:
    run("connect", "claude-code", "--import-sessions")
    assert list_pieces(ask) == []
    assert "Cut 3 sessions into pieces of work." in run("optimize", "--dry-run").stdout
    assert "Cut 3 sessions into pieces of work." in run("worker", "--once").stdout
    titles = [f"How long does filter {number} run?" for number in range(3)]
    assert list_pieces(ask) == titles
    assert "pieces of work" not in run("optimize", "--job", "pieces").stdout
    run("connect", "claude-code", "--import-sessions")
    assert "pieces of work" not in run("optimize", "--job", "pieces").stdout
    file = user / ".claude" / "projects" / "-pond" / "s1.jsonl"
    file.write_text(file.read_text() + list_lines(7, str(user / "pond"))[0])
    run("connect", "claude-code", "--import-sessions")
    assert "Cut 1 session into" in run("optimize", "--job", "pieces").stdout
    assert list_pieces(ask) == [*titles, "How long does filter 7 run?"]


def test_what_another_process_takes_in_and_what_was_masked_is_said(
    run: Run, ask: Ask, user: Path
) -> None:
    file = user / ".claude" / "projects" / "-pond" / "s1.jsonl"
    file.write_text(file.read_text().replace("How long", "With AKIAQRSTUVWX23456722, how long"))
    (user / "home" / "spool").mkdir(parents=True)
    lock = FileLock(user / "home" / "spool" / READER_LOCK)
    assert lock.acquire(0)
    said = run("connect", "claude-code", "--import-sessions").stderr
    lock.release()
    assert "Took in 0 messages" in said
    assert "3 sessions more: another process takes them in." in said
    said = run("connect", "claude-code", "--import-sessions").stderr
    assert "Masked: 1 secret (AWS access key)." in said
    assert "another process" not in said
    assert "AKIAQRSTUVWX23456722" not in str(ask("search", "how long does filter 1 run"))


def test_sessions_of_one_folder_may_be_of_several_projects(user: Path) -> None:
    day = user / ".codex" / "sessions" / "2026" / "05" / "28"
    day.mkdir(parents=True)
    for name in ("pond", "mill"):
        (user / name).mkdir(exist_ok=True)
        (user / name / "AGENTS.md").write_text(f"Rules of the {name}.")
        (day / f"rollout-{name}.jsonl").write_text(json.dumps({"cwd": str(user / name)}))
    folders = {note.folder for note in find_existing("codex", user).notes}
    assert folders == {str(user / "pond"), str(user / "mill")}


def test_the_last_changed_sessions_come_first_and_notes_have_their_project(user: Path) -> None:
    existing = find_existing("claude-code", user)
    assert [file.stem for file in existing.sessions] == ["s2", "s1", "s0"]
    assert {note.path.name: note.folder for note in existing.notes if note.folder} == {
        "CLAUDE.md": str(user / "pond"),
        "pumps.md": str(user / "pond"),
    }
    (user / ".claude" / "projects" / "-pond" / "s3.jsonl").write_bytes(b'{"cwd": "\\ud800')
    assert len(find_existing("claude-code", user).sessions) == 4
    assert find_existing("cursor", user).sessions == ()
