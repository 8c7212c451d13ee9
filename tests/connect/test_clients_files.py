"""The file of a client on good and bad days: whatever happens, nothing of it is lost."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import infinite_memory.apps.connect.config_file
from infinite_memory.apps.connect.catalog import get_client
from infinite_memory.apps.connect.connecting import apply_change, plan_change, read_status
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.core.errors import ConfigurationError

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
CURSOR = get_client("cursor")
FILE = '{"mcpServers": {"other": {"command": "x"}}}\n'


@pytest.fixture
def path(platform: Platform) -> Path:
    file = platform.user_home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    return file


def connect(platform: Platform, entry: ServerEntry | None) -> Path | None:
    return apply_change(CURSOR, platform, entry, now=NOW).backup


def servers(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_bytes())["mcpServers"]
    return found


def test_a_file_is_made_with_its_folder_for_the_user_alone(
    platform: Platform, entry: ServerEntry
) -> None:
    path = platform.user_home / ".cursor" / "mcp.json"
    assert connect(platform, entry) is None
    assert list(servers(path)) == ["infinite-memory"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_the_former_file_is_kept_beside_the_new_one(
    platform: Platform, entry: ServerEntry, path: Path
) -> None:
    path.write_text(FILE)
    path.chmod(0o640)
    backup = connect(platform, entry)
    assert backup == path.with_name("mcp.json.20260501T120000.bak")
    assert backup.read_text() == FILE
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(servers(path)) == ["other", "infinite-memory"]
    again = connect(platform, None)
    assert again == path.with_name("mcp.json.20260501T120000-2.bak")
    assert path.read_text() == FILE


def test_what_is_connected_already_is_not_written_again(
    platform: Platform, entry: ServerEntry, path: Path
) -> None:
    connect(platform, entry)
    before = path.stat()
    assert connect(platform, entry) is None
    assert path.stat() == before
    assert connect(platform, None) is not None
    assert connect(platform, None) is None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{not json", "line 1, column 2.* is not changed"),
        (b'{"mcpServers": []}', "mcpServers is list"),
        (b'{"mcpServers": null}', "mcpServers is NoneType"),
        (b"[]", "no JSON object"),
        ('{"a": "ä"}'.encode("utf-16"), "no text in UTF-8"),
        (b'{"a": "\xff"}', "no text in UTF-8"),
        (b'{"mcpServers": {"a": 1}, "mcpServers": {"b": 2}', "line 1"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_stays(
    platform: Platform, entry: ServerEntry, path: Path, content: bytes, sentence: str
) -> None:
    path.write_bytes(content)
    for wanted in (entry, None):
        with pytest.raises(ConfigurationError, match=sentence) as caught:
            connect(platform, wanted)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]
    assert read_status(CURSOR, platform, entry).problem is not None or b"mcpServers" in content


def test_a_file_that_holds_its_servers_twice_is_changed_where_it_counts(
    platform: Platform, entry: ServerEntry, path: Path
) -> None:
    path.write_text('{"mcpServers": {"a": 1}, "mcpServers": {"b": 2}}')
    connect(platform, entry)
    assert list(servers(path)) == ["b", "infinite-memory"]
    assert '{"a": 1}' in path.read_text()


def test_a_byte_order_mark_and_windows_line_ends_stay(
    platform: Platform, entry: ServerEntry, path: Path
) -> None:
    before = b'\xef\xbb\xbf{\r\n\t"mcpServers": {\r\n\t\t"other": {}\r\n\t}\r\n}\r\n'
    path.write_bytes(before)
    connect(platform, entry)
    content = path.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf{\r\n")
    assert b"\n" not in content.replace(b"\r\n", b"")
    assert b'\r\n\t\t"infinite-memory": {\r\n\t\t\t"type"' in content
    connect(platform, None)
    assert path.read_bytes() == before


def test_a_link_stays_a_link_and_its_target_is_changed(
    platform: Platform, entry: ServerEntry, path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "dotfiles" / "cursor.json"
    target.parent.mkdir()
    target.write_text(FILE)
    path.symlink_to(target)
    backup = connect(platform, entry)
    assert path.is_symlink()
    assert list(servers(target)) == ["other", "infinite-memory"]
    assert backup is not None
    assert backup.parent == target.parent


def test_a_link_to_a_file_that_is_not_there_yet_leads_to_a_new_file(
    platform: Platform, entry: ServerEntry, path: Path, tmp_path: Path
) -> None:
    path.symlink_to(tmp_path / "later" / "mcp.json")
    connect(platform, entry)
    assert path.is_symlink()
    assert list(servers(tmp_path / "later" / "mcp.json")) == ["infinite-memory"]


def test_a_link_in_a_circle_a_folder_and_a_file_in_place_of_the_folder_are_refused(
    platform: Platform, entry: ServerEntry, path: Path
) -> None:
    path.symlink_to(path)
    with pytest.raises(ConfigurationError, match=r"mcp\.json cannot be read"):
        connect(platform, entry)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigurationError, match=r"mcp\.json cannot be read"):
        connect(platform, entry)
    path.rmdir()
    path.parent.rmdir()
    path.parent.write_text("a file")
    with pytest.raises(ConfigurationError, match=r"mcp\.json cannot be"):
        connect(platform, entry)
    assert path.parent.read_text() == "a file"


def test_a_read_only_file_is_refused_with_what_to_do(
    platform: Platform, entry: ServerEntry, path: Path
) -> None:
    path.write_text(FILE)
    path.chmod(0o444)
    with pytest.raises(ConfigurationError, match=r"is read-only: make it writable \(`chmod u\+w`"):
        connect(platform, entry)
    assert path.read_text() == FILE
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_refused(platform: Platform, entry: ServerEntry, path: Path) -> None:
    path.write_text(FILE)
    path.parent.chmod(0o500)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        connect(platform, entry)
    assert path.read_text() == FILE


@pytest.mark.thorough
def test_a_file_of_many_megabytes_is_changed_like_any_other(
    platform: Platform, entry: ServerEntry, path: Path
) -> None:
    history = {f"https://example.org/{n}": ["x" * 60, {"n": n}] for n in range(110_000)}
    path.write_text(json.dumps({"history": history, "mcpServers": {"other": {}}}, indent=1))
    assert path.stat().st_size > 14_000_000
    connect(platform, entry)
    assert list(servers(path)) == ["other", "infinite-memory"]
    assert json.loads(path.read_bytes())["history"] == history


def test_a_file_that_is_larger_than_any_client_writes_is_refused(
    platform: Platform, entry: ServerEntry, path: Path
) -> None:
    with path.open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(ConfigurationError, match="more than 16 MiB"):
        connect(platform, entry)


@pytest.mark.parametrize("times", [2, 99])
def test_a_file_that_changes_meanwhile_is_read_again_or_refused(
    platform: Platform,
    entry: ServerEntry,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
) -> None:
    path.write_text(FILE)
    write = infinite_memory.apps.connect.config_file.write_atomically
    left = iter(range(times))

    def interfere(*arguments: object, **options: object) -> None:
        number = next(left, None)
        if number is not None:
            path.write_text(FILE.replace("other", f"other{number}"))
        write(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(infinite_memory.apps.connect.config_file, "write_atomically", interfere)
    if times == 2:
        connect(platform, entry)
        assert list(servers(path)) == ["other1", "infinite-memory"]
    else:
        with pytest.raises(ConfigurationError, match="keeps changing"):
            connect(platform, entry)
        assert list(servers(path)) == ["other2"]
    assert len(list(path.parent.iterdir())) == (2 if times == 2 else 1)


PROGRAM = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from infinite_memory.apps.connect.catalog import get_client
from infinite_memory.apps.connect.connecting import apply_change
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.platform import Platform
home, name, number = sys.argv[1:]
platform = Platform(system="linux", user_home=Path(home), folder=Path(home))
for step in range(15):
    entry = ServerEntry(command=f"/{number}/{step}") if step % 5 else None
    apply_change(get_client(name), platform, entry, now=datetime.now(UTC))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_any_number_of_processes_may_connect_at_once(
    platform: Platform, path: Path, name: str
) -> None:
    codex = platform.user_home / ".codex" / "config.toml"
    codex.parent.mkdir()
    codex.write_text('# mine\n[mcp_servers.other]\ncommand = "x"\n')
    path.write_text(FILE)
    command = [sys.executable, "-c", PROGRAM, str(platform.user_home), name]
    running = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    while any(process.poll() is None for process in running):
        # Whoever reads meanwhile sees a whole file.
        status = read_status(get_client(name), platform, None)
        assert status.problem is None
        time.sleep(0.01)
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    assert '"other"' in path.read_text()
    assert "# mine" in codex.read_text()
    leftovers = [file for file in path.parent.iterdir() if file.name.endswith(".new")]
    assert leftovers == []
    plan = plan_change(get_client(name), platform, ServerEntry(command="/x"))
    assert "other" in plan.new_text


@pytest.mark.parametrize(
    ("former", "after"),
    [
        (
            {"command": "/old", "args": ["-v"], "env": {"K": "v"}, "disabled": True},
            {"command": "/new", "args": [], "env": {"K": "v"}, "disabled": True, "type": "stdio"},
        ),
        (
            {"url": "http://x", "headers": {"a": "b"}},
            {"type": "stdio", "command": "/new", "args": []},  # headers may hold a key
        ),
    ],
)
def test_settings_that_the_person_made_in_the_entry_stay(
    platform: Platform, path: Path, former: dict[str, object], after: dict[str, object]
) -> None:
    path.write_text(json.dumps({"mcpServers": {"infinite-memory": former}}))
    connect(platform, ServerEntry(command="/new"))
    assert servers(path)["infinite-memory"] == after
    connect(platform, ServerEntry(url="http://127.0.0.1:1/mcp"))
    entry = servers(path)["infinite-memory"]
    assert isinstance(entry, dict)
    assert entry["url"] == "http://127.0.0.1:1/mcp"
    assert "command" not in entry
