"""Fixtures of the tests of project memory."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

REPOSITORY = "github.com/octo/apollo"
SCOPE = f"repo/{REPOSITORY}"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as opened:
        yield opened


def git(folder: Path, *arguments: str) -> str:
    """Run git with a fixed author and without the configuration of the user."""
    environment = {
        "PATH": "/usr/bin:/bin:/usr/local/bin",
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
    }
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of the repository with two committed files."""
    folder = tmp_path / "apollo"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "remote", "add", "origin", f"git@{REPOSITORY.replace('/', ':', 1)}.git")
    (folder / "src" / "app.py").write_text("print('one')\n")
    (folder / "README.md").write_text("Apollo\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder
