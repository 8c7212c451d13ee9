"""Scopes as rows, every row with a checksum."""

from __future__ import annotations

import json
from typing import Any

import apsw

from infinite_memory.errors import InvalidInput
from infinite_memory.model.memory import GLOBAL
from infinite_memory.model.scope import Scope, Sensitivity
from infinite_memory.storage.damage import DamageLog, name_of
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.database import Snapshot

__all__ = ["ScopeReader", "damaged_scopes", "erase_scope", "put_scope"]

_KIND = b"scope"
_SCOPES = (
    "SELECT CAST(name AS BLOB), CAST(description AS BLOB), CAST(parent AS BLOB), "
    "CAST(keywords AS BLOB), CAST(sensitivity AS BLOB), "
    "CAST(active AS INTEGER), CAST(checksum AS BLOB) FROM scopes"
)

_CHECKSUMS = "SELECT group_concat(hex(checksum)) FROM scopes"


class ScopeReader:
    """Reads the scopes of a database, and decodes them only after a change.

    Every search needs the scopes. The checksum of a row covers the whole row, and every writer of
    any process updates it, so the scopes are unchanged while the checksums are. Damaged rows are
    noted in `damage` when they are decoded; `verify` checks the rows themselves.
    """

    def __init__(self, damage: DamageLog) -> None:
        """Make a reader that has decoded no scope yet."""
        self._damage = damage
        self._known: tuple[str | None, dict[str, Scope]] | None = None

    def read(self, snapshot: Snapshot) -> dict[str, Scope]:
        """Return every sound scope by name, always with `Global`, in a new dictionary."""
        checksums: str | None = next(snapshot.rows(_CHECKSUMS))[0]
        known = self._known
        if known is None or known[0] != checksums:
            self._known = known = checksums, self._decode_all(snapshot)
        return dict(known[1])

    def _decode_all(self, snapshot: Snapshot) -> dict[str, Scope]:
        scopes = {GLOBAL: Scope(name=GLOBAL)}
        for *blobs, active, checksum in snapshot.rows(_SCOPES):
            if seal_fits(_KIND, (active,), blobs, checksum):
                scope = _decode(blobs, active)
                scopes[scope.name] = scope
            else:
                self._damage.skip_record("scope " + name_of(blobs[0]))
        return scopes


def damaged_scopes(snapshot: Snapshot) -> list[str]:
    """Return the names of the scopes that are damaged."""
    return [
        name_of(blobs[0])
        for *blobs, active, checksum in snapshot.rows(_SCOPES)
        if not seal_fits(_KIND, (active,), blobs, checksum)
    ]


def _decode(blobs: list[Any], active: int) -> Scope:
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
