from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[1] / "projects" / "streams" / "recorded"
SESSION = RECORDED / "codex-retry-count.jsonl"


def run(home: Path, *arguments: str, user: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "infinite_memory", "--home", str(home), *arguments]
    environment = {**os.environ, "HOME": str(user or home)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.process
def test_a_session_is_cut_stored_once_and_found_in_the_history(tmp_path: Path) -> None:
    home = tmp_path / "home"
    dry = run(home, "ingest-session", str(SESSION), "--dry-run")
    assert dry.returncode == 0
    assert "new      code_change Try three times, not four" in dry.stdout
    assert dry.stderr == "1 session file: 2 new; nothing was stored.\n"
    first = json.loads(run(home, "ingest-session", str(SESSION), "--json").stdout)
    assert [chunk["outcome"] for chunk in first["chunks"]] == ["stored", "stored"]
    again = run(home, "ingest-session", str(SESSION))
    assert (again.stdout, again.stderr) == ("", "1 session file: 2 unchanged.\n")
    scope = first["chunks"][0]["scope"]
    briefing = run(home, "briefing", "--scope", scope).stdout
    assert "Try three times, not four; Now make pollAll parallel" in briefing


@pytest.mark.thorough
def test_without_a_path_the_folders_of_the_clients_are_read(tmp_path: Path) -> None:
    user = tmp_path / "user"
    folder = user / ".codex" / "sessions" / "2026"
    folder.mkdir(parents=True)
    shutil.copy(SESSION, folder / "rollout-1.jsonl")
    done = run(tmp_path / "home", "ingest-session", user=user)
    assert (done.returncode, done.stderr) == (0, "1 session file: 2 stored.\n")
    nothing = run(tmp_path / "home", "ingest-session", user=tmp_path)
    assert nothing.returncode == 2
    assert "give a PATH" in nothing.stderr


@pytest.mark.thorough
def test_what_is_no_session_is_said(tmp_path: Path) -> None:
    empty = run(tmp_path / "home", "ingest-session", str(tmp_path))
    assert (empty.returncode, empty.stdout) == (1, "")
    assert "No session file" in empty.stderr
    gone = run(tmp_path / "home", "ingest-session", str(tmp_path / "gone"))
    assert gone.returncode == 5
    both = run(tmp_path / "home", "ingest-session", str(SESSION), "--watch", "--dry-run")
    assert both.returncode == 2


@pytest.mark.thorough
def test_the_watch_takes_in_what_is_there_and_ends_at_a_signal(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    shutil.copy(SESSION, folder / "rollout-1.jsonl")
    command = [sys.executable, "-m", "infinite_memory", "--home", str(tmp_path / "home")]
    command += ["ingest-session", "--watch", "--json", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
    assert [line["outcome"] for line in lines] == ["stored", "stored"]
    assert process.returncode == 0
