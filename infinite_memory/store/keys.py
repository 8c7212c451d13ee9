"""`store.keys`: the access keys of a store that a server serves."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.access.key import AccessKey, NewKey
from infinite_memory.engine.access_keys import (
    check_key,
    create_key,
    find_key,
    list_keys,
    revoke_key,
)
from infinite_memory.engine.calls import count_call
from infinite_memory.store.lifetime import Group


@measure_calls("keys.")
class AccessKeys(Group):
    """The access keys of a store: who may reach it through a server, and what exists for them.

    The store keeps a digest of each key, never the key itself. Keys belong to the whole store: a
    handle that was opened for some scopes, or made by `confine`, raises AccessDenied.
    """

    @count_call
    def create(
        self,
        name: str,
        *,
        rights: str | Iterable[str] = ("read",),
        scopes: str | Iterable[str] = ("*",),
        expires_at: datetime | None = None,
    ) -> NewKey:
        """Create a key; only the result has its `secret`, which cannot be read again.

        `rights` are "read", "write" and "admin"; each includes the rights before it. `scopes` are
        names, or patterns such as "team/*". `expires_at` must be aware.

        Raises:
            InvalidInput: a value cannot be used.
            Conflict: an active key has the name.
            AccessDenied: this handle does not manage keys.
        """
        return create_key(self._services, name, rights=rights, scopes=scopes, expires_at=expires_at)

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

    def check(self, secret: str) -> AccessKey:
        """Return the active key that `secret` belongs to; call it before every request.

        Raises:
            AccessDenied: there is no such key, or it was revoked, or has expired. The message is
                the same for all of them; `detail` tells the operator which it is. Or this handle
                does not manage keys.
        """
        return check_key(self._services, secret)
