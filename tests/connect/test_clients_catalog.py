"""Each client's file is where its documentation says, on each system, and holds its form."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infinite_memory.apps.connect.catalog import CLIENTS, Client, Syntax, get_client
from infinite_memory.apps.connect.connecting import (
    Connection,
    apply_change,
    find_clients,
    find_file,
    plan_change,
    read_status,
)
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.core.errors import InvalidInput

MakePlatform = Callable[..., Platform]
FIXTURES = Path(__file__).parent / "fixtures"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "clients.md"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
URL = ServerEntry(url="http://127.0.0.1:8765/mcp")

EVERYWHERE = {
    "claude-code": "home/.claude.json",
    "cursor": "home/.cursor/mcp.json",
    "codex": "home/.codex/config.toml",
    "gemini": "home/.gemini/settings.json",
    "windsurf": "home/.codeium/windsurf/mcp_config.json",
    "zed": "home/.config/zed/settings.json",
    "cline": "home/.cline/data/settings/cline_mcp_settings.json",
    "opencode": "home/.config/opencode/opencode.json",
    "copilot": "home/.copilot/mcp-config.json",
}
PATHS = {
    "linux": {
        **EVERYWHERE,
        "claude-desktop": "home/.config/Claude/claude_desktop_config.json",
        "vscode": "home/.config/Code/User/mcp.json",
    },
    "darwin": {
        **EVERYWHERE,
        "claude-desktop": "home/Library/Application Support/Claude/claude_desktop_config.json",
        "vscode": "home/Library/Application Support/Code/User/mcp.json",
    },
    "win32": {
        **EVERYWHERE,
        "claude-desktop": "Roaming/Claude/claude_desktop_config.json",
        "vscode": "Roaming/Code/User/mcp.json",
        "zed": "Roaming/Zed/settings.json",
    },
}
PROJECT = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
}


@pytest.mark.parametrize("system", PATHS)
def test_the_file_of_each_client_is_where_its_documentation_says(
    make_platform: MakePlatform, tmp_path: Path, system: str
) -> None:
    platform = make_platform(system, APPDATA=str(tmp_path / "Roaming"))
    assert {client.name: find_file(client, platform) for client in CLIENTS} == {
        name: tmp_path / path for name, path in PATHS[system].items()
    }


def test_a_project_has_a_file_of_its_own_where_the_client_reads_one(platform: Platform) -> None:
    for client in CLIENTS:
        if client.name in PROJECT:
            expected = platform.folder / PROJECT[client.name]
            assert find_file(client, platform, project=True) == expected
        else:
            with pytest.raises(InvalidInput, match=f"{client.title} has no file of a project"):
                find_file(client, platform, project=True)


@pytest.mark.parametrize(
    ("name", "variable", "value", "path"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "c", "c/.claude.json"),
        ("codex", "CODEX_HOME", "c", "c/config.toml"),
        ("gemini", "GEMINI_CLI_HOME", "c", "c/.gemini/settings.json"),
        ("cline", "CLINE_MCP_SETTINGS_PATH", "c/mine.json", "c/mine.json"),
        ("opencode", "OPENCODE_CONFIG", "c/mine.json", "c/mine.json"),
        ("copilot", "COPILOT_HOME", "c", "c/mcp-config.json"),
        ("zed", "XDG_CONFIG_HOME", "c", "c/zed/settings.json"),
        ("vscode", "XDG_CONFIG_HOME", "c", "c/Code/User/mcp.json"),
    ],
)
def test_a_variable_of_the_client_moves_its_file(
    make_platform: MakePlatform, tmp_path: Path, name: str, variable: str, value: str, path: str
) -> None:
    platform = make_platform(**{variable: str(tmp_path / value)})
    assert find_file(get_client(name), platform) == tmp_path / path
    relative = make_platform(XDG_CONFIG_HOME="relative")
    assert find_file(get_client("zed"), relative).is_relative_to(relative.user_home)


def test_windows_without_its_variable_has_the_usual_folder(make_platform: MakePlatform) -> None:
    platform = make_platform("win32")
    assert find_file(get_client("vscode"), platform).is_relative_to(
        platform.user_home / "AppData" / "Roaming"
    )


def test_an_older_cline_keeps_its_file_in_vs_code(platform: Platform) -> None:
    cline = get_client("cline")
    new = find_file(cline, platform)
    old = platform.resolve(cline.files[1])
    assert old is not None
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    assert find_file(cline, platform) == old
    new.parent.mkdir(parents=True)
    new.write_text("{}")
    assert find_file(cline, platform) == new


def test_clients_are_found_by_a_folder_a_file_or_a_command(
    platform: Platform, tmp_path: Path
) -> None:
    assert list(find_clients(platform)) == []
    (platform.user_home / ".cursor").mkdir()
    (platform.user_home / ".claude.json").write_text("{}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "codex").chmod(0o755)
    found = [client.name for client in find_clients(platform)]
    assert found == ["claude-code", "cursor", "codex"]


def test_a_name_that_is_no_client_is_refused_with_the_nearest() -> None:
    assert get_client(" Claude_Code ").name == "claude-code"
    with pytest.raises(InvalidInput, match=r"'cursr' is no known client: did you mean cursor\?"):
        get_client("cursr")
    with pytest.raises(InvalidInput, match="no known client: give one of claude-desktop"):
        get_client("zzz")


# The forms of those clients that could not be run, as their documentation shows them.
DOCUMENTED: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "claude-desktop": ({"command": "/im", "args": ["-v"]}, None),
    "cursor": (
        {"type": "stdio", "command": "/im", "args": ["-v"]},
        {"url": "http://127.0.0.1:8765/mcp"},
    ),
    "vscode": (
        {"type": "stdio", "command": "/im", "args": ["-v"]},
        {"type": "http", "url": "http://127.0.0.1:8765/mcp"},
    ),
    "windsurf": ({"command": "/im", "args": ["-v"]}, {"serverUrl": "http://127.0.0.1:8765/mcp"}),
    "zed": ({"command": "/im", "args": ["-v"]}, {"url": "http://127.0.0.1:8765/mcp"}),
    "cline": (
        {"type": "stdio", "command": "/im", "args": ["-v"]},
        {"type": "streamableHttp", "url": "http://127.0.0.1:8765/mcp"},
    ),
    "opencode": (
        {"type": "local", "command": ["/im", "-v"]},
        {"type": "remote", "url": "http://127.0.0.1:8765/mcp"},
    ),
    "copilot": (
        {"type": "local", "command": "/im", "args": ["-v"], "tools": ["*"]},
        {"type": "http", "url": "http://127.0.0.1:8765/mcp", "tools": ["*"]},
    ),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_an_entry_has_the_documented_form(name: str) -> None:
    client = get_client(name)
    command, url = DOCUMENTED[name]
    entry = ServerEntry(command="/im", args=("-v",))
    assert client.form(entry) == command
    assert ServerEntry.from_form(command) == entry
    with_env = ServerEntry(command="/im", env={"A": "b"})
    assert ServerEntry.from_form(client.form(with_env)) == with_env
    if url is None:
        with pytest.raises(InvalidInput, match="holds commands only"):
            client.form(URL)
    else:
        assert client.form(URL) == url
        assert ServerEntry.from_form(url) == URL


# What the clients wrote by their own `mcp add`: before, with our command, with our URL.
RECORDED = [("claude-code", False), ("claude-code", True), ("codex", False), ("gemini", False)]


def record(client: Client, stage: str, *, project: bool) -> str:
    name = f"{client.name}{'-project' if project else ''}.{stage}.{client.syntax}"
    return (FIXTURES / name).read_text(encoding="utf-8")


def parse(client: Client, text: str) -> dict[str, Any]:
    return json.loads(text) if client.syntax is Syntax.JSON else tomllib.loads(text)


@pytest.mark.parametrize(("name", "project"), RECORDED)
def test_we_write_what_the_client_itself_would_have_written(
    platform: Platform, entry: ServerEntry, name: str, *, project: bool
) -> None:
    client = get_client(name)
    path = find_file(client, platform, project=project)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = record(client, "before", project=project)
    path.write_text(before)
    for stage, wanted in (("after", entry), ("url", URL)):
        apply_change(client, platform, wanted, now=NOW, project=project)
        written, theirs = path.read_text(), record(client, stage, project=project)
        expected = parse(client, theirs)
        if name == "claude-code" and stage == "after":
            # It writes down that it adds nothing to the environment.
            assert expected["mcpServers"]["infinite-memory"].pop("env") == {}
        assert parse(client, written) == expected
        if name in ("codex", "gemini") and stage == "after":
            assert written == theirs
        path.write_text(theirs)
        status = read_status(client, platform, wanted, project=project)
        assert (status.connection, status.entry) == (Connection.CONNECTED, wanted)
        assert not plan_change(client, platform, wanted, project=project).changes
        apply_change(client, platform, None, now=NOW, project=project)
        assert path.read_text() == before


def test_a_server_that_is_switched_off_or_another_is_told_apart(
    platform: Platform, entry: ServerEntry
) -> None:
    cline, codex = get_client("cline"), get_client("codex")
    for client in (cline, codex):
        assert read_status(client, platform, entry).connection is Connection.NOT_CONNECTED
        apply_change(client, platform, entry, now=NOW)
    other = ServerEntry(command="/elsewhere")
    assert read_status(cline, platform, other).connection is Connection.OTHER
    assert read_status(cline, platform, None).connection is Connection.CONNECTED
    path = find_file(cline, platform)
    path.write_text(path.read_text().replace('"type"', '"disabled": true, "type"'))
    assert read_status(cline, platform, entry).connection is Connection.DISABLED
    path = find_file(codex, platform)
    path.write_text(f"{path.read_text()}enabled = false\n")
    assert read_status(codex, platform, entry).connection is Connection.DISABLED


@pytest.mark.parametrize(
    "wrong", [{}, {"command": "x", "url": "y"}, {"command": "/folder\udcff/x"}]
)
def test_an_entry_that_no_client_could_use_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        ServerEntry(**wrong)


@pytest.mark.parametrize("form", [None, "x", [], {}, {"command": ""}, {"command": 5}, {"url": []}])
def test_what_is_no_server_is_none(form: object) -> None:
    assert ServerEntry.from_form(form) is None


def test_the_guide_names_each_client_with_its_files() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    for client in CLIENTS:
        assert f"`{client.name}`" in guide
        for template in (*client.files, client.project_file, client.override):
            if template is not None:
                name = template.rpartition("}/")[2].strip("{}")
                assert name in guide, f"{client.name}: {name}"
