"""Opens the store that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from infinite_memory.cli.options import wanted_scopes
from infinite_memory.cli.settings import load_settings, set_up
from infinite_memory.model.address import is_folder
from infinite_memory.store import MemoryStore

__all__ = ["open_local_store", "open_store"]

_DATABASE = "memory.db"


@contextmanager
def open_store(context: click.Context) -> Iterator[MemoryStore]:
    """Open the store that the settings name, for the scopes of --scopes, and close it at the end.

    Raises:
        InvalidInput: a name in --scopes cannot be used.
        ConfigurationError: a setting cannot be used.
        StorageError: the store cannot be opened.
    """
    with MemoryStore.open(
        config=set_up(context), client="infinite-memory", scopes=wanted_scopes(context)
    ) as store:
        yield store


@contextmanager
def open_local_store(context: click.Context) -> Iterator[MemoryStore | None]:
    """Open the store that the settings name if it is in a folder and exists; yield None otherwise.

    Nothing is created, no recall is counted, and no server is asked.

    Raises:
        InfiniteMemoryError: as `open_store`.
    """
    config = load_settings(context).config
    address = config.store or str(config.home)
    is_local = config.storage != "managed" and is_folder(address)
    if not is_local or not (Path(address) / _DATABASE).is_file():
        yield None
        return
    with MemoryStore.open(
        config=config, counts_usage=False, scopes=wanted_scopes(context)
    ) as store:
        yield store
