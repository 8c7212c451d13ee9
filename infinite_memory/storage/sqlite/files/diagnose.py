"""Diagnoses of a SQLite store that do not open its database for writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from infinite_memory.errors import StorageError
from infinite_memory.model.messages import format_size
from infinite_memory.model.verification import Diagnosis, State
from infinite_memory.storage.sqlite.connection import (
    BUSY_SECONDS,
    check_library,
    connect_immutable,
)
from infinite_memory.storage.sqlite.errors import storage_error
from infinite_memory.storage.sqlite.files.disk_reserve import RESERVE_BYTES
from infinite_memory.storage.sqlite.files.filesystem import check_surroundings
from infinite_memory.storage.sqlite.files.lock import WriterLock
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.storage.sqlite.files.preflight import inspect_store
from infinite_memory.storage.sqlite.schema import SCHEMA_VERSION

__all__ = ["diagnose_files", "diagnose_library"]


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
    if _identify(places) is None:
        return
    missing = [path for path in (places.marker, places.lock) if not path.exists()]
    if missing:
        sentence = f"{missing[0]} is missing; opening the store creates it again."
        yield Diagnosis("store", State.WARNING, sentence)
        return
    yield _diagnose_schema(places)
    yield _diagnose_reserve(places)


def _identify(places: Places) -> str | None:
    """Return the identity of the store, None if there is no store; writers wait meanwhile."""
    try:
        if not places.lock.exists():
            return inspect_store(places, None)
        with WriterLock(places.lock, timeout_seconds=BUSY_SECONDS).hold():
            return inspect_store(places, None)
    except apsw.Error as error:
        raise storage_error(error, places.database) from error


def _diagnose_schema(places: Places) -> Diagnosis:
    try:
        connection = connect_immutable(places.database, vfs=None)
        try:
            version = connection.pragma("user_version")
        finally:
            connection.close()
    except apsw.Error as error:
        raise storage_error(error, places.database) from error
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
