"""A confined storage keeps the contract of every storage, for the scopes that it has."""

from __future__ import annotations

from pathlib import Path

from confined_contract import PATTERNS, SCOPES, ConfinedContract

from infinite_memory.core.protocols import Storage
from infinite_memory.storage.confined import ConfinedStorage
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage


class TestConfinedInMemoryStorage(ConfinedContract):
    shared = False

    def open(self, home: Path) -> Storage:  # noqa: ARG002 -- nothing is on disk
        return ConfinedStorage(InMemoryStorage(), SCOPES)


class TestConfinedSqliteStorage(ConfinedContract):
    shared = True

    def open(self, home: Path) -> Storage:
        return ConfinedStorage(SqliteStorage.open(home), SCOPES)


class TestSqliteStorageConfinedByPatterns(ConfinedContract):
    shared = True

    def open(self, home: Path) -> Storage:
        return ConfinedStorage(SqliteStorage.open(home), PATTERNS)
