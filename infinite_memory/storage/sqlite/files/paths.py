"""The names of the files of a store."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from attrs import frozen


@frozen
class Places:
    """The files of the store in `folder`."""

    folder: Path

    @cached_property
    def database(self) -> Path:
        """The database itself."""
        return self.folder / "memory.db"

    @property
    def log(self) -> Path:
        """The write-ahead log, whose name SQLite chooses."""
        return self.folder / "memory.db-wal"

    @property
    def size_bytes(self) -> int:
        """The present size of the database and its log."""
        log = self.log
        return self.database.stat().st_size + (log.stat().st_size if log.exists() else 0)

    @property
    def marker(self) -> Path:
        """The file that marks the folder as a store, with the identity of the store."""
        return self.folder / "memory.db.marker"

    @property
    def lock(self) -> Path:
        """The file that writers lock."""
        return self.folder / "store.lock"

    @property
    def scrub_due(self) -> Path:
        """The file that notes that erased bytes may still be in the database or its log."""
        return self.folder / "store.scrub"

    @property
    def reserve(self) -> Path:
        """The file that reserves space for forgetting on a full disk."""
        return self.folder / "store.reserve"

    @property
    def copy_mark(self) -> Path:
        """The file that names the original if this store is a copy."""
        return self.folder / "memory.db.copy"

    @property
    def upkeep_lock(self) -> Path:
        """The file that the process locks which does the upkeep."""
        return self.folder / "store.upkeep.lock"

    @property
    def upkeep(self) -> Path:
        """The file with the number and the holder of the last lease, and the notes of the jobs."""
        return self.folder / "store.upkeep"

    @property
    def replacement(self) -> Path:
        """The folder in which a new content of the store is prepared."""
        return self.folder / "store.restoring"

    @property
    def replacement_lock(self) -> Path:
        """The file that a process locks while it prepares a new content."""
        return self.folder / "store.restoring.lock"
