"""Access keys as rows, every row with a checksum."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.access.key import AccessKey, Quota, Right
from infinite_memory.core.values.codec import from_micros, to_micros
from infinite_memory.storage.damage import ACCESS_KEY, DamageLog, name_of
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.readers import Snapshot

if TYPE_CHECKING:
    import apsw


_KIND = b"access key"
_KEYS = (
    "SELECT CAST(id AS BLOB), CAST(name AS BLOB), CAST(digest AS BLOB), CAST(rights AS BLOB), "
    "CAST(scopes AS BLOB), CAST(created_by AS BLOB), CAST(created_at AS INTEGER), "
    "CAST(expires_at AS INTEGER), CAST(revoked_at AS INTEGER), CAST(checksum AS BLOB) "
    "FROM access_keys"
)
_BLOBS = 6


def put_access_key(connection: apsw.Connection, key: AccessKey) -> None:
    """Create or replace a key, inside the transaction of the caller.

    Raises:
        InvalidInput: a text holds a character that no database can keep: a lone surrogate.
    """
    # What the holder may, and how much of it: a row without limits is as it always was.
    quota = key.quota.given()
    rights = json.dumps([*(right.value for right in key.rights), *([quota] if quota else [])])
    scopes = json.dumps(list(key.scopes), ensure_ascii=False)
    texts = (key.id, key.name, rights, scopes, key.created_by)
    try:
        key_id, name, *others = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise InvalidInput(f"access key {key.name!r} cannot be stored: {error}") from error
    numbers = [
        None if moment is None else to_micros(moment)
        for moment in (key.created_at, key.expires_at, key.revoked_at)
    ]
    checksum = seal(_KIND, numbers, [key_id, name, key.digest, *others])
    connection.execute(
        "INSERT OR REPLACE INTO access_keys (id, name, rights, scopes, created_by, digest, "
        "created_at, expires_at, revoked_at, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*texts, key.digest, *numbers, checksum),
    )


def read_access_keys(
    snapshot: Snapshot, ids: Collection[str] | None, damage: DamageLog
) -> dict[str, AccessKey]:
    """Return the sound keys `ids` by id, None for all."""
    keys: dict[str, AccessKey] = {}
    for row in _select_rows(snapshot, ids):
        if _fits_checksum(row):
            key = _decode_key(row)
            keys[key.id] = key
        else:
            damage.skip_record(ACCESS_KEY + name_of(row[0]))
    return keys


def damaged_access_keys(snapshot: Snapshot) -> list[str]:
    """Return the ids of the keys that are damaged."""
    return [name_of(row[0]) for row in snapshot.rows(_KEYS) if not _fits_checksum(row)]


def _select_rows(snapshot: Snapshot, ids: Collection[str] | None) -> Iterator[tuple[Any, ...]]:
    if ids is None:
        yield from snapshot.rows(f"{_KEYS} ORDER BY id")
        return
    for key_id in dict.fromkeys(ids):
        yield from snapshot.rows(f"{_KEYS} WHERE id = ?", (key_id,))


def _fits_checksum(row: tuple[Any, ...]) -> bool:
    blobs, numbers = row[:_BLOBS], row[_BLOBS:-1]
    return seal_fits(_KIND, numbers, blobs, row[-1])


def _decode_key(row: tuple[Any, ...]) -> AccessKey:
    key_id, name, digest, may, scopes, created_by, created_at, expires_at, revoked_at, _ = row
    rights: list[Any] = json.loads(may)
    quota = rights.pop() if isinstance(rights[-1], dict) else {}
    return AccessKey(
        id=key_id.decode(),
        name=name.decode(),
        digest=digest,
        rights=tuple(map(Right, rights)),
        scopes=tuple(json.loads(scopes.decode())),
        created_at=from_micros(created_at),
        created_by=created_by.decode(),
        expires_at=None if expires_at is None else from_micros(expires_at),
        revoked_at=None if revoked_at is None else from_micros(revoked_at),
        quota=Quota(**quota),
    )
