"""A client that reads plain JSON alone drops a file that holds more: that is said, or mended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.apps.connect.catalog import CLIENTS, Client, Syntax
from infinite_memory.apps.connect.connecting import (
    Connection,
    apply_change,
    find_file,
    plan_change,
    read_status,
)
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.jsonc import Extra, find_extras, remove_extras
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.core.errors import ConfigurationError

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
READERS = [client for client in CLIENTS if client.syntax is Syntax.JSON]
STRICT = [client for client in READERS if not client.accepts]


def _contents(client: Client) -> Iterator[tuple[Extra, bytes]]:
    """Yield a file with one extra each, and a server of another in it."""
    plain = json.dumps({client.container: {"kiln": {"command": "npx // no"}}}, indent=2)
    yield Extra.BYTE_ORDER_MARK, b"\xef\xbb\xbf" + plain.encode()
    yield Extra.COMMENT, plain.replace("{\n", "{\n  // mine\n", 1).encode()
    yield Extra.COMMENT, plain.replace(": {", ": /* mine, */ {", 1).encode()
    yield Extra.TRAILING_COMMA, f"{plain[:-2]},\n}}".encode()


@pytest.mark.parametrize("client", READERS, ids=lambda client: client.name)
def test_a_client_is_called_connected_only_if_it_reads_its_file(
    client: Client, platform: Platform, entry: ServerEntry
) -> None:
    path = find_file(client, platform)
    path.parent.mkdir(parents=True, exist_ok=True)
    for extra, content in _contents(client):
        path.write_bytes(content)
        if extra not in client.accepts:
            with pytest.raises(ConfigurationError, match=f"{extra} in line .*--clean"):
                apply_change(client, platform, entry, now=NOW)
            assert path.read_bytes() == content
            assert list(path.parent.glob("*.bak")) == []
        applied = apply_change(client, platform, entry, now=NOW, clean=True)
        assert applied.plan.removed == (() if extra in client.accepts else (extra,))
        assert applied.backup is not None
        assert applied.backup.read_bytes() == content
        applied.backup.unlink()
        written = path.read_bytes()
        if client.accepts:
            assert (b"mine" in written) == (b"mine" in content)
        else:
            assert list(json.loads(written.decode())[client.container]) == [
                "kiln",
                "infinite-memory",
            ]
            assert json.loads(written)[client.container]["kiln"] == {"command": "npx // no"}
        assert read_status(client, platform, entry).connection is Connection.CONNECTED
        assert not plan_change(client, platform, entry).changes


@pytest.mark.parametrize("client", STRICT, ids=lambda client: client.name)
def test_a_file_that_became_unreadable_after_it_was_connected_is_not_called_connected(
    client: Client, platform: Platform, entry: ServerEntry
) -> None:
    apply_change(client, platform, entry, now=NOW)
    path = find_file(client, platform)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    status = read_status(client, platform, entry)
    assert status.connection is Connection.UNREADABLE
    assert "a byte order mark in line 1" in str(status.problem)
    for wanted in (entry, None):
        with pytest.raises(ConfigurationError, match="will not read the file"):
            plan_change(client, platform, wanted)
    assert apply_change(client, platform, entry, now=NOW, clean=True).backup is not None
    assert not path.read_bytes().startswith(b"\xef")


def test_only_these_clients_accept_more_than_json() -> None:
    """A new row says what its client accepts, or is strict."""
    accepting = {client.name: client.accepts for client in READERS if client.accepts}
    assert accepting == {
        "cursor": frozenset(Extra),
        "vscode": frozenset(Extra),
        "zed": frozenset(Extra),
        "opencode": frozenset(Extra),
        "gemini": frozenset({Extra.COMMENT}),
    }


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "INFINITE_MEMORY_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".config/Claude/claude_desktop_config.json"
    path.parent.mkdir(parents=True)
    return path


def connect(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(infinite_memory, ["connect", *arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize(
    "content",
    [
        b'\xef\xbb\xbf{"mcpServers": {"kiln": {"command": "npx"}}}\n',
        b'{\n  // mine\n  "mcpServers": {"kiln": {"command": "npx"}}\n}\n',
        b'{"mcpServers": {"kiln": {"command": "npx"},},}\n',
    ],
)
def test_the_command_refuses_or_writes_the_file_clean_with_a_copy(
    desktop: Path, content: bytes
) -> None:
    desktop.write_bytes(content)
    for more in ((), ("--dry-run",), ("--json",)):
        refused = connect("claude-desktop", *more, code=3)
        assert "Claude Desktop will not read the file" in refused.output
        assert "--clean" in refused.output
        assert "connected" not in refused.output
    assert desktop.read_bytes() == content
    assert connect("claude-desktop", "--remove").stderr.startswith(
        "Claude Desktop is not connected"
    )
    tried = connect("claude-desktop", "--clean", "--dry-run")
    assert "Taken out of the file, since Claude Desktop cannot read it: a " in tried.stderr
    assert desktop.read_bytes() == content
    done = connect("claude-desktop", "--clean")
    assert "Taken out of the file" in done.stderr
    assert "Claude Desktop is connected. The former file is" in done.stderr
    assert list(json.loads(desktop.read_bytes())["mcpServers"]) == ["kiln", "infinite-memory"]
    (copy,) = desktop.parent.glob("*.bak")
    assert copy.read_bytes() == content
    again = connect("claude-desktop", "--clean", "--json")
    assert json.loads(again.stdout)["removed"] == []
    assert "connected already" in connect("claude-desktop").stderr


def test_the_file_of_hooks_is_of_the_same_kind(desktop: Path, tmp_path: Path) -> None:
    settings = tmp_path / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "opus", // mine\n}')
    refused = connect("claude-code", code=3)
    assert "a comment in line 1 and a comma before a closing bracket in line 1" in refused.stderr
    assert not (tmp_path / ".claude.json").exists()
    connect("claude-code", "--clean")
    assert json.loads(settings.read_text())["model"] == "opus"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('{"a": "// no, }", "b": 1}', '{"a": "// no, }", "b": 1}'),
        ('{\r\n  // x\r\n  "a": 1, // y\r\n}\r\n', '{\r\n  "a": 1\r\n}\r\n'),
        ("/* a\n b */\n{}", "{}"),
        ('{"a": [1,\n 2,\n],}', '{"a": [1,\n 2\n]}'),
    ],
)
def test_extras_are_taken_out_and_nothing_else(text: str, clean: str) -> None:
    assert remove_extras(text, set(Extra)) == clean
    assert bool(list(find_extras(text))) == (text != clean)
