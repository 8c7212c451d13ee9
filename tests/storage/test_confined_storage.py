"""A confined storage keeps the contract of every storage, for the scopes that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_memory.protocols import Storage
from infinite_memory.storage.confined import ConfinedStorage
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract import StorageContract

# Every scope that a test of the contract uses.
SCOPES = (
    "Global",
    "apollo",
    "child",
    "never was",
    "new",
    "other",
    "p",
    "s",
    "Straße",
    "t",
    "Älpli 🏔",
)


class _ConfinedContract(StorageContract):
    @pytest.fixture(autouse=True)
    def pass_over(self, request: pytest.FixtureRequest) -> None:
        """Leave out the tests of what a confined storage promises otherwise, each for a reason."""
        other = {
            "test_entries_are_numbered_and_chained": (
                "entries that touch nothing are not shown, and the others are not chained"
            ),
            "test_an_action_comes_back_as_it_was": "its entry is about memories that are not there",
            "test_an_entry_with_another_number_than_the_expected_is_a_conflict": (
                "a number cannot be asked for, since others share them"
            ),
            "test_entries_are_read_page_by_page_and_by_memory": (
                "its entries are about memories that are not there"
            ),
            "test_another_handle_goes_on_with_the_chain": (
                "its entries are about memories that are not there"
            ),
        }
        reason = other.get(request.node.originalname)
        if reason is not None:
            pytest.skip(reason)


class TestConfinedInMemoryStorage(_ConfinedContract):
    shared = False

    def open(self, home: Path) -> Storage:  # noqa: ARG002 -- nothing is on disk
        return ConfinedStorage(InMemoryStorage(), SCOPES)


class TestConfinedSqliteStorage(_ConfinedContract):
    shared = True

    def open(self, home: Path) -> Storage:
        return ConfinedStorage(SqliteStorage.open(home), SCOPES)
