"""Opens the backend that the address of a store names, and loads no other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from infinite_memory.core.config import Config, load
from infinite_memory.core.errors import ConfigurationError, StorageError
from infinite_memory.core.paths import absolute_path
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.address import (
    IN_MEMORY,
    MANAGED,
    MONGODB_SCHEMES,
    Address,
    find_problem,
    is_folder,
)
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.storage.sqlite.files.paths import Places

if TYPE_CHECKING:
    from infinite_memory.storage.sqlite.replacement import DamagedReplacement


def address_of(config: Config) -> str:
    """Return the address of the store that is configured."""
    return config.store or (MANAGED if config.storage == "managed" else str(config.home))


def open_storage(address: str, *, home: Path, mongod: Path | None = None) -> Storage:
    """Open the storage at `address`.

    The address is a folder, "memory://", the address of a MongoDB server, or "mongodb+managed://"
    for a server that this package runs with its data in `home`. `mongod` is the program of that
    server; None searches for it.

    Raises:
        ConfigurationError: no backend serves the address, or its backend cannot be used.
        StorageError: the database cannot be opened; nothing was changed.
    """
    _refuse_unserved(address)
    if is_folder(address):
        from infinite_memory.storage.sqlite import SqliteStorage

        return SqliteStorage.open(Path(address))
    if address == IN_MEMORY:
        from infinite_memory.storage.inmemory import InMemoryStorage

        return InMemoryStorage()
    if address == MANAGED:
        from infinite_memory.storage.mongodb.managed import open_managed

        return open_managed(home, mongod=mongod)
    from infinite_memory.storage.mongodb import open_mongodb

    return open_mongodb(address)


def open_existing(address: str, *, home: Path, mongod: Path | None = None) -> Storage | None:
    """Open the storage at `address` as `open_storage` does, but return None where there is none.

    Raises:
        ConfigurationError: no backend serves the address, or its backend cannot be used.
        StorageError: the database cannot be opened; nothing was changed.
    """
    _refuse_unserved(address)
    if address == MANAGED:
        from infinite_memory.storage.mongodb.managed import open_existing_managed

        return open_existing_managed(home, mongod=mongod)
    if address.startswith(MONGODB_SCHEMES):
        from infinite_memory.storage.mongodb import open_existing_mongodb

        return open_existing_mongodb(address)
    if is_folder(address) and not Places(Path(address)).database.exists():
        return None
    return open_storage(address, home=home, mongod=mongod)


def marked_identity(address: str) -> str | None:
    """Return the identity of the store at `address` as a file beside it says, None if none does."""
    from infinite_memory.storage.sqlite.files.marker import read_marker

    try:
        return read_marker(Places(Path(address)).marker) if is_folder(address) else None
    except StorageError:
        return None


@contextmanager
def replacing_damaged(address: str) -> Iterator[DamagedReplacement]:
    """Give a new store that can take the place of the damaged one in the folder `address`.

    Raises:
        StorageUnavailable: the folder cannot be used, or another process restores into it.
    """
    from infinite_memory.storage.sqlite import SqliteStorage
    from infinite_memory.storage.sqlite.replacement import prepare_in_place

    with prepare_in_place(Places(Path(address)), SqliteStorage.open) as replacement:
        yield replacement


def diagnose_unopened(
    address: str, *, home: Path, mongod: Path | None = None
) -> Iterator[Diagnosis]:
    """Yield the diagnoses of the store at `address` that need no open store.

    The first diagnosis that is not OK is the last.

    Raises:
        ConfigurationError: the backend cannot be used.
        StorageError: the store cannot be kept at `address`, or its files are suspect.
    """
    if is_folder(address):
        from infinite_memory.storage.sqlite.files.diagnose import diagnose_files

        yield from diagnose_files(Path(address))
    elif address == MANAGED:
        from infinite_memory.storage.mongodb.managed.binary import find_mongod

        yield Diagnosis(
            "mongod",
            State.OK,
            f"{find_mongod(mongod)} keeps the store of {home}; unless it was running, this check"
            " starts and stops it.",
        )


@frozen(kw_only=True)
class Place:
    """Where a store is: its backend, and the folder of its files on this machine, None for none.

    `is_own` is true if no other store has its files in that folder.
    """

    backend: str = "custom"
    folder: Path | None = None
    is_own: bool = False


def describe_place(address: str, *, home: Path) -> Place:
    """Return where the store at `address` is."""
    if is_folder(address):
        return Place(backend="sqlite", folder=Path(address), is_own=True)
    if address == IN_MEMORY:
        return Place(backend="memory")
    return Place(backend="mongodb", folder=home)


def snapshot_folder(address: str, storage: Storage, *, home: Path) -> Path | None:
    """Return the folder of the search index of the store at `address`, None where it has none.

    A store in a folder keeps its index in that folder. The index of any other store is in `home`,
    under the identity of the store. A store in memory keeps no index on disk.
    """
    if is_folder(address):
        return Path(address) / "index"
    return None if address == IN_MEMORY else home / "index" / storage.identity


def resolve(target: str | os.PathLike[str] | None, config: Config | None) -> tuple[Config, str]:
    """Return the configuration in force and the address of the store, with an absolute folder.

    Raises:
        ConfigurationError: `target` looks like an address that no backend serves.
    """
    address = None if target is None else os.fspath(target)
    if address == "":
        raise ConfigurationError(
            "the store '' is not a folder: give a folder, or None for the home folder"
        )
    if address is not None:
        _refuse_unserved(address)
    if config is None:
        home = address if address is not None and is_folder(address) else None
        config = load(home=None if home is None else _resolve_folder(home)).config
    address = address or address_of(config)
    return config, _resolve_folder(address) if is_folder(address) else Address(address)


def _refuse_unserved(address: str) -> None:
    if problem := find_problem(address):
        raise ConfigurationError(f"the store {problem}")


def _resolve_folder(path: str) -> str:
    return str(absolute_path(path))
