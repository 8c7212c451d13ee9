"""Installs real clients for the tests, once, into the cache folder of the user."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.harness.node_packages import NodePrograms, install_programs

# What ran when the fixtures were made.
PACKAGES = {
    "@anthropic-ai/claude-code": "2.1.197",
    "@openai/codex": "0.169.0",
    "@google/gemini-cli": "0.61.0",
    "@anthropic-ai/mcpb": "2.1.2",
}


class RealClients:
    """Commands of the clients, run for a user whose home folder is in a folder of the test."""

    def __init__(self, programs: NodePrograms, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self._path = programs.path()
        for path in (self.home, self.project):
            path.mkdir()

    def run(self, *command: str, **environment: str) -> str:
        """Run a command in the project with nothing but this environment; return its output."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env={"HOME": str(self.home), "PATH": self._path, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def install_clients() -> NodePrograms:
    """Return the clients' commands, after installing them if they are not there."""
    return install_programs(
        "real-clients",
        PACKAGES,
        min_node=(20, 0),
        # The only script that is needed: it puts the program of the platform in its place.
        scripts=["@anthropic-ai/claude-code/install.cjs"],
    )
