"""`connect` and `bundle`, as a person calls them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infinite_memory.apps.cli.commands import bundle, connect
from infinite_memory.apps.cli.commands.connect import INSTRUCTIONS
from infinite_memory.apps.cli.settings import read_platform
from infinite_memory.apps.connect.catalog import CLIENTS
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.installation import find_server_command
from infinite_memory.apps.connect.probe import probe_server
from infinite_memory.core.errors import ConfigurationError
from infinite_memory_mcp.server import TOOLSETS

Run = Callable[..., Any]
Ask = Callable[..., Any]


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave no client in sight but those that a test makes."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("XDG_CONFIG_HOME", "APPDATA", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_without_a_client_those_found_here_are_listed(run: Run, ask: Ask, user: Path) -> None:
    result = run("connect", code=1)
    assert "No client was found" in result.stderr
    (user / ".cursor").mkdir()
    (user / ".codex").mkdir()
    run("connect", "codex")
    result = run("connect")
    assert result.stdout == (
        "cursor\tnot connected\t~/.cursor/mcp.json\ncodex\tconnected\t~/.codex/config.toml\n"
    )
    assert "Not found here: claude-desktop, claude-code, vscode" in result.stderr
    listed = ask("connect")["clients"]
    assert [client["state"] for client in listed] == ["not connected", "connected"]
    assert listed[1]["entry"]["command"] == str(find_server_command())
    (user / ".cursor" / "mcp.json").write_text("{")
    result = run("connect")
    assert "cursor\tunreadable" in result.stdout
    assert "line 1" in result.stderr
    assert run("connect", "--project").stdout.startswith("cursor\tnot connected\t")


def test_the_change_is_shown_made_and_taken_back(run: Run, home: Path, user: Path) -> None:
    path = user / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('model = "m" # mine\n')
    shown = run("connect", "codex", "--no-hooks", "--dry-run")
    assert "Nothing was written" in shown.stderr
    assert path.read_text() == 'model = "m" # mine\n'
    done = run("connect", "codex", "--no-hooks")
    assert done.stdout == shown.stdout
    command = find_server_command()
    assert done.stdout.splitlines() == [
        "--- ~/.codex/config.toml",
        "+++ ~/.codex/config.toml",
        "@@ -1,1 +1,5 @@",
        ' model = "m" # mine',
        "+",
        "+[mcp_servers.infinite-memory]",
        f"+command = {json.dumps(str(command))}",
        f'+args = ["--home", {json.dumps(str(home))}]',
    ]
    assert "Codex is connected. The former file is ~/.codex/config.toml." in done.stderr
    assert "codex mcp list" in done.stderr
    again = run("connect", "codex", "--no-hooks")
    assert (again.stdout, "connected already" in again.stderr) == ("", True)
    assert "no longer connected" in run("connect", "codex", "--remove").stderr
    assert path.read_text() == 'model = "m" # mine\n'
    assert "is not connected" in run("connect", "codex", "--remove").stderr


def test_the_store_and_the_scopes_are_passed_on(
    ask: Ask, run: Run, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def args(*options: str) -> list[str]:
        answer = ask("connect", "windsurf", "--dry-run", *options)
        assert answer["written"] is False
        found: list[str] = answer["entry"]["args"]
        return found

    assert args("--home", "mine") == ["--home", str(user / "work" / "mine")]
    assert args("--store", "./s") == ["--store", str(user / "work" / "s")]
    assert args("--store", "mongodb://host/db", "--scopes", "a, b") == [
        *("--store", "mongodb://host/db"),
        *("--scopes", "a,b"),
    ]
    monkeypatch.delenv("INFINITE_MEMORY_HOME")
    assert args() == []
    monkeypatch.setenv("INFINITE_MEMORY_STORE", "mongodb://host/db")
    assert args() == ["--store", "mongodb://host/db"]
    result = run("connect", "windsurf", "--store", "mongodb://u:hidden@host/db", code=3)
    assert "has a password" in result.stderr
    assert "hidden" not in result.stderr
    assert "one of --home" in run("connect", "zed", "--home", "a", "--store", "b", code=3).stderr
    assert "looks like an address" in run("connect", "zed", "--store", "mongo://x", code=3).stderr
    assert not (user / ".codeium").exists()


def test_the_help_names_every_client() -> None:
    assert connect.connect_command.help is not None
    words = set(re.findall(r"[\w-]+", connect.connect_command.help))
    assert {client.name for client in CLIENTS} <= words


def test_a_project_has_its_own_file(run: Run, ask: Ask, user: Path) -> None:
    answer = ask("connect", "claude-code", "--project")
    path = user / "work" / ".mcp.json"
    assert (answer["path"], answer["changed"], answer["written"]) == (str(path), True, True)
    assert answer["backup"] is None
    assert json.loads(path.read_text())["mcpServers"]["infinite-memory"] == answer["entry"]
    assert not (user / ".claude.json").exists()
    assert "no file of a project" in run("connect", "windsurf", "--project", code=2).stderr
    assert "itself was not found" in run("connect", "vscode", "--project").stderr


def test_what_cannot_be_done_is_said(run: Run, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "did you mean cursor" in run("connect", "cursr", code=2).stderr
    assert "name a client" in run("connect", "--remove", code=2).stderr
    (user / ".cursor").mkdir()
    file = user / ".cursor" / "mcp.json"
    file.write_text('{"mcpServers": {"a": 1}')
    assert "line 1, column 24" in run("connect", "cursor", code=3).stderr
    assert file.read_text() == '{"mcpServers": {"a": 1}'

    def fail() -> Path:
        raise ConfigurationError("there is no server")

    monkeypatch.setattr(connect, "find_server_command", fail)
    assert "there is no server" in run("connect", "zed", code=3).stderr
    assert "there is no server" in run("connect").stderr


def test_a_server_that_is_not_installed_is_named_with_the_way_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert find_server_command().is_absolute()
    assert os.access(find_server_command(), os.X_OK)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"pip install '\.\[mcp\]'"):
        find_server_command()
    monkeypatch.setattr("infinite_memory.apps.connect.installation.find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="needs the MCP SDK"):
        find_server_command()


@pytest.mark.thorough
def test_the_instructions_name_only_tools_that_every_server_offers(run: Run, ask: Ask) -> None:
    assert run("connect", "--instructions").stdout == INSTRUCTIONS
    assert ask("connect", "--instructions") == {"instructions": INSTRUCTIONS}
    assert "name none" in run("connect", "cursor", "--instructions", code=2).stderr
    server = ServerEntry(command=str(find_server_command()))
    listed = {name for name, _ in probe_server(server, read_platform()).tools}
    named = set(re.findall(r"`(\w+_\w+)`", INSTRUCTIONS))
    assert "more" in listed
    assert named <= {spec.name for specs in TOOLSETS.values() for spec in specs}
    assert len(INSTRUCTIONS) < 2000


@pytest.mark.thorough
def test_the_doctor_says_what_the_clients_would_meet(run: Run, ask: Ask, user: Path) -> None:
    (user / ".gemini").mkdir()
    run("connect", "cursor")
    found = {check["about"]: check for check in ask("doctor")["checks"]}
    assert found["client cursor"]["state"] == "ok"
    assert "the server answered in" in found["client cursor"]["sentence"]
    assert "is not connected" in found["client gemini"]["sentence"]
    settings = user / ".cursor" / "mcp.json"
    settings.write_text(settings.read_text().replace("infinite-memory-mcp", "gone"))
    answer = ask("doctor", code=1)
    sentence = next(c["sentence"] for c in answer["checks"] if c["about"] == "client cursor")
    assert "cannot be started" in sentence


@pytest.mark.thorough
def test_a_bundle_is_built_with_its_description(
    run: Run, ask: Ask, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ask("bundle", "out", "--name", "io.github.alice/infinite-memory")
    assert Path(answer["bundle"]).stat().st_size == answer["size_bytes"]
    assert json.loads(Path(answer["server_json"]).read_text())["name"].startswith("io.github")
    assert "is no name of a server" in run("bundle", "out", "--name", "alice", code=2).stderr
    assert "give --url and --name" in run("bundle", "out").stderr

    def fail() -> Path:
        return user / "gone"

    monkeypatch.setattr(bundle, "find_server_command", fail)
    assert "the server does not start" in run("bundle", "out", code=3).stderr
