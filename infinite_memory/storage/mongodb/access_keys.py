"""Access keys, a document per key."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bson.int64 import Int64
from pymongo.client_session import ClientSession
from pymongo.database import Database

from infinite_memory.core.values.access.key import AccessKey, Quota, Right
from infinite_memory.core.values.codec import from_micros, to_micros
from infinite_memory.storage.damage import ACCESS_KEY, DamageLog, name_of
from infinite_memory.storage.mongodb.documents import Document, fits, sealed
from infinite_memory.storage.mongodb.schema import ACCESS_KEYS

_KIND = b"access key"
_TIMES = ("created_at", "expires_at", "revoked_at")


def encode_access_key(key: AccessKey) -> Document:
    """Return the document of a key.

    Raises:
        InvalidInput: MongoDB cannot keep a value of the key.
    """
    quota = {name: Int64(number) for name, number in key.quota.given().items()}
    moments = {name: getattr(key, name) for name in _TIMES}
    return sealed(
        _KIND,
        f"access key {key.name!r}",
        {
            "_id": key.id,
            "name": key.name,
            "digest": key.digest,
            "rights": [right.value for right in key.rights],
            "scopes": list(key.scopes),
            "created_by": key.created_by,
            **({"quota": quota} if quota else {}),
            **{
                name: None if moment is None else Int64(to_micros(moment))
                for name, moment in moments.items()
            },
        },
    )


def decode_access_key(document: Document) -> AccessKey | None:
    """Return the key in a document, or None if it is damaged."""
    if not fits(_KIND, document):
        return None
    expires_at, revoked_at = [
        None if document[name] is None else from_micros(document[name]) for name in _TIMES[1:]
    ]
    return AccessKey(
        id=document["_id"],
        name=document["name"],
        digest=bytes(document["digest"]),
        rights=tuple(map(Right, document["rights"])),
        scopes=tuple(document["scopes"]),
        created_by=document["created_by"],
        created_at=from_micros(document["created_at"]),
        expires_at=expires_at,
        revoked_at=revoked_at,
        quota=Quota(**{name: int(number) for name, number in document.get("quota", {}).items()}),
    )


def find_access_keys(
    database: Database[dict[str, Any]],
    ids: Collection[str] | None,
    damage: DamageLog,
    *,
    session: ClientSession | None = None,
) -> dict[str, AccessKey]:
    """Return the keys `ids` by id, None for all; see `Storage.access_keys`."""
    where: Document = {} if ids is None else {"_id": {"$in": list(dict.fromkeys(ids))}}
    keys: dict[str, AccessKey] = {}
    for document in database.get_collection(ACCESS_KEYS).find(where, session=session):
        key = decode_access_key(document)
        if key is None:
            damage.skip_record(ACCESS_KEY + name_of(document["_id"]))
        else:
            keys[key.id] = key
    return keys
