"""Opens the store that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from infinite_memory.cli.options import wanted_scopes
from infinite_memory.cli.settings import set_up
from infinite_memory.store import MemoryStore

__all__ = ["open_store"]


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
