"""Steps that bring the tables of an older version forward, one version at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from infinite_memory.errors import SchemaTooNew, StorageUnavailable
from infinite_memory.model.entry import Action, JournalEnd, Operation
from infinite_memory.storage.hash_chain import action_text
from infinite_memory.storage.sqlite.errors import damaged_database
from infinite_memory.storage.sqlite.metadata import (
    Ledger,
    append_entry,
    insert_ledger,
    read_older_ledger,
)
from infinite_memory.storage.sqlite.schema import (
    DERIVED,
    INDEX_EMBEDDED,
    INDEX_TIME,
    JOURNAL,
    SCHEMA_VERSION,
    VECTORS,
)

__all__ = ["STEPS", "Step", "check_version", "migrate"]

_MARGIN_BYTES = 4 << 20

Step = Callable[[apsw.Connection], None]
"""Changes tables of one version into those of the next, inside the transaction of the caller."""


def _several_models(connection: apsw.Connection) -> None:
    """Let a memory have embeddings by several models.

    No row changes: `embedded_by` was the name of the one model. The table has a new name, so that a
    process of the older version which is still running is refused, and does not write over it.

    A row counts only if its memory names its model. A damaged one is copied as far as the table
    takes it; what is lost is noticed, since the memory still names the model, and made anew.
    """
    connection.execute(VECTORS)
    connection.execute(
        "INSERT OR IGNORE INTO vectors (number, model, dimensions, spans, vectors, checksum) "
        "SELECT e.number, CAST(e.model AS TEXT), CAST(e.dimensions AS INTEGER), "
        "CAST(e.spans AS BLOB), CAST(e.vectors AS BLOB), CAST(e.checksum AS BLOB) "
        "FROM embeddings e JOIN memories m ON m.number = e.number "
        "WHERE CAST(e.model AS TEXT) = CAST(m.embedded_by AS TEXT) ORDER BY e.number"
    )
    connection.execute("DROP TABLE embeddings; DROP INDEX memories_by_embedding")
    connection.execute(INDEX_EMBEDDED)


def _journal(connection: apsw.Connection) -> None:
    """Begin a journal, and make room for links and usage; no memory is touched.

    What the store already holds is in the journal as one entry, without which a memory that no
    entry names would look like a foreign one. The table `store` has a new name, so that a process
    of the older version which is still running is refused, and changes nothing past the journal.
    """
    path = Path(connection.filename)
    older = read_older_ledger(connection, path)
    connection.execute(JOURNAL + DERIVED)
    connection.execute("DROP INDEX memories_by_time; DROP INDEX memories_by_kind")
    connection.execute(INDEX_TIME)
    connection.execute("DROP TABLE store")
    rows: list[Any] = connection.execute("SELECT count(*) FROM memories").fetchall()
    ((held,),) = rows
    end = JournalEnd()
    if held:
        action = Action(
            at=datetime.now(UTC),
            operation=Operation.BEGIN,
            reason=f"the store held {held} memories before it had a journal",
        )
        end = append_entry(connection, end, action_text(action), path)
    insert_ledger(
        connection,
        Ledger(identity=older.identity, sequence=older.sequence, token=os.urandom(16), end=end),
    )


STEPS: Mapping[int, Step] = {1: _several_models, 2: _journal}
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

    The caller holds the writers' lock. Where it fails, the log that it filled is emptied.

    Raises:
        SchemaTooNew: the database is of a newer version.
        StoreDamaged: its version is none that was ever used.
        StorageUnavailable: the disk has too little room for it; nothing was changed.
    """
    version = connection.pragma("user_version")
    check_version(version, path, target=target)
    if version == target:
        return False
    if connection.table_exists(None, "embeddings"):
        _check_room(connection, path)
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
        _empty_log(connection)
        raise
    return True


def _check_room(connection: apsw.Connection, path: Path) -> None:
    """Refuse to copy the vectors where the disk would be full before the end.

    Raises:
        StorageUnavailable: it would.
    """
    needed = _needed_bytes(connection)
    if _free_bytes(path.parent) >= needed:
        return
    _empty_log(connection)  # an earlier attempt that was cut short may have filled it
    free = _free_bytes(path.parent)
    if free < needed:
        raise StorageUnavailable(
            f"{path} is of version 1, and to bring it to version {SCHEMA_VERSION} takes up to "
            f"{_megabytes(needed)} MB of free space once; {path.parent} has {free / 1e6:,.0f} MB. "
            "Nothing was changed: free some space and open it again, or move the whole folder to "
            "a larger disk, or go on with the version of infinite-memory that you had"
        )


def _needed_bytes(connection: apsw.Connection) -> int:
    """Return how many bytes the step from version 1 takes at most.

    The vectors are written to the log, their old pages are overwritten with zeros in the log, and
    the file grows by the copy. A page may be half empty, so they take up to twice their bytes, and
    never more than the file.
    """
    rows: list[Any] = connection.execute(
        "SELECT (SELECT ifnull(sum(length(spans) + length(vectors)), 0) FROM embeddings), "
        "page_count * page_size FROM pragma_page_count, pragma_page_size"
    ).fetchall()
    held, store = rows[0]
    return int(3 * min(2 * held, store) + _MARGIN_BYTES)


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _megabytes(size_bytes: int) -> str:
    """Round up: who frees so much has enough."""
    return f"{-(-size_bytes // 1_000_000):,}"


def _empty_log(connection: apsw.Connection) -> None:
    """Give the room of the log back where nobody reads from it; that it fails loses nothing."""
    with suppress(apsw.Error):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
