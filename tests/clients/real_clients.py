"""Installs real clients for the tests, once, into the cache folder of the user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from infinite_memory.files.locks import FileLock

__all__ = ["PACKAGES", "RealClients", "install_clients"]

# What ran when the fixtures were made.
PACKAGES = {
    "@anthropic-ai/claude-code": "2.1.197",
    "@openai/codex": "0.169.0",
    "@google/gemini-cli": "0.61.0",
    "@anthropic-ai/mcpb": "2.1.2",
}
MIN_NODE = 20
INSTALL_SECONDS = 900


class RealClients:
    """Commands of the clients, run for a user whose home folder is in a folder of the test."""

    def __init__(self, commands: Path, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self._commands = commands
        for path in (self.home, self.project):
            path.mkdir()

    def run(self, *command: str, **environment: str) -> str:
        """Run a command in the project with nothing but this environment; return its output."""
        node = Path(str(shutil.which("node"))).parent
        path = os.pathsep.join(map(str, (self._commands, node, "/usr/bin", "/bin")))
        done = subprocess.run(
            command,
            cwd=self.project,
            env={"HOME": str(self.home), "PATH": path, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def install_clients() -> Path:
    """Return the folder of the clients' commands, after installing them if they are not there."""
    _require_node()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "infinite-memory-tests" / "real-clients"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "install.lock")
    assert lock.acquire(INSTALL_SECONDS)
    try:
        note = folder / "installed.json"
        if not note.exists() or json.loads(note.read_text()) != PACKAGES:
            note.unlink(missing_ok=True)
            _install(folder, PACKAGES)
            note.write_text(json.dumps(PACKAGES))
    finally:
        lock.release()
    return folder / "node_modules" / ".bin"


def _require_node() -> None:
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("the real clients need node and npm, which are not installed")
    said = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    if int(said.strip().removeprefix("v").partition(".")[0] or 0) < MIN_NODE:
        pytest.skip(f"the real clients need node {MIN_NODE} or newer, and this is {said.strip()}")


def _install(folder: Path, packages: Mapping[str, str]) -> None:
    wanted = [f"{name}@{version}" for name, version in packages.items()]
    options = ["--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts"]
    done = _run(["npm", "install", *options, *wanted])
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["npm said nothing"])[-1]
        pytest.skip(f"npm cannot install the real clients here: {last}")
    # The only script that is needed: it puts the program of the platform in its place.
    script = folder / "node_modules" / "@anthropic-ai" / "claude-code" / "install.cjs"
    assert _run(["node", str(script)]).returncode == 0


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
