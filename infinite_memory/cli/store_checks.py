"""What the doctor looks at in the store: each check answers with findings and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from infinite_memory.cli.checks import Finding, State
from infinite_memory.cli.render import count, size
from infinite_memory.config import Config
from infinite_memory.embedding import configured_embedder
from infinite_memory.errors import EmbedderError, InfiniteMemoryError, StoreDamaged
from infinite_memory.model.address import masked
from infinite_memory.model.memory import Status
from infinite_memory.model.record import Size
from infinite_memory.operations.active_model import Models, former_of
from infinite_memory.protocols import Embedder, Storage
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.storage.open import (
    MANAGED,
    address_of,
    is_folder,
    open_existing,
    snapshot_folder,
)
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.connection import BUSY_SECONDS, connect_immutable
from infinite_memory.storage.sqlite.creation import Places
from infinite_memory.storage.sqlite.disk_reserve import RESERVE_BYTES
from infinite_memory.storage.sqlite.errors import storage_error
from infinite_memory.storage.sqlite.filesystem import check_surroundings
from infinite_memory.storage.sqlite.lock import WriterLock
from infinite_memory.storage.sqlite.preflight import inspect_store
from infinite_memory.storage.sqlite.schema import SCHEMA_VERSION

__all__ = ["check_store"]

_MOST_PENDING = 100_000


def check_store(config: Config) -> Iterator[Finding]:
    """Look at the store: its files, whether it opens, what waits to be embedded, its index.

    One that does not exist, or that opening would change, is not opened.
    """
    address = address_of(config)
    try:
        if is_folder(address):
            places = Places(Path(address))
            for finding in _check_files(places):
                yield finding
                if finding.state is not State.OK:
                    return
            if not places.database.exists():
                return
        elif address == MANAGED:
            yield _check_program(config)
        yield from _check_opened(config, address)
    except InfiniteMemoryError as error:
        yield Finding("store", State.PROBLEM, f"{error}.")


def _check_program(config: Config) -> Finding:
    """Look for the program of the managed server; the driver that comes with it loads late."""
    from infinite_memory.storage.mongodb.managed.binary import find_mongod

    program = find_mongod(config.mongod)
    return Finding(
        "mongod",
        State.OK,
        f"{program} keeps the store of {config.home}; unless that was running, it was started for "
        "this look, and stopped.",
    )


def _check_files(places: Places) -> Iterator[Finding]:
    """Look at the files of a store, without opening the database for writing."""
    check_surroundings(places.folder)
    yield Finding("surroundings", State.OK, f"A store can be kept in {places.folder}.")
    identity = _inspected(places)
    if identity is None:
        yield Finding("store", State.OK, f"There is no store in {places.folder} yet.")
        return
    missing = [path for path in (places.marker, places.lock) if not path.exists()]
    if missing:
        yield Finding(
            "store", State.WARNING, f"{missing[0]} is missing; opening the store makes it again."
        )
        return
    yield _check_version(places)
    yield _check_reserve(places)


def _inspected(places: Places) -> str | None:
    """Return the identity of the store; writers wait meanwhile, where there can be any."""
    try:
        if not places.lock.exists():
            return inspect_store(places, None)
        with WriterLock(places.lock, timeout_seconds=BUSY_SECONDS).held():
            return inspect_store(places, None)
    except apsw.Error as error:
        raise storage_error(error, places.database) from error


def _check_version(places: Places) -> Finding:
    try:
        connection = connect_immutable(places.database, vfs=None)
        try:
            version = connection.pragma("user_version")
        finally:
            connection.close()
    except apsw.Error as error:
        raise storage_error(error, places.database) from error
    if version < SCHEMA_VERSION:
        return Finding(
            "store",
            State.WARNING,
            f"{places.database} has schema {version}; opening it brings it to {SCHEMA_VERSION}.",
        )
    return Finding("store", State.OK, f"{places.database} is marked, with schema {version}.")


def _check_reserve(places: Places) -> Finding:
    held = places.reserve.stat().st_size if places.reserve.exists() else 0
    if held >= RESERVE_BYTES:
        return Finding("reserve", State.OK, f"{size(held)} are kept for forgetting on a full disk.")
    return Finding(
        "reserve",
        State.WARNING,
        f"{places.reserve} has {size(held)} of the {size(RESERVE_BYTES)} that are kept for"
        " forgetting on a full disk: free some space; the next command that opens the store makes"
        " it whole.",
    )


def _check_opened(config: Config, address: str) -> Iterator[Finding]:
    storage = open_existing(address, home=config.home, mongod=config.mongod)
    if storage is None:
        where = config.home if address == MANAGED else masked(address)
        yield Finding("store", State.OK, f"There is no store in {where} yet.")
        return
    try:
        measured = storage.measure()
        yield _check_records(address, measured)
        yield _check_damage(storage)
        try:
            embedder = configured_embedder(config, keep=False)
        except EmbedderError:
            return  # said by the check of the model
        try:
            yield _check_pending(storage, embedder, config, measured)
            folder = snapshot_folder(address, storage, home=config.home)
            if folder is not None and measured.memories:
                yield _check_snapshot(folder, storage, embedder)
        finally:
            embedder.close()
    except StoreDamaged as error:
        yield Finding(
            "damage",
            State.PROBLEM,
            f"{error}. Run infinite-memory verify, which says what can still be read.",
        )
    finally:
        storage.close()


def _check_records(address: str, measured: Size) -> Finding:
    number = count(_total(measured), "memory", "memories")
    return Finding(
        "records", State.OK, f"{masked(address)} opens: {number} in {size(measured.size_bytes)}."
    )


def _total(measured: Size) -> int:
    """Return how many memories there are, without the forgotten ones."""
    return sum(
        number for (_, _, status), number in measured.memories.items() if status != Status.FORGOTTEN
    )


def _check_damage(storage: Storage) -> Finding:
    """Say what was found damaged on the way; only `verify` looks at every record."""
    storage.scopes()
    damaged = storage.damaged if isinstance(storage, SqliteStorage) else frozenset()
    if damaged:
        number = count(len(damaged), "record is", "records are")
        return Finding(
            "damage",
            State.PROBLEM,
            f"{number} damaged, such as {min(damaged)!r}: run infinite-memory verify.",
        )
    return Finding(
        "damage", State.OK, "None was met on the way; infinite-memory verify looks at every record."
    )


def _check_pending(storage: Storage, embedder: Embedder, config: Config, measured: Size) -> Finding:
    """Say what waits to be embedded, and what other models have embedded."""
    model = embedder.model
    others = sorted(name for name in measured.embedded if name != model)
    pending = len(storage.pending(model, limit=_MOST_PENDING))
    if not pending:
        said = "Every memory can be found by meaning."
        if others:
            said += (
                f" There are vectors by {', '.join(others)} as well, which"
                " infinite-memory embed --drop-others removes."
            )
        return Finding("embeddings", State.OK, said)
    former, lost = _former(storage, embedder, config)
    if former != model:
        return Finding(
            "embeddings",
            State.WARNING,
            f"A change of the model is under way: {measured.embedded.get(model, 0):,} of"
            f" {_total(measured):,} memories are embedded by {model}, and {former} answers"
            " meanwhile: run infinite-memory embed.",
        )
    number = f"{'At least ' if pending == _MOST_PENDING else ''}{pending:,}"
    return Finding(
        "embeddings",
        State.WARNING,
        f"{number} of the memories are found by words alone: run infinite-memory embed."
        + (f" {lost}" if lost else ""),
    )


def _former(storage: Storage, embedder: Embedder, config: Config) -> tuple[str, str | None]:
    """Return which model answers while something waits, and why the former one cannot."""
    models = Models(storage, embedder, former=former_of(config, keep=False))
    try:
        return models.answering().name, models.lost
    finally:
        models.close()


def _check_snapshot(folder: Path, storage: Storage, embedder: Embedder) -> Finding:
    snapshots = list(folder.glob("*.index"))
    if not snapshots:
        return Finding("index", State.OK, "There is no snapshot of the index; it is read anew.")
    ours = Snapshot(
        folder,
        identity=storage.identity,
        model=embedder.model,
        dimensions=embedder.dimensions,
    )
    try:
        view = ours.verified()
    except ValueError as error:
        return Finding(
            "index",
            State.WARNING,
            f"The snapshot of the index is damaged ({error}): run infinite-memory verify --mend.",
        )
    position = storage.position()
    if view is not None and view.cursor > position:
        return Finding(
            "index",
            State.PROBLEM,
            f"The index has seen {view.cursor:,} changes and the store has only {position:,}: if"
            " you put an older copy of the database in place, delete the folder"
            f" {folder}; if not, the newest memories are missing: look for"
            " memory.db-wal, or restore a backup.",
        )
    total = sum(path.stat().st_size for path in snapshots)
    return Finding("index", State.OK, f"The snapshot of the index has {size(total)}.")
