"""The contract of a storage on replica sets of one and of three members, and in partitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from mongo_servers import Deployment

from infinite_memory.core.protocols import Storage
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.testing.storage_contract import StorageContract
from infinite_memory.testing.storage_machine import Opener, storage_machine
from tests.harness.store_machine import store_machine

_DEPLOYMENTS = ["single", "partitioned", "triple"]


# A set of three costs three servers to each process of tests.
_SLOW = {
    "partitioned": [pytest.mark.slow("mongodb")],
    "triple": [pytest.mark.slow("mongodb-endurance")],
}


@pytest.fixture(params=[pytest.param(name, marks=_SLOW.get(name, ())) for name in _DEPLOYMENTS])
def servers(request: pytest.FixtureRequest) -> Deployment:
    found: Deployment = request.getfixturevalue(request.param)
    return found


class TestMongoStorage(StorageContract):
    addresses: dict[str, str]

    @pytest.fixture(autouse=True)
    def _prepared(self, servers: Deployment, home: Path) -> Iterator[None]:
        # By folder, and a plain value, so that a child process can open it as well.
        self.addresses = {str(home): servers.address_of(home)}
        self.orders_later = servers.orders_later  # type: ignore[misc]
        yield
        servers.drop(home)

    def open(self, home: Path) -> Storage:
        return open_mongodb(self.addresses[str(home)])


@pytest.fixture
def opener(servers: Deployment) -> Iterator[Opener]:
    homes: set[Path] = set()

    def open_one(home: Path) -> Storage:
        homes.add(home)
        return open_mongodb(servers.address_of(home))

    yield open_one
    for home in homes:
        servers.drop(home)


def test_any_walk_over_mongodb_ends_where_the_reference_does(
    opener: Opener, servers: Deployment
) -> None:
    walks = settings(max_examples=7, stateful_step_count=25, deadline=None)
    machine = storage_machine(opener, shared=True, orders_later=servers.orders_later)
    run_state_machine_as_test(machine, settings=walks)


def test_any_walk_over_a_store_on_mongodb_ends_where_the_model_does(opener: Opener) -> None:
    walks = settings(
        max_examples=6,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(store_machine(opener, shared=True), settings=walks)
