"""Fixtures of the tests of project memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from checkouts import REPOSITORY, git

from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as opened:
        yield opened


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
