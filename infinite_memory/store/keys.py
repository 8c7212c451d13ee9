"""`store.keys`: the access keys of a store that a server serves."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable
from typing import Unpack

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.access.key import (
    AccessKey,
    KeyUsage,
    Limits,
    NewKey,
    RemovedPerson,
)
from infinite_memory.core.values.timestamps import TimeLike
from infinite_memory.engine.access_keys import (
    check_key,
    create_key,
    find_key,
    limit_key,
    list_keys,
    list_usage,
    revoke_key,
)
from infinite_memory.engine.calls import count_call
from infinite_memory.store.lifetime import Group


@measure_calls("keys.")
class AccessKeys(Group):
    """The access keys of a store: who may reach it through a server, and what exists for them.

    The store keeps a digest of each key, never the key itself. Keys belong to the whole store: a
    handle that was opened for some scopes, or made by `confine` for anything but a key with the
    right `admin` for every scope, raises AccessDenied.
    """

    @count_call
    def create(
        self,
        name: str,
        *,
        rights: str | Iterable[str] | None = None,
        scopes: str | Iterable[str] | None = None,
        shared: str | Iterable[str] | None = None,
        expires_at: TimeLike | None = None,
        **limits: Unpack[Limits],
    ) -> NewKey:
        """Create a key; only the result has its `secret`, which cannot be read again.

        It is the key of a person: a private scope of their own is made, such as "people/anna", and
        `shared` are the scopes beside it. With `scopes` it is that of no person: they are all that
        it is for, names or patterns such as "team/*", and "*" is every scope, as it is for a key
        with the right "admin" and neither. `rights` are "read", "write" and "admin"; each includes
        the rights before it. The key of a person writes by default, and another one reads.
        `expires_at` may be in words. `limits` are those of `limit`.

        Raises:
            InvalidInput: a value cannot be used.
            Conflict: an active key has the name, or the scope of the person is in use.
            AccessDenied: this handle does not manage keys.
        """
        return create_key(
            self._services,
            name,
            rights=rights,
            scopes=scopes,
            shared=shared,
            expires_at=expires_at,
            limits=limits,
        )

    @count_call
    def limit(self, name_or_id: str, **limits: Unpack[Limits]) -> AccessKey:
        """Change how much the holder of a key may keep and ask, for every process at once.

        `limits` are max_memories, max_bytes, max_attachment_bytes and calls_a_minute; what is not
        given stays, and 0 is any number. All but the calls limit what the person's own scope keeps,
        see `Kept`: a change that adds more is refused, and nothing of it is stored.

        Raises:
            InvalidInput: a limit cannot be used, or the key is that of no person.
            NotFound: no key has the name or the id.
            AccessDenied: this handle does not manage keys.
        """
        return limit_key(self._services, name_or_id, limits)

    def usage(self, *, limit: int = 1000) -> builtins.list[KeyUsage]:
        """Return how much the people with the `limit` oldest active keys keep, and may keep.

        The first call reads the memories of these scopes, a later one what changed since.

        Raises:
            InvalidInput: the limit cannot be used.
            AccessDenied: this handle does not manage keys.
        """
        return list_usage(self._services, limit=limit)

    def list(self) -> list[AccessKey]:
        """Return every key, the oldest first, with the expired and the revoked ones.

        Raises:
            AccessDenied: this handle does not manage keys.
        """
        return list_keys(self._services)

    def find(self, name_or_id: str) -> AccessKey:
        """Return the active key with an id or a name; by its id as fast among many keys.

        Raises:
            NotFound: there is none. Or AccessDenied: this handle does not manage keys.
        """
        return find_key(self._services, name_or_id)

    @count_call
    def revoke(self, name_or_id: str) -> AccessKey:
        """Revoke a key for good, for every process at once; revoking it again does nothing.

        Of several keys with a name, the active one is meant.

        Raises:
            NotFound: no key has the name or the id.
            AccessDenied: this handle does not manage keys.
        """
        return revoke_key(self._services, name_or_id)

    @count_call
    def remove(self, name_or_id: str, *, export_to: str | os.PathLike[str] | None) -> RemovedPerson:
        """Remove a person: export what is theirs, erase all of it for good, and look for the rest.

        The memories in their own scope are written to `export_to`, as `exchange.export` does in the
        format "jsonl", unless it is None. Then their keys are revoked, and everything in the scope
        is erased: memories of any status with histories and vectors, and so the profile, triggers,
        reminders, short-term memory and attachments; and the revisions that memories had there
        before they left it. At the end each file of the store is read, the backups left out, and
        searched for the erased texts and vectors. The journal keeps who did what, with ids.

        Raises:
            InvalidInput: the key is that of no person, or the path cannot be used.
            NotFound: no key has the name or the id.
            Conflict: there is something at the path, or the scope is the parent of others.
            AccessDenied: this handle does not manage keys.
        """
        from infinite_memory.features.archive.removal import remove_person

        return remove_person(self._services, name_or_id, export_to=export_to)

    def check(self, secret: str) -> AccessKey:
        """Return the active key that `secret` belongs to; call it before every request.

        Raises:
            AccessDenied: there is no such key, or it was revoked, or has expired. The message is
                the same for all of them; `detail` tells the operator which it is. Or this handle
                does not manage keys.
        """
        return check_key(self._services, secret)
