"""What most tests start from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("infinite_memory.testing", "tests.harness")
pytest_plugins = ["infinite_memory.testing.pytest_plugin"]

from infinite_memory import Config, MemoryStore  # noqa: E402
from infinite_memory.search.embedding import onnx  # noqa: E402
from infinite_memory.testing.embedders import HashingEmbedder  # noqa: E402
from tests import slow, tiers  # noqa: E402

# A machine that is busy for a moment is no fault of what is tested.
settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("unhurried")

# A model stays loaded once a test has used it, so that the next test need not load it again.
onnx._loaded = {}

OpenStore = Callable[..., MemoryStore]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow",
        metavar="GROUPS",
        help="run these groups of slow tests, joined by commas, or 'all', and no other test",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="run every test and row that is in no group of slow tests, not only the fast suite",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Sample the long tables in the fast suite."""
    if tiers.is_fast(metafunc.config):
        tiers.sample_tables(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the tier of this run leaves out."""
    try:
        chosen = tiers.choose_tests(items, config, slow.read_groups())
    except slow.SlowGroupsError as error:
        raise pytest.UsageError(str(error)) from error
    if left_out := list(set(items).difference(chosen)):
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


_processes = tiers.ProcessCount()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test of the fast suite that starts a process and is not marked so."""
    before = _processes.started
    yield
    if tiers.is_fast(item.config) and _processes.started > before:
        is_marked = item.get_closest_marker("process") or item.get_closest_marker("slow")
        assert is_marked, (
            "it starts a process: give it the mark thorough, or process; see tests/tiers.py"
        )


class SteppingClock:
    """A clock that goes on by one second each time it is read."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture(params=["memory", "sqlite"])
def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SteppingClock
) -> Iterator[OpenStore]:
    """Open stores of one backend with a quick embedder; on SQLite all share one folder."""
    opened: list[MemoryStore] = []

    def open_one(**settings: Any) -> MemoryStore:
        target = tmp_path / "home" if request.param == "sqlite" else "memory://"
        config = Config(home=tmp_path / "home", **settings)
        store = MemoryStore.open(target, config=config, embedder=HashingEmbedder(), clock=clock)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    return open_store()
