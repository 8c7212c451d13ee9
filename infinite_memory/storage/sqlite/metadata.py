"""The single row of `ledger`: identity, the ends of the feed and the journal, the active model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
from attrs import field, frozen

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.entry import JournalEnd, entry_digest
from infinite_memory.storage.hash_chain import EntryDamaged
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.errors import damaged_database

_KIND = b"ledger"


@frozen(kw_only=True)
class Ledger:
    """`token` is random and new with every commit, so that its outcome can be looked up."""

    identity: str
    sequence: int
    token: bytes
    end: JournalEnd = field(factory=JournalEnd)
    active_model: str | None = None


def read_identity(connection: apsw.Connection, path: Path) -> str:
    """Return the identity of the store.

    Raises:
        StoreDamaged: the row is missing, or is damaged.
    """
    return read_ledger(connection, path).identity


def read_ledger(connection: apsw.Connection, path: Path) -> Ledger:
    """Return the row as it is in the snapshot or transaction of `connection`.

    Raises:
        StoreDamaged: the row is missing, or is damaged.
    """
    rows: list[Any] = connection.execute(
        "SELECT CAST(identity AS BLOB), CAST(sequence AS INTEGER), CAST(token AS BLOB), "
        "CAST(entries AS INTEGER), CAST(digest AS BLOB), CAST(active_model AS BLOB), "
        "CAST(checksum AS BLOB) FROM ledger"
    ).fetchall()
    if len(rows) == 1:
        identity, sequence, token, entries, digest, model, checksum = rows[0]
        if seal_fits(_KIND, (sequence, entries), (identity, token, digest, model), checksum):
            return Ledger(
                identity=identity.decode(),
                sequence=sequence,
                token=token,
                end=JournalEnd(number=entries, digest=digest),
                active_model=model.decode() or None,
            )
    raise _make_damaged_error(path)


def _make_damaged_error(path: Path) -> StoreDamaged:
    return damaged_database(path, "has lost or altered the row that counts its changes")


def insert_ledger(connection: apsw.Connection, ledger: Ledger) -> None:
    """Write the row of a new store."""
    connection.execute(
        "INSERT INTO ledger (one, identity, sequence, token, entries, digest, active_model, "
        "checksum) VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
        (ledger.identity, *_list_bindings(ledger)),
    )


def update_ledger(connection: apsw.Connection, ledger: Ledger) -> None:
    """Replace the row, inside the transaction of the caller."""
    connection.execute(
        "UPDATE ledger SET sequence = ?, token = ?, entries = ?, digest = ?, active_model = ?, "
        "checksum = ?",
        _list_bindings(ledger),
    )


def append_entry(connection: apsw.Connection, end: JournalEnd, text: str, path: Path) -> JournalEnd:
    """Add an entry after `end`, inside the transaction of the caller; return the new end.

    Raises:
        EntryDamaged: a row that does not belong to the journal has the number of the entry.
    """
    number = end.number + 1
    digest = entry_digest(end.digest, number, text)
    try:
        connection.execute(
            "INSERT INTO journal (number, body, digest) VALUES (?, ?, ?)", (number, text, digest)
        )
    except apsw.ConstraintError as error:
        problem = f"does not belong to it (the last entry is recorded as {end.number})"
        raise EntryDamaged(str(path), number, problem) from error
    return JournalEnd(number=number, digest=digest)


def _list_bindings(ledger: Ledger) -> tuple[Any, ...]:
    sequence, token, end, model = ledger.sequence, ledger.token, ledger.end, ledger.active_model
    blobs = (ledger.identity.encode(), token, end.digest, (model or "").encode())
    checksum = seal(_KIND, (sequence, end.number), blobs)
    return sequence, token, end.number, end.digest, model or "", checksum
