"""`connect` puts our hooks into the files of clients, beside those of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from infinite_memory.apps.cli.main import infinite_memory

SOUND = {"hooks": [{"type": "command", "command": "afplay done.wav"}]}
EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure"]
EVENTS += ["PreCompact", "Stop", "SessionEnd"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "INFINITE_MEMORY_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def connect(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(infinite_memory, ["connect", *arguments])
    assert result.exit_code == code, result.output
    return result


def hooks_in(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())["hooks"]
    return document


def test_claude_code_gets_hooks_and_loses_them_with_the_server(home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"model": "opus", "hooks": {"Stop": [SOUND]}}))
    connect("claude-code", "--home", str(home / "a memory"))
    hooks = hooks_in(settings)
    assert sorted(hooks) == sorted(EVENTS)
    assert hooks["Stop"][0] == SOUND
    command = hooks["Stop"][1]["hooks"][0]["command"]
    assert command.endswith(f" Stop --client claude-code --home '{home / 'a memory'}'")
    before = settings.read_bytes()
    assert (
        "has our hooks already" in connect("claude-code", "--home", str(home / "a memory")).stderr
    )
    assert settings.read_bytes() == before
    connect("claude-code", "--remove")
    assert json.loads(settings.read_text()) == {"model": "opus", "hooks": {"Stop": [SOUND]}}


def test_without_hooks_the_file_is_not_touched(home: Path) -> None:
    connect("claude-code", "--no-hooks")
    assert not (home / ".claude" / "settings.json").exists()
    document = json.loads(connect("claude-code", "--json", "--dry-run").stdout)
    assert document["hooks"]["changed"]
    assert not document["hooks"]["written"]
    assert not (home / ".claude" / "settings.json").exists()


@pytest.mark.parametrize(
    ("name", "file", "prompt"),
    [
        ("codex", ".codex/hooks.json", "UserPromptSubmit"),
        ("gemini", ".gemini/settings.json", "BeforeAgent"),
    ],
)
def test_other_clients_that_were_tried_get_them_too(
    home: Path, name: str, file: str, prompt: str
) -> None:
    connect(name)
    assert prompt in hooks_in(home / file)
    connect(name, "--scopes", "work")
    assert list(hooks_in(home / file)) == ["SessionStart"]
    connect(name, "--remove")
    assert "infinite-memory-hook" not in (home / file).read_text()


def test_a_client_that_was_not_tried_gets_them_if_asked_for(home: Path) -> None:
    file = home / ".cursor" / "hooks.json"
    connect("cursor")
    assert not file.exists()
    connect("cursor", "--hooks")
    assert list(hooks_in(file)) == ["sessionStart"]
    connect("cursor", "--remove")
    assert "infinite-memory-hook" not in file.read_text()


def test_a_server_that_takes_nothing_in_is_only_briefed(home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    connect("claude-code")
    assert list(hooks_in(settings)) == EVENTS
    connect("claude-code", "--scopes", "work")
    assert list(hooks_in(settings)) == ["SessionStart"]


@pytest.mark.parametrize("broken", ["{", '{"hooks": 3}', "[]"])
def test_a_file_that_cannot_be_changed_is_refused_before_anything_is_written(
    home: Path, broken: str
) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(broken)
    assert "it is not changed" in connect("claude-code", code=3).stderr
    assert settings.read_text() == broken
    assert not (home / ".claude.json").exists()
    connect("claude-code", "--no-hooks")
    assert (home / ".claude.json").exists()


def test_a_client_without_hooks_refuses_them_before_anything_is_written(home: Path) -> None:
    assert "has no hooks" in connect("zed", "--hooks", code=2).stderr
    assert not (home / ".config" / "zed").exists()


def test_the_hooks_of_a_project_are_in_its_own_file(home: Path) -> None:
    connect("claude-code", "--project")
    assert list(hooks_in(home / ".claude" / "settings.local.json")) == EVENTS
    assert not (home / ".claude" / "settings.json").exists()
