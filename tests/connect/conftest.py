"""A machine of a test: its folders, its environment, and the clients that are found on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.platform import Platform

MakePlatform = Callable[..., Platform]
COMMAND = "/opt/memory/bin/infinite-memory-mcp"


@pytest.fixture
def make_platform(tmp_path: Path) -> MakePlatform:
    """Make a machine with a home folder and a project of its own."""

    def make(system: str = "linux", **environment: str) -> Platform:
        for name in ("home", "project"):
            (tmp_path / name).mkdir(exist_ok=True)
        return Platform(
            system=system,
            user_home=tmp_path / "home",
            folder=tmp_path / "project",
            environment={"PATH": str(tmp_path / "bin"), **environment},
        )

    return make


@pytest.fixture
def platform(make_platform: MakePlatform) -> Platform:
    return make_platform()


@pytest.fixture
def entry() -> ServerEntry:
    return ServerEntry(command=COMMAND, args=("--home", "/home/alice/memory"))
