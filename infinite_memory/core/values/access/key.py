"""Access keys: the secret that a client of a server shows, and the record that a store keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypedDict

from attrs import asdict, field, fields, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.access.scope_pattern import find_own_scope
from infinite_memory.core.values.checks import check_choice, check_count, check_field
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.memory import JsonValue

_MOST = 2**53
CALLS = "calls_a_minute"
"""The only limit that says nothing of what is kept."""


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


class Limits(TypedDict, total=False):
    """The fields of a `Quota` as keywords; 0 is any number."""

    max_memories: int | None
    max_bytes: int | None
    max_attachment_bytes: int | None
    calls_a_minute: int | None


@frozen(kw_only=True)
class Quota(PlainData):
    """The most that a key may make of each, 0 for any number.

    All but the calls are limits of what the person's own scope keeps; see `Kept`.
    """

    max_memories: int = 0
    max_bytes: int = 0
    max_attachment_bytes: int = 0
    calls_a_minute: int = 0

    @property
    def limits_what_is_kept(self) -> bool:
        """Whether there is a limit for the scope of the person."""
        return any(number for name, number in asdict(self).items() if name != CALLS)

    def given(self) -> dict[str, int]:
        """Return the limits that there are, by name."""
        return {name: number for name, number in asdict(self).items() if number}


@frozen(kw_only=True)
class Kept(PlainData):
    """How much a scope keeps: what is superseded or forgotten counts until it is erased.

    `bytes` are those of the texts as they are now, in UTF-8, with their titles and contexts;
    `attachment_bytes` those of stored files, which are no memories here.
    """

    memories: int = 0
    bytes: int = 0
    attachment_bytes: int = 0

    def plus(self, other: Kept, factor: int = 1) -> Kept:
        """Return the sum with `factor` times `other`."""
        return Kept(
            memories=self.memories + factor * other.memories,
            bytes=self.bytes + factor * other.bytes,
            attachment_bytes=self.attachment_bytes + factor * other.attachment_bytes,
        )


@frozen(kw_only=True)
class AccessKey(PlainData):
    """A key as the store keeps it: its holder has the secret, the store only a digest of it.

    `id` is the public part of the key. Active keys have different names; letter case does not
    count. `rights` are in order, each with the rights that it includes. `scopes` are names and
    patterns of scopes, see `check_scope_pattern`. `created_by` is the client that made the key,
    and `quota` how much its holder may keep and ask.
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
    quota: Quota = field(factory=Quota)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, for `json.dumps`, without the digest."""
        own = PlainData.to_dict(self)
        del own["digest"]
        return own

    @property
    def own_scope(self) -> str | None:
        """The scope of the person whose key it is, None for the key of no person."""
        return find_own_scope(self.scopes)

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


@frozen(kw_only=True)
class KeyUsage(PlainData):
    """How much the person `name` keeps in their own `scope`, and how much their key allows."""

    id: str
    name: str
    scope: str
    kept: Kept
    quota: Quota


@frozen(kw_only=True)
class RemovedPerson(PlainData):
    """What was erased with a person, and what is left of it.

    `erased` memories were theirs, and of `blanked` ones, which others have now, the revisions from
    before. `leftovers` are the files in which a scan for `looked_for` pieces of texts and vectors
    met one; none is proof. `pending` is what is still to be done, and `backups` are those that were
    made while the person had a key.
    """

    name: str
    scope: str
    export: str | None
    erased: int
    blanked: int
    scanned_files: int
    scanned_bytes: int
    looked_for: int
    leftovers: tuple[str, ...]
    pending: tuple[str, ...]
    backups: tuple[str, ...]


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


def check_quota(limits: Mapping[str, object]) -> dict[str, int]:
    """Return the limits that are given, those that are not None.

    Raises:
        InvalidInput: one is unknown, no whole number, or below 0.
    """
    for name in limits:
        check_field(name, Limits.__annotations__, lack="a key has no limit")
    return {
        each.name: check_count(limits[each.name], each.name, low=0, high=_MOST)
        for each in fields(Quota)
        if limits.get(each.name) is not None
    }


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
        "quota": dict(key.quota.given()),
    }
