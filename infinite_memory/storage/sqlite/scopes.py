"""Scopes as rows, every row with a checksum."""

from __future__ import annotations

import json
import threading
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.scope import Scope, ScopeTable, Sensitivity
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
_REVISION = "SELECT ifnull(max(rowid), 0) FROM scopes"
_SINCE = f"{_SCOPES} WHERE rowid > ?"
_COUNT = "SELECT count(*) FROM scopes"
_NAMES = "SELECT CAST(name AS BLOB) FROM scopes"
# Greater than every rowid that there is, and as good as surely none of a row that is gone: that may
# be of the same millisecond, and the clock counts no further.
_NEXT_REVISION = (
    f"max(({_REVISION}) + 1, CAST(unixepoch('subsec') * 1e6 AS INTEGER) + abs(random() % 1000))"
)


_GLOBAL = Scope(name=GLOBAL)


class ScopeReader:
    """Reads the scopes of a database, and decodes each only after it has changed.

    Every search and every commit needs the scopes. The greatest rowid is their revision: a scope
    that is stored gets a greater one, and so does the last row when another is erased. Damaged
    rows are noted in `damage` when they are read; `verify` checks the rows themselves.
    """

    def __init__(self, damage: DamageLog) -> None:
        """Make a reader that has decoded no scope yet."""
        self._damage = damage
        self._lock = threading.Lock()
        self._known = -1, ScopeTable({GLOBAL: _GLOBAL})
        self._is_sound = True

    def read(self, snapshot: Snapshot) -> ScopeTable:
        """Return every sound scope by name, always with `Global`."""
        revision: int = next(snapshot.rows(_REVISION))[0]
        with self._lock:
            seen, scopes = self._known
            if revision != seen:
                if revision < seen or not self._is_sound:
                    seen, scopes = -1, ScopeTable({GLOBAL: _GLOBAL})
                scopes = self._follow(snapshot, seen, scopes)
                self._known = revision, scopes
            return scopes

    def _follow(self, snapshot: Snapshot, seen: int, scopes: ScopeTable) -> ScopeTable:
        """Return the scopes of the snapshot; `scopes` are those of the revision `seen`."""
        changed, self._is_sound = [], True
        for *blobs, active, checksum in snapshot.rows(_SINCE, (seen,)):
            if seal_fits(_KIND, (active,), blobs, checksum):
                changed.append(_decode_scopes(blobs, active))
            else:
                self._damage.skip_record("scope " + name_of(blobs[0]))
                self._is_sound = False
        if seen >= 0 and not self._is_sound:
            return self._follow(snapshot, -1, ScopeTable({GLOBAL: _GLOBAL}))
        scopes = scopes.change(changed)
        stored = len(scopes) - (scopes[GLOBAL] is _GLOBAL)
        if not self._is_sound or next(snapshot.rows(_COUNT))[0] == stored:
            return scopes
        present = set(map(itemgetter(0), snapshot.rows(_NAMES)))
        gone = set(map(bytes.decode, set(map(str.encode, scopes)) - present))
        return scopes.change([_GLOBAL] if GLOBAL in gone else [], gone)


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
        "(rowid, name, description, parent, keywords, sensitivity, active, checksum) "
        f"VALUES ({_NEXT_REVISION}, ?, ?, ?, ?, ?, ?, ?)",
        (*texts, active, seal(_KIND, (active,), blobs)),
    )


def erase_scope(connection: apsw.Connection, name: str) -> None:
    """Remove a scope if it is there, inside the transaction of the caller."""
    # First, so that the revision is greater than that of the row that goes.
    connection.execute(
        f"UPDATE scopes SET rowid = {_NEXT_REVISION} WHERE rowid = ({_REVISION} WHERE name <> ?)",
        (name,),
    )
    connection.execute("DELETE FROM scopes WHERE name = ?", (name,))
