"""Handles for clients over a store that is open: a handle shows some scopes, or only reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from attrs import evolve

from infinite_memory.core.observe.recorder import Recorder
from infinite_memory.core.values.access.key import AccessKey, Right
from infinite_memory.core.values.access.scope_pattern import (
    EVERYTHING,
    check_scope_patterns,
    find_own_scope,
)
from infinite_memory.core.values.checks import check_flag, check_label
from infinite_memory.core.values.entry import Actor
from infinite_memory.engine.calls import Calls
from infinite_memory.engine.retrieval.recent_recalls import RecentRecalls
from infinite_memory.storage.confined import ConfinedStorage, Confinement
from infinite_memory.storage.confined.ledger import QuotaCheck
from infinite_memory.storage.read_only import ReadOnlyStorage
from infinite_memory.store.lifetime import Lifetime


def confine_lifetime(
    parent: Lifetime,
    *,
    scopes: str | Iterable[str],
    client: str | None,
    read_only: bool,
    key: AccessKey | str,
) -> Lifetime:
    """Open a handle over the store of `parent`; see `MemoryStore.confine`.

    Raises:
        InvalidInput: a scope or the name of the client cannot be used.
        StoreClosed: the store is closed.
    """
    services = parent.services
    key_id = key.id if isinstance(key, AccessKey) else check_label(key, "key") if key else ""
    given = check_scope_patterns(scopes)
    names = _narrow_scopes(given, services.confinement)
    name = services.actor.client if client is None else check_label(client, "client")
    storage, models = services.storage, services.models
    if check_flag(read_only, "read_only"):
        storage = ReadOnlyStorage(storage)
    if names is not None:
        storage = ConfinedStorage(storage, names, _make_quota_check(parent, names, key_id))
        models = models.confine(storage)
    return parent.add(
        evolve(
            services,
            storage=storage,
            models=models,
            actor=Actor(
                client=name,
                process=_name_process(services.actor, name),
                key=key_id,
            ),
            manages_keys=names is None
            and services.manages_keys
            and _may_administer(parent, key, everything=True),
            erases_in=services.erases_in
            if not key or _may_administer(parent, key, everything=False)
            else find_own_scope(given) or "",
            recent_recalls=RecentRecalls(),
            calls=Calls(within=services.calls),
            recorder=services.recorder if names is None else Recorder(within=services.recorder),
        )
    )


def _may_administer(parent: Lifetime, key: AccessKey | str, *, everything: bool) -> bool:
    """Return whether a key has the right `admin`, and if `everything` for every scope.

    A key that is given as a value may have fewer rights than the stored one: a token narrowed it.
    """
    if not key:
        return False
    keys = parent.root.services.storage
    shown = keys.access_keys([key]).get(key) if isinstance(key, str) else key
    if shown is None or not shown.allows(Right.ADMIN):
        return False
    return EVERYTHING in shown.scopes or not everything


def _make_quota_check(parent: Lifetime, names: Sequence[str], key: str) -> QuotaCheck | None:
    """Return what checks the quota of a person's key; the keys are in the whole store."""
    scope = find_own_scope(names)
    if not key or scope is None:
        return None
    root = parent.root.services
    return QuotaCheck(storage=root.storage, ledger=root.ledger, key=key, scope=scope)


def _narrow_scopes(names: tuple[str, ...], outer: Confinement | None) -> tuple[str, ...] | None:
    """Return the scopes of a handle within `outer`, None for all scopes of the whole store."""
    if EVERYTHING not in names:
        return names
    return None if outer is None else outer.names


def _name_process(actor: Actor, client: str) -> str:
    """Return a name of this process for a client, so that it undoes only its own changes."""
    digest = blake2b(client.encode(), digest_size=4).hexdigest()
    return f"{actor.process}-{digest}"
