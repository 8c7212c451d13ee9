"""Steps that bring the tables of an older version forward, one version at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import apsw

from infinite_memory.errors import SchemaTooNew
from infinite_memory.storage.sqlite.faults import damaged_database
from infinite_memory.storage.sqlite.schema import INDEX_EMBEDDED, SCHEMA_VERSION, VECTORS

__all__ = ["STEPS", "Step", "check_version", "migrate"]

Step = Callable[[apsw.Connection], None]
"""Changes tables of one version into those of the next, inside the transaction of the caller."""


def _several_models(connection: apsw.Connection) -> None:
    """Let a memory have embeddings by several models.

    No row changes: `embedded_by` was the name of the one model. The table has a new name, so that a
    process of the older version which is still running is refused, and does not write over it.
    """
    connection.execute(VECTORS)
    connection.execute(
        "INSERT INTO vectors (number, model, dimensions, spans, vectors, checksum) "
        "SELECT number, model, dimensions, spans, vectors, checksum FROM embeddings ORDER BY number"
    )
    connection.execute("DROP TABLE embeddings; DROP INDEX memories_by_embedding")
    connection.execute(INDEX_EMBEDDED)


STEPS: Mapping[int, Step] = {1: _several_models}
"""The step that leads on from each older version; version 1 is the first."""


def check_version(found: int, path: Path, *, target: int = SCHEMA_VERSION) -> None:
    """Refuse a database of a newer version than `target`.

    Raises:
        SchemaTooNew: it is.
    """
    if found > target:
        raise SchemaTooNew(
            f"{path} was written by a newer version of this package (its tables are of version "
            f"{found}, this one knows {target}): upgrade infinite-memory; nothing was changed"
        )


def migrate(
    connection: apsw.Connection,
    path: Path,
    *,
    steps: Mapping[int, Step] = STEPS,
    target: int = SCHEMA_VERSION,
) -> bool:
    """Bring the tables to version `target`, all steps in one transaction; tell whether any ran.

    The caller holds the writers' lock.

    Raises:
        SchemaTooNew: the database is of a newer version.
        StoreDamaged: its version is none that was ever used.
    """
    version = connection.pragma("user_version")
    check_version(version, path, target=target)
    if version == target:
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        while version < target:
            if version not in steps:
                raise damaged_database(path, f"names version {version}, which no store ever had")
            steps[version](connection)
            version += 1
            connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return True
