"""Reads a table of an SQLite file of another product, without changing or trusting the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import apsw

from infinite_memory.core.errors import InvalidInput

_MAGIC = b"SQLite format 3\0"

Row: TypeAlias = tuple[str, dict[str, Any]]
"""The place of a record in a database, and its fields."""


def is_sqlite(head: bytes) -> bool:
    """Return whether a file begins as an SQLite file does."""
    return head.startswith(_MAGIC)


def _open_database(path: Path) -> apsw.Connection:
    # Without a log, nobody has the file open, and a plain opening would leave files beside it.
    has_log = path.with_name(f"{path.name}-wal").exists()
    address = f"file:{quote(str(path))}?mode=ro{'' if has_log else '&immutable=1'}"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(address, flags=flags)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.set_busy_timeout(5000)
    return connection


def table_columns(path: Path, table: str) -> set[str]:
    """Return the columns of a table, none if there is no table of that name."""
    try:
        with closing(_open_database(path)) as connection:
            known = connection.execute(
                "select 1 from sqlite_master where type = 'table' and name = ?", (table,)
            ).fetchone()
            if known is None:
                return set()
            return {row[1] for row in connection.execute(f"pragma table_info({table})")}
    except apsw.Error:
        return set()


def read_table(path: Path, query: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a query as they are at one moment.

    Raises:
        InvalidInput: the file is damaged, or another program has locked it.
    """
    try:
        with closing(_open_database(path)) as connection:
            cursor = connection.cursor()
            for row in cursor.execute(query):
                yield dict(zip((name for name, *_ in cursor.description), row, strict=True))
    except apsw.Error as error:
        raise InvalidInput(
            f"{path} cannot be read as an SQLite file ({error}): stop the program that writes it,"
            " and check the file"
        ) from error
