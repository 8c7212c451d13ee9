"""Scopes as rows, every row with a checksum."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.storage.damage import DamageLog, name_of
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.readers import Snapshot

if TYPE_CHECKING:
    import apsw


_KIND = b"scope"
_SCOPES = (
    "SELECT CAST(name AS BLOB), CAST(description AS BLOB), CAST(parent AS BLOB), "
    "CAST(keywords AS BLOB), CAST(sensitivity AS BLOB), "
    "CAST(active AS INTEGER), CAST(checksum AS BLOB) FROM scopes"
)
_CHECKSUMS = "SELECT group_concat(hex(checksum)) FROM scopes"
_UNKNOWN = f"{_SCOPES} WHERE hex(checksum) IN (SELECT value FROM json_each(?))"


class ScopeReader:
    """Reads the scopes of a database, and decodes each only after it has changed.

    Every search and every commit needs the scopes. The checksum of a row covers the whole row, and
    every writer of any process updates it, so a scope is unchanged while its checksum is. Damaged
    rows are noted in `damage` when they are read; `verify` checks the rows themselves.
    """

    def __init__(self, damage: DamageLog) -> None:
        """Make a reader that has decoded no scope yet."""
        self._damage = damage
        self._known: tuple[str | None, dict[str, Scope]] | None = None
        self._by_checksum: dict[str, Scope] = {}

    def read(self, snapshot: Snapshot) -> dict[str, Scope]:
        """Return every sound scope by name, always with `Global`, in a new dictionary."""
        checksums: str | None = next(snapshot.rows(_CHECKSUMS))[0]
        known = self._known
        if known is None or known[0] != checksums:
            scopes = {GLOBAL: Scope(name=GLOBAL)}
            for scope in self._decode_scopes(snapshot, (checksums or "").split(",")):
                scopes[scope.name] = scope
            self._known = known = checksums, scopes
        return dict(known[1])

    def _decode_scopes(self, snapshot: Snapshot, checksums: Sequence[str]) -> Iterable[Scope]:
        """Return the sound scopes of `checksums`; only those that were unknown are decoded."""
        decoded = self._by_checksum
        unknown = json.dumps([checksum for checksum in checksums if checksum not in decoded])
        decoded = {checksum: decoded[checksum] for checksum in checksums if checksum in decoded}
        for *blobs, active, checksum in snapshot.rows(_UNKNOWN, (unknown,)):
            if seal_fits(_KIND, (active,), blobs, checksum):
                decoded[checksum.hex().upper()] = _decode_scopes(blobs, active)
            else:
                self._damage.skip_record("scope " + name_of(blobs[0]))
        self._by_checksum = decoded
        return [decoded[checksum] for checksum in checksums if checksum in decoded]


def damaged_scopes(snapshot: Snapshot) -> list[str]:
    """Return the names of the scopes that are damaged."""
    return [
        name_of(blobs[0])
        for *blobs, active, checksum in snapshot.rows(_SCOPES)
        if not seal_fits(_KIND, (active,), blobs, checksum)
    ]


def _decode_scopes(blobs: list[Any], active: int) -> Scope:
    name, description, parent, keywords, sensitivity = blobs
    return Scope(
        name=name.decode(),
        description=description.decode(),
        parent=None if parent is None else parent.decode(),
        keywords=tuple(json.loads(keywords.decode())),
        active=bool(active),
        sensitivity=Sensitivity(sensitivity.decode()),
    )


def put_scope(connection: apsw.Connection, scope: Scope) -> None:
    """Create or replace a scope, inside the transaction of the caller.

    Raises:
        InvalidInput: a text holds a character that no database can keep: a lone surrogate.
    """
    keywords = json.dumps(list(scope.keywords), ensure_ascii=False)
    texts = (scope.name, scope.description, scope.parent, keywords, scope.sensitivity.value)
    try:
        blobs = [None if text is None else text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise InvalidInput(f"scope {scope.name!r} cannot be stored: {error}") from error
    active = int(scope.active)
    connection.execute(
        "INSERT OR REPLACE INTO scopes "
        "(name, description, parent, keywords, sensitivity, active, checksum) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*texts, active, seal(_KIND, (active,), blobs)),
    )


def erase_scope(connection: apsw.Connection, name: str) -> None:
    """Remove a scope if it is there, inside the transaction of the caller."""
    connection.execute("DELETE FROM scopes WHERE name = ?", (name,))
