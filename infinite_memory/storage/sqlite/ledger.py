"""The one row of `store`: which store it is, its last sequence number, and its last commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
from attrs import frozen

from infinite_memory.storage.sqlite.faults import damaged_database
from infinite_memory.storage.sqlite.seal import seal, seal_fits

__all__ = ["Ledger", "insert_ledger", "read_ledger", "update_ledger"]

_KIND = b"store"


@frozen(kw_only=True)
class Ledger:
    """`token` is random and new with every commit, so that the outcome of one can be looked up."""

    identity: str
    sequence: int
    token: bytes

    def after(self, *, sequence: int, token: bytes) -> Ledger:
        """Return the row that a commit leaves behind."""
        return Ledger(identity=self.identity, sequence=sequence, token=token)


def read_ledger(connection: apsw.Connection, path: Path) -> Ledger:
    """Return the row as it is in the snapshot or transaction of `connection`.

    Raises:
        StoreDamaged: it is missing, or is not as it was written.
    """
    rows: list[Any] = connection.execute(
        "SELECT CAST(identity AS BLOB), CAST(sequence AS INTEGER), "
        "CAST(token AS BLOB), CAST(checksum AS BLOB) FROM store"
    ).fetchall()
    if len(rows) == 1:
        identity, sequence, token, checksum = rows[0]
        if seal_fits(_KIND, (sequence,), (identity, token), checksum):
            return Ledger(identity=identity.decode(), sequence=sequence, token=token)
    raise damaged_database(path, "has lost or altered the row that counts its changes")


def insert_ledger(connection: apsw.Connection, ledger: Ledger) -> None:
    """Write the row of a new store."""
    connection.execute(
        "INSERT INTO store (one, identity, sequence, token, checksum) VALUES (1, ?, ?, ?, ?)",
        (ledger.identity, ledger.sequence, ledger.token, _seal(ledger)),
    )


def update_ledger(connection: apsw.Connection, ledger: Ledger) -> None:
    """Replace the row, inside the transaction of the caller."""
    connection.execute(
        "UPDATE store SET sequence = ?, token = ?, checksum = ?",
        (ledger.sequence, ledger.token, _seal(ledger)),
    )


def _seal(ledger: Ledger) -> bytes:
    return seal(_KIND, (ledger.sequence,), (ledger.identity.encode(), ledger.token))
