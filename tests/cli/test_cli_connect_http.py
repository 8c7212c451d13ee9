"""`connect --http`: what a person sees, and that no key is ever shown."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Ask = Callable[..., Any]

URL = "http://127.0.0.1:8765/mcp"
SECRET = "im_abcdefgh_the-secret-part"
OTHER = "another-secret"


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave no client in sight but those that a test makes."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("INFINITE_MEMORY_HOME", raising=False)
    for name in ("XDG_CONFIG_HOME", "APPDATA", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_a_client_is_pointed_at_a_server_shown_and_taken_back(run: Run, user: Path) -> None:
    path = user / ".cursor" / "mcp.json"
    shown = run("connect", "cursor", "--http", "127.0.0.1:8765", "--dry-run")
    assert "Nothing was written" in shown.stderr
    assert not path.exists()
    done = run("connect", "cursor", "--http", "127.0.0.1:8765")
    assert done.stdout == shown.stdout
    assert f'+      "url": "{URL}"' in done.stdout
    assert "Cursor is connected." in done.stderr
    assert "`infinite-memory doctor` asks the server" in done.stderr
    again = run("connect", "cursor", "--http", URL)
    assert (again.stdout, "connected already" in again.stderr) == ("", True)
    assert run("connect").stdout == "cursor\tconnected over HTTP\t~/.cursor/mcp.json\n"
    run("connect", "cursor")
    assert "command" in path.read_text()
    assert URL not in path.read_text()
    run("connect", "cursor", "--http", URL)
    assert "command" not in path.read_text()
    assert "no longer connected" in run("connect", "cursor", "--http", URL, "--remove").stderr


def test_no_key_is_shown_and_each_way_to_give_one_is_explained(
    run: Run, ask: Ask, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = user / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"x": {"url": "u", "headers": {"k": "' + OTHER + '"}}}}')
    path.chmod(0o644)
    server = ("connect", "cursor", "--http", URL)
    results = [run(*server, "--key", SECRET, "--dry-run"), run(*server, "--key", SECRET)]
    assert '"Authorization": "***"' in results[-1].stdout
    assert "The key stands in ~/.cursor/mcp.json as it is" in results[-1].stderr
    assert "--key-from-env NAME keeps it out" in results[-1].stderr
    assert "chmod 600 ~/.cursor/mcp.json" in results[-1].stderr
    assert f"Bearer {SECRET}" in path.read_text()
    answer = ask(*server, "--key", "-", stdin=f"{SECRET}\n")
    assert (answer["changed"], answer["hooks"]) == (False, None)
    assert answer["entry"] == {"url": URL, "headers": {"Authorization": "***"}}
    results += [run(*server, "--key-from-env", "MEMORY_KEY")]
    assert "MEMORY_KEY, which is not set here" in results[-1].stderr
    assert "The former file still holds a key" in results[-1].stderr
    assert "Bearer ${env:MEMORY_KEY}" in results[-1].stdout
    assert SECRET not in path.read_text()
    monkeypatch.setenv("MEMORY_KEY", SECRET)
    remote = ("connect", "cursor", "--http", "http://192.168.1.2:8765")
    results += [run(*remote, "--key-from-env", "MEMORY_KEY"), run("connect", "cursor", "--remove")]
    assert "of its own environment" in results[-2].stderr
    assert "over the network unencrypted" in results[-2].stderr
    answer = ask(*server, "--key", OTHER)
    for text in (*(r.stdout + r.stderr for r in results), json.dumps(answer)):
        assert SECRET not in text
        assert OTHER not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_key_is_asked_for_on_a_terminal_without_being_shown(
    run: Run, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinite_memory.apps.cli.commands.connect.is_terminal", lambda _: True)
    result = run("connect", "zed", "--http", URL, "--key", "-", stdin=f"{SECRET}\n")
    assert "Access key:" in result.stderr
    assert SECRET not in result.stdout + result.stderr
    assert SECRET in (user / ".config" / "zed" / "settings.json").read_text()
    assert "keeps it out" not in result.stderr


def test_hooks_stay_as_they_are_unless_they_are_asked_for(ask: Ask, user: Path) -> None:
    settings = user / ".claude" / "settings.json"
    assert ask("connect", "claude-code", "--http", URL)["hooks"] is None
    assert not settings.exists()
    assert ask("connect", "claude-code", "--http", URL, "--hooks")["hooks"]["changed"]
    assert "infinite-memory-hook" in settings.read_text()
    ask("connect", "claude-code", "--http", URL)
    assert "infinite-memory-hook" in settings.read_text()
    assert ask("connect", "claude-code", "--remove")["hooks"]["changed"]


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (["cursor", "--key", SECRET], "give --http URL too", 2),
        (["cursor", "--key-from-env", "A"], "give --http URL too", 2),
        (["--http", URL], "name a client", 2),
        (["cursor", "--http", URL, "--home", "h"], "leave out --home, or --http", 2),
        (["cursor", "--http", URL, "--store", "s"], "leave out --store, or --http", 2),
        (["cursor", "--http", URL, "--scopes", "a"], "leave out --scopes, or --http", 2),
        (["cursor", "--http", URL, "--key", "a", "--key-from-env", "A"], "give one of them", 2),
        (["cursor", "--http", "nowhere"], "'nowhere' is no URL of a server", 2),
        (["cursor", "--http", f"{URL}?key={SECRET}"], "holds a secret", 2),
        (["cursor", "--http", URL, "--key", f"{SECRET} x"], "is no access key", 2),
        (["cursor", "--http", URL, "--key-from-env", SECRET], "was given an access key", 2),
        (["vscode", "--http", URL, "--key-from-env", "A"], "takes no header from the env", 2),
        (["claude-desktop", "--http", URL], "connect claude-desktop` lets it start", 2),
        (["cursor", "--http", URL, "--key", SECRET, "--project"], "is shared with whoever", 2),
    ],
)
def test_what_does_not_go_together_is_refused_and_changes_nothing(
    run: Run, user: Path, options: list[str], said: str, code: int
) -> None:
    result = run("connect", *options, code=code)
    assert said in result.stderr
    assert SECRET not in result.stdout + result.stderr
    assert not (user / ".cursor").exists()
    assert list((user / "work").iterdir()) == []
