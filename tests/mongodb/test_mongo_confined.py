"""A storage on MongoDB that is confined to some scopes keeps the contract for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confined_contract import PATTERNS, SCOPES, ConfinedContract
from confined_lives import Life, compare, open_sides
from mongo_servers import Deployment

from infinite_memory.core.protocols import Storage
from infinite_memory.storage.confined import ConfinedStorage
from infinite_memory.storage.mongodb import open_mongodb

pytestmark = pytest.mark.slow("mongodb")


class TestConfinedMongoStorage(ConfinedContract):
    addresses: dict[str, str]

    @pytest.fixture(autouse=True)
    def _prepared(self, either: Deployment, home: Path) -> Iterator[None]:
        # By folder, and a plain value, so that a child process can open it as well.
        self.addresses = {str(home): either.address_of(home)}
        self.orders_later = either.orders_later  # type: ignore[misc]
        yield
        either.drop(home)

    def open(self, home: Path) -> Storage:
        return ConfinedStorage(open_mongodb(self.addresses[str(home)]), SCOPES)


class TestMongoStorageConfinedByPatterns(TestConfinedMongoStorage):
    def open(self, home: Path) -> Storage:
        return ConfinedStorage(open_mongodb(self.addresses[str(home)]), PATTERNS)


def test_a_handle_answers_by_the_shared_index_as_a_store_of_its_scopes_alone(
    either: Deployment, tmp_path: Path
) -> None:
    with (
        closing(open_mongodb(either.address_of(tmp_path))) as storage,
        open_sides(storage, tmp_path) as sides,
    ):
        life = Life(sides.store, seed=11)
        for _ in range(2):
            life.go_on(60)
            compare(sides)
    either.drop(tmp_path)
