"""Access keys: the secret that a client of a server shows, and the record that a store keeps."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.checks import check_choice
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.memory import JsonValue


class Right(StrEnum):
    """A permission of the holder of a key; a right includes the rights before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    """Whatever the operator of the server may do through it, such as making keys."""


class KeyState(StrEnum):
    """Whether a key opens the store."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@frozen(kw_only=True)
class AccessKey(PlainData):
    """A key as the store keeps it: its holder has the secret, the store only a digest of it.

    `id` is the public part of the key. Active keys have different names; letter case does not
    count. `rights` are in order, each with the rights that it includes. `scopes` are names and
    patterns of scopes, see `check_scope_pattern`. `created_by` is the client that made the key.
    """

    id: str
    name: str
    digest: bytes = field(repr=False)
    rights: tuple[Right, ...]
    scopes: tuple[str, ...]
    created_at: datetime
    created_by: str = ""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, for `json.dumps`, without the digest."""
        own = PlainData.to_dict(self)
        del own["digest"]
        return own

    def allows(self, right: Right) -> bool:
        """Return whether the key grants `right`."""
        return right in self.rights

    def state_at(self, now: datetime) -> KeyState:
        """Return whether the key is active at `now`."""
        if self.revoked_at is not None:
            return KeyState.REVOKED
        if self.expires_at is not None and self.expires_at <= now:
            return KeyState.EXPIRED
        return KeyState.ACTIVE


@frozen(kw_only=True)
class NewKey(PlainData):
    """A key that was just created; its holder shows `secret`, which is not kept anywhere."""

    key: AccessKey
    secret: str = field(repr=False)


def check_rights(rights: object) -> tuple[Right, ...]:
    """Return the rights in order, with the rights that they include; a string is one right.

    Raises:
        InvalidInput: there is none, or one is unknown.
    """
    if isinstance(rights, str):
        rights = [rights]
    if isinstance(rights, bytes) or not isinstance(rights, Iterable):
        raise InvalidInput(f"rights must be a list of texts, not {rights!r:.100}")
    granted = {check_choice(right, Right, "right") for right in rights}
    if not granted:
        raise InvalidInput(f"rights is an empty list: give one or more of {', '.join(Right)}")
    order = list(Right)
    return tuple(order[: max(map(order.index, granted)) + 1])


def access_key_json(key: AccessKey, now: datetime) -> dict[str, JsonValue]:
    """Return a key as a JSON object, with its state at `now` and without its digest."""
    return {
        "id": key.id,
        "name": key.name,
        "state": str(key.state_at(now)),
        "rights": [str(right) for right in key.rights],
        "scopes": list(key.scopes),
        "created_at": iso(key.created_at),
        "created_by": key.created_by,
        "expires_at": iso(key.expires_at),
        "revoked_at": iso(key.revoked_at),
    }
