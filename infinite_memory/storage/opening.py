"""From the address of a store to the backend that keeps it."""

from __future__ import annotations

import os
from pathlib import Path

from infinite_memory.config import Config, load
from infinite_memory.errors import ConfigurationError
from infinite_memory.protocols import Storage
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.storage.sqlite.places import Places
from infinite_memory.storage.sqlite.storage import SqliteStorage

__all__ = [
    "IN_MEMORY",
    "MANAGED",
    "address_of",
    "is_folder",
    "open_existing",
    "open_storage",
    "resolve",
    "snapshot_folder",
]

IN_MEMORY = "memory://"
MANAGED = "mongodb+managed://"
_MONGODB = ("mongodb://", "mongodb+srv://")


def is_folder(address: str) -> bool:
    """Tell whether an address is that of a folder, which SQLite keeps."""
    return "://" not in address


def address_of(config: Config) -> str:
    """Return the address of the store that is configured."""
    return config.store or (MANAGED if config.storage == "managed" else str(config.home))


def open_storage(address: str, *, home: Path, mongod: Path | None = None) -> Storage:
    """Open the storage at `address`.

    That is a folder, "memory://", the address of a MongoDB, or "mongodb+managed://" for one that is
    kept in `home` by the program `mongod`, None for the one that is found.

    Raises:
        ConfigurationError: no backend serves addresses of that form, or this one cannot be used.
        StorageError: the database cannot be opened; nothing was changed.
    """
    if is_folder(address):
        return SqliteStorage.open(Path(address))
    if address == IN_MEMORY:
        return InMemoryStorage()
    # The driver takes a tenth of a second to import, and most stores do without.
    if address == MANAGED:
        from infinite_memory.storage.mongodb.managed import open_managed  # noqa: PLC0415

        return open_managed(home, mongod=mongod)
    if address.startswith(_MONGODB):
        from infinite_memory.storage.mongodb import MongoStorage  # noqa: PLC0415

        return MongoStorage.open(address)
    scheme = address.split("://")[0]
    raise ConfigurationError(
        f"no store can be opened at {scheme!r:.40}://...: give a folder, {IN_MEMORY}, "
        f"mongodb://HOST/DATABASE, or {MANAGED}"
    )


def open_existing(address: str, *, home: Path, mongod: Path | None = None) -> Storage | None:
    """Open the storage at `address` as `open_storage` does, but return None where there is none.

    Raises:
        ConfigurationError: no backend serves addresses of that form, or this one cannot be used.
        StorageError: the database cannot be opened; nothing was changed.
    """
    if address == MANAGED:
        from infinite_memory.storage.mongodb.managed import open_existing_managed  # noqa: PLC0415

        return open_existing_managed(home, mongod=mongod)
    if address.startswith(_MONGODB):
        from infinite_memory.storage.mongodb import MongoStorage  # noqa: PLC0415

        return MongoStorage.open_existing(address)
    if is_folder(address) and not Places(Path(address)).database.exists():
        return None
    return open_storage(address, home=home, mongod=mongod)


def snapshot_folder(address: str, storage: Storage, *, home: Path) -> Path | None:
    """Return where the index of the store at `address` is kept, None where it is not.

    Beside a store in a folder; otherwise in `home`, by the identity of the store.
    """
    if is_folder(address):
        return Path(address) / "index"
    return None if address == IN_MEMORY else home / "index" / storage.identity


def resolve(target: str | os.PathLike[str] | None, config: Config | None) -> tuple[Config, str]:
    """Return the configuration in force and the address of the store, a folder being absolute."""
    address = None if target is None else os.fspath(target)
    if address == "":
        raise ConfigurationError("the store '' is no folder: give one, or None for the home folder")
    if config is None:
        home = address if address is not None and "://" not in address else None
        config = load(home=None if home is None else _folder(home)).config
    address = address or address_of(config)
    return config, address if "://" in address else _folder(address)


def _folder(path: str) -> str:
    return str(Path(path).expanduser().absolute())
