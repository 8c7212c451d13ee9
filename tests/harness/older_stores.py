"""Stores of older schemas, as the programs of their time left them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

OLDER_SCHEMAS = (1, 2, 3, 4)
"""The versions of the schema of which there is a dump."""

_DUMPS = Path(__file__).parents[1] / "storage"


def make_older_store(home: Path, schema: int) -> None:
    """Make the folder `home` with a store of that schema, copied without its lock."""
    home.mkdir(parents=True)
    with closing(apsw.Connection(str(home / "memory.db"))) as connection:
        connection.execute((_DUMPS / f"schema_{schema}.sql").read_text(encoding="utf-8"))
        identity = connection.execute("SELECT identity FROM ledger").get
        connection.pragma("journal_mode", "wal")
    (home / "memory.db.marker").write_text(f"Infinite Memory store {identity}\n")
