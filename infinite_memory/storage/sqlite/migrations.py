"""Steps that migrate the tables of an older schema, version by version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import apsw

from infinite_memory.core.errors import SchemaTooNew
from infinite_memory.storage.sqlite.errors import damaged_database
from infinite_memory.storage.sqlite.schema import (
    SCHEMA_VERSION,
    create_access_keys,
    create_activations,
    create_counts,
    rename_vectors,
)

Step = Callable[[apsw.Connection], None]
"""Migrates the tables of a version to the next version, inside the transaction of the caller.

A step renames every table whose meaning it changes, so that a process of the older version that
still runs is refused and writes nothing wrong.
"""

_STEPS = (create_access_keys, create_activations, create_counts, rename_vectors)
STEPS: dict[int, Step] = dict(enumerate(_STEPS, 1))
"""The step from every older version to its next."""


def check_version(version: int, path: Path) -> None:
    """Refuse a database of a newer schema.

    Raises:
        SchemaTooNew: `version` is newer than `SCHEMA_VERSION`.
    """
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"{path} was written by a newer version of this package (its schema is {version}, this "
            f"version knows {SCHEMA_VERSION}): upgrade infinite-memory; nothing was changed"
        )


def migrate(connection: apsw.Connection, path: Path, steps: Mapping[int, Step] = STEPS) -> bool:
    """Bring the tables to the current schema in a transaction; return whether any step ran.

    The caller holds the writers' lock. If a step fails, the log that it filled is emptied.

    Raises:
        SchemaTooNew: the database has a newer schema.
        StoreDamaged: the database has a schema that no version of this package wrote.
    """
    version = connection.pragma("user_version")
    check_version(version, path)
    if version == SCHEMA_VERSION:
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        while version < SCHEMA_VERSION:
            if version not in steps:
                raise damaged_database(
                    path, f"has schema {version}, which no version of this package wrote"
                )
            steps[version](connection)
            version += 1
            connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        _empty_log(connection)
        raise
    return True


def _empty_log(connection: apsw.Connection) -> None:
    """Free the space of the log if nobody reads from it; a failure loses nothing."""
    with suppress(apsw.Error):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
