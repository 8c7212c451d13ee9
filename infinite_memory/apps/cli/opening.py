"""Opens the store that a command works on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from infinite_memory.apps.cli.options import wanted_scopes, wanted_store, wants_json
from infinite_memory.apps.cli.output import remark
from infinite_memory.apps.cli.settings import load_settings, set_up
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.address import is_folder
from infinite_memory.core.values.messages import format_count
from infinite_memory.features.sessions.spool import FOLDER
from infinite_memory.store.memory_store import MemoryStore

if TYPE_CHECKING:
    import click


_DATABASE = "memory.db"
# A command takes in what hooks have noted for so long; the next command or server goes on.
_INGEST_SECONDS = 2.0


@contextmanager
def open_store(context: click.Context, *, ingests: bool = True) -> Iterator[MemoryStore]:
    """Open the store that the settings name, for the scopes of --scopes, and close it at the end.

    What hooks have noted is taken in before, unless `ingests` is False or --store names a store
    that is not that of the home folder.

    Raises:
        InvalidInput: a name in --scopes cannot be used.
        ConfigurationError: a setting cannot be used.
        StorageError: the store cannot be opened.
    """
    with MemoryStore.open(
        config=set_up(context),
        client="infinite-memory",
        scopes=wanted_scopes(context),
        project=".",
    ) as store:
        if ingests and wanted_store(context) is None:
            _ingest_notes(store, quiet=wants_json(context))
        yield store


def _ingest_notes(store: MemoryStore, *, quiet: bool) -> None:
    """Take in the notes of hooks; a failure does not fail the command."""
    if not (store.config.home / FOLDER).exists():  # no hook has noted anything
        return
    from infinite_memory.features.sessions.spool_reader import Spool

    if Spool(store.config.home).is_empty:  # so that nothing that reads sessions is loaded
        return
    group = store.conversations  # loads modules, which may take longer than the limit
    deadline = time.monotonic() + _INGEST_SECONDS
    try:
        ingested = group.ingest_spool(stop=lambda: time.monotonic() > deadline)
    except (InfiniteMemoryError, OSError) as error:
        remark(f"What hooks have noted was not taken in: {error}.")
        return
    if ingested.messages and not quiet:
        messages = format_count(ingested.messages, "message")
        conversations = format_count(ingested.conversations, "conversation")
        masked = format_count(sum(ingested.masked.values()), "secret")
        rest = f" {masked} in them are masked." if ingested.masked else ""
        remark(f"Took in {messages} of {conversations} that hooks had noted.{rest}")


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
