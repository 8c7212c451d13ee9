"""Diagnoses of a SQLite store that do not open its database for writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from infinite_memory.core.errors import StorageError
from infinite_memory.core.values.messages import format_size
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.storage.sqlite.connection import (
    BUSY_SECONDS,
    check_library,
    connect_immutable,
)
from infinite_memory.storage.sqlite.errors import look_twice, storage_error
from infinite_memory.storage.sqlite.files.disk_reserve import RESERVE_BYTES
from infinite_memory.storage.sqlite.files.filesystem import check_surroundings
from infinite_memory.storage.sqlite.files.lock import WriterLock
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.storage.sqlite.files.preflight import inspect_store, look_without_lock
from infinite_memory.storage.sqlite.schema import SCHEMA_VERSION


def diagnose_library() -> Diagnosis:
    """Return whether the SQLite library is free of the defect that damages shared databases."""
    version = apsw.sqlite_lib_version()
    try:
        check_library(version)
    except StorageError as error:
        return Diagnosis("sqlite", State.PROBLEM, f"{error}.")
    return Diagnosis("sqlite", State.OK, f"SQLite {version} is safe to share between processes.")


def diagnose_files(folder: Path) -> Iterator[Diagnosis]:
    """Yield the diagnoses of the files in `folder`; the first that is not OK is the last.

    Raises:
        StorageError: the folder cannot hold a store, or the files are suspect.
    """
    check_surroundings(folder)
    yield Diagnosis("surroundings", State.OK, f"A store can be kept in {folder}.")
    places = Places(folder)
    try:
        yield from _diagnose_at_rest(places)
    except apsw.Error as error:
        raise storage_error(error, places.database) from error


def _diagnose_at_rest(places: Places) -> list[Diagnosis]:
    """Diagnose the store while nobody writes, without making a lock in a folder that has none."""
    found = look_without_lock(places, lambda: _diagnose_store(places))
    if found is not None:
        return found
    with WriterLock(places.lock, timeout_seconds=BUSY_SECONDS).hold():
        return look_twice(lambda: _diagnose_store(places))


def _diagnose_store(places: Places) -> list[Diagnosis]:
    """Return the diagnoses of a store to which nobody writes; none if there is no store."""
    if inspect_store(places, None) is None:
        return []
    missing = [path for path in (places.marker, places.lock) if not path.exists()]
    if missing:
        sentence = f"{missing[0]} is missing; opening the store creates it again."
        return [Diagnosis("store", State.WARNING, sentence)]
    return [_diagnose_schema(places), _diagnose_reserve(places)]


def _diagnose_schema(places: Places) -> Diagnosis:
    connection = connect_immutable(places.database, vfs=None)
    try:
        version = connection.pragma("user_version")
    finally:
        connection.close()
    if version < SCHEMA_VERSION:
        return Diagnosis(
            "store",
            State.WARNING,
            f"{places.database} has schema {version}; opening it brings it to {SCHEMA_VERSION}.",
        )
    return Diagnosis("store", State.OK, f"{places.database} is marked, with schema {version}.")


def _diagnose_reserve(places: Places) -> Diagnosis:
    size_bytes = places.reserve.stat().st_size if places.reserve.exists() else 0
    if size_bytes >= RESERVE_BYTES:
        return Diagnosis(
            "reserve",
            State.OK,
            f"{format_size(size_bytes)} are reserved for forgetting on a full disk.",
        )
    return Diagnosis(
        "reserve",
        State.WARNING,
        f"{places.reserve} has {format_size(size_bytes)} of the {format_size(RESERVE_BYTES)} that"
        " are reserved for forgetting on a full disk: free some space; the next command that"
        " opens the store fills it.",
    )
