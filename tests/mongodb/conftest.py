from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest
from managed_processes import left_over, servers
from mongo_servers import Deployment, deployment, scratch

# Imported once, and not by each of some hundred processes.
get_context("forkserver").set_forkserver_preload(
    ["infinite_memory.storage.mongodb", "infinite_memory.testing.storage_contract"]
)


@pytest.fixture(scope="session")
def single() -> Iterator[Deployment]:
    with deployment(1) as found:
        yield found


@pytest.fixture(scope="session")
def partitioned(single: Deployment) -> Deployment:
    return single.partitioned


@pytest.fixture(scope="session", params=["one", "partitions"])
def either(request: pytest.FixtureRequest, single: Deployment) -> Deployment:
    """A replica set whose stores are created in one database, and one in several."""
    return single if request.param == "one" else single.partitioned


@pytest.fixture(scope="session")
def triple() -> Iterator[Deployment]:
    with deployment(3) as found:
        yield found


@pytest.fixture
def managed_home() -> Iterator[Path]:
    """A home folder with a short path, whose server is gone at the end of the test."""
    with scratch("im-") as folder:
        home = folder / "home"
        yield home
        found = left_over(home)
        for pid in servers(home):
            os.kill(pid, signal.SIGKILL)
        assert found == []
