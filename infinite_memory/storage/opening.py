"""From the address of a store to the backend that keeps it."""

from __future__ import annotations

from pathlib import Path

from infinite_memory.errors import ConfigurationError
from infinite_memory.protocols import Storage
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.storage.sqlite.storage import SqliteStorage

__all__ = ["IN_MEMORY", "open_storage"]

IN_MEMORY = "memory://"


def open_storage(address: str) -> Storage:
    """Open the storage at `address`: a folder, or "memory://".

    Raises:
        ConfigurationError: no backend serves addresses of that form.
        StorageError: the database cannot be opened; nothing was changed.
    """
    if address == IN_MEMORY:
        return InMemoryStorage()
    if "://" in address:
        scheme = address.split("://")[0]
        raise ConfigurationError(
            f"no store can be opened at {scheme!r:.40}://...: give a folder, or {IN_MEMORY}"
        )
    return SqliteStorage.open(Path(address))
