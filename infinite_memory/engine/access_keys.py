"""Access keys: create, list and revoke keys, and check the key that a client shows."""

from __future__ import annotations

import hmac
import re
from base64 import b32encode
from collections.abc import Iterable, Mapping
from datetime import datetime
from difflib import get_close_matches
from hashlib import sha256
from itertools import islice

from attrs import evolve

from infinite_memory.core.errors import AccessDenied, Conflict, InvalidInput, NotFound
from infinite_memory.core.values.access.key import (
    CALLS,
    AccessKey,
    KeyState,
    KeyUsage,
    Limits,
    NewKey,
    Quota,
    Right,
    check_quota,
    check_rights,
)
from infinite_memory.core.values.access.scope_pattern import (
    EVERYTHING,
    check_scope_pattern,
    check_scope_patterns,
    find_own_scope,
    name_own_scope,
)
from infinite_memory.core.values.checks import check_count, check_label
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.commit import Commit, Expect, merge_commits
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.scope import Scope, Sensitivity, find_spelling
from infinite_memory.core.values.verification import Finding, RecordKind
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.storage.confined import no_keys_here

_MAX_NAME_CHARS = 64
_MAX_USAGES = 100_000
_ID_BYTES = 5
_SECRET_BYTES = 32
_SHOWN = re.compile(r"im_([a-z2-7]{8})_[a-z2-7]{52}")
_NO_DIGEST = bytes(sha256().digest_size)
_NOT_ACCEPTED = (
    "the access key is not accepted: check it, or ask the operator of this server for another"
)


def create_key(
    services: Services,
    name: object,
    *,
    rights: object,
    scopes: object,
    expires_at: object,
    shared: object = None,
    limits: Mapping[str, object] | None = None,
) -> NewKey:
    """Create a key, and return it with its secret; see `AccessKeys.create`.

    Raises:
        AccessDenied: the handle was not opened for the whole store.
        InvalidInput: a value cannot be used.
        Conflict: an active key has the name, or the scope of the person is in use.
    """
    _refuse_other_handles(services)
    label = check_label(name, "name", max_chars=_MAX_NAME_CHARS)
    asked = () if rights is None else check_rights(rights)
    is_person = shared is not None or (scopes is None and Right.ADMIN not in asked)
    own = _check_own_scope(label, scopes) if is_person else None
    granted = asked or check_rights((Right.READ,) if own is None else (Right.WRITE,))
    patterns = _choose_patterns(own, scopes, () if shared is None else shared)
    quota = _check_limits(Quota(), limits or {}, find_own_scope(patterns), label)
    expiry = None if expires_at is None else services.read_time(expires_at, "expires_at")
    for attempt in attempts():
        now = services.clock()
        if expiry is not None and expiry <= now:
            raise InvalidInput(f"expires_at {iso(expiry)} is in the past: give a later time")
        present = services.storage.access_keys()
        _refuse_taken_name(present, label, now)
        key_id = _make_id(services, present)
        secret = f"im_{key_id}_{_make_random_text(services, _SECRET_BYTES)}"
        key = AccessKey(
            id=key_id,
            name=label,
            digest=_digest_secret(secret),
            rights=granted,
            scopes=patterns,
            created_at=now,
            created_by=services.actor.client,
            expires_at=expiry,
            quota=quota,
        )
        made = None if own is None else _plan_own_scope(services, own, label, now)
        with attempt:
            _commit_key(services, Operation.CREATE_KEY, key, present, _describe_key(key), made)
            break
    return NewKey(key=key, secret=secret)


def _refuse_taken_name(present: Mapping[str, AccessKey], name: str, now: datetime) -> None:
    if (holder := _find_active(present, name, now)) is not None:
        raise Conflict(
            f"the active access key {holder.id} is named {holder.name!r}: choose another name,"
            " or revoke that key first"
        )


def _check_limits(quota: Quota, limits: Mapping[str, object], own: str | None, name: str) -> Quota:
    """Return a quota with the limits that are given.

    Raises:
        InvalidInput: a limit cannot be used.
    """
    changed = evolve(quota, **check_quota(limits))
    if own is None and changed.limits_what_is_kept:
        raise InvalidInput(
            f"the key {name!r} is that of no person, so nobody counts what it keeps: limit its"
            f" {CALLS} alone, or make a key for a person"
        )
    return changed


def limit_key(services: Services, name_or_id: object, limits: Mapping[str, object]) -> AccessKey:
    """Change the limits of a key that are given; see `AccessKeys.limit`.

    Raises:
        AccessDenied: the handle was not opened for the whole store.
        InvalidInput: a limit cannot be used, or none is given.
        NotFound: no key has the name or the id.
    """
    _refuse_other_handles(services)
    if not check_quota(limits):
        raise InvalidInput(f"no limit was given: give {', '.join(Limits.__annotations__)}")
    for attempt in attempts():
        present = services.storage.access_keys()
        key = choose_key(services, present, name_or_id)
        quota = _check_limits(key.quota, limits, key.own_scope, key.name)
        limited = evolve(key, quota=quota)
        if limited == key:
            return key
        with attempt:
            given = ", ".join(f"{name} {number:,}" for name, number in quota.given().items())
            reason = f"{key.name} ({key.id}): {given or 'no limit'}"
            _commit_key(services, Operation.LIMIT_KEY, limited, present, reason)
            break
    return limited


def list_usage(services: Services, *, limit: int) -> list[KeyUsage]:
    """Return how much the people with the oldest active keys keep, the oldest first.

    Raises:
        AccessDenied: the handle was not opened for the whole store.
        InvalidInput: the limit cannot be used.
    """
    most, now = check_count(limit, "limit", low=1, high=_MAX_USAGES), services.clock()
    of_people = (
        (key, scope)
        for key in list_keys(services)
        if (scope := key.own_scope) and key.state_at(now) is KeyState.ACTIVE
    )
    return [
        KeyUsage(
            id=key.id,
            name=key.name,
            scope=scope,
            kept=services.ledger.read(scope),
            quota=key.quota,
        )
        for key, scope in islice(of_people, most)
    ]


def _check_own_scope(name: str, scopes: object) -> str:
    if scopes is not None:
        raise InvalidInput("give either `scopes`, which are all, or `shared`, beside the own scope")
    return check_scope_pattern(name_own_scope(name))


def _choose_patterns(own: str | None, scopes: object, shared: object) -> tuple[str, ...]:
    if own is None:
        return check_scope_patterns(EVERYTHING if scopes is None else scopes)
    beside = (shared,) if isinstance(shared, str) else shared
    if not isinstance(beside, Iterable):
        raise InvalidInput(f"shared must be a list of texts, not {shared!r:.100}")
    patterns = check_scope_patterns((own, *beside))
    if EVERYTHING in patterns:
        raise InvalidInput(
            "shared has '*', and a key for every scope has none of its own: name the scopes that"
            " are shared, or give the key the `scopes` '*'"
        )
    return patterns


def _plan_own_scope(services: Services, name: str, key_name: str, now: datetime) -> Commit:
    """Return the part of a commit that creates the private scope of a person.

    Raises:
        Conflict: the scope is in use, or another process has just made it with a key of the name.
    """
    scopes, criteria = services.storage.scopes(), Criteria(scopes=frozenset({name}))
    taken = find_spelling(name, scopes)
    if taken is not None or services.storage.find(criteria, limit=1).memories:
        _refuse_taken_name(services.storage.access_keys(), key_name, now)
        raise Conflict(
            f"the scope {taken or name!r} is in use: choose another name; a further key of the same"
            f" person has the `scopes` {taken or name!r} and those that are shared"
        )
    scope = Scope(name=name, sensitivity=Sensitivity.PRIVATE)
    expect = Expect(scopes={name: None}, unused=frozenset({name}))
    return Commit(expect=expect, scopes=(scope,))


def add_keys(
    services: Services, keys: Iterable[AccessKey], *, reason: str
) -> tuple[int, tuple[Finding, ...]]:
    """Add the keys of another store whose ids no key here has; a key that is here stays as it is.

    Return how many were added, and the active keys whose name an active key here has: they are
    refused. Each addition is an entry of the journal, with the `reason`.

    Raises:
        AccessDenied: the handle was not opened for the whole store.
    """
    _refuse_other_handles(services)
    added, refused = 0, []
    for key in keys:
        for attempt in attempts():
            now, present = services.clock(), services.storage.access_keys()
            if key.id in present:
                break
            holder = _find_active(present, key.name, now)
            if holder is not None and key.state_at(now) is KeyState.ACTIVE:
                refused.append(_refuse_name(key, holder))
                break
            with attempt:
                described = f"{reason}: {_describe_key(key)}"
                _commit_key(services, Operation.CREATE_KEY, key, present, described)
                added += 1
                break
    return added, tuple(refused)


def _refuse_name(key: AccessKey, holder: AccessKey) -> Finding:
    return Finding(
        part=RecordKind.ACCESS_KEY,
        id=key.id,
        what=f"the access key {key.id} is named {key.name!r}, as the active key {holder.id} here",
        way_out="revoke the key that is here, and repeat this, if that one shall let its holder in",
    )


def list_keys(services: Services) -> list[AccessKey]:
    """Return every key, the oldest first.

    Raises:
        AccessDenied: the handle was not opened for the whole store.
    """
    _refuse_other_handles(services)
    keys = services.storage.access_keys().values()
    return sorted(keys, key=lambda key: (key.created_at, key.id))


def find_key(services: Services, name_or_id: object) -> AccessKey:
    """Return the active key with an id or a name.

    Raises:
        AccessDenied: the handle was not opened for the whole store.
        NotFound: no active key has the name or the id.
    """
    _refuse_other_handles(services)
    wanted = check_label(name_or_id, "key", max_chars=_MAX_NAME_CHARS)
    now, access_keys = services.clock(), services.storage.access_keys
    key = access_keys([wanted]).get(wanted) or _find_by_name(access_keys(), wanted, now)
    if key is None or key.state_at(now) is not KeyState.ACTIVE:
        raise NotFound(f"no active access key has the name or the id {wanted!r}: create one")
    return key


def revoke_key(services: Services, name_or_id: object) -> AccessKey:
    """Revoke the key with an id, or the newest with a name, an active one first; return it.

    A revoked key is returned as it is.

    Raises:
        AccessDenied: the handle was not opened for the whole store.
        NotFound: no key has the name or the id.
    """
    _refuse_other_handles(services)
    for attempt in attempts():
        now, present = services.clock(), services.storage.access_keys()
        key = choose_key(services, present, name_or_id)
        if key.revoked_at is not None:
            return key
        revoked = evolve(key, revoked_at=now)
        with attempt:
            reason = f"{key.name} ({key.id})"
            _commit_key(services, Operation.REVOKE_KEY, revoked, present, reason)
            break
    return revoked


def check_key(services: Services, secret: object) -> AccessKey:
    """Return the active key that `secret` belongs to.

    An unknown id costs the same comparison as a known one.

    Raises:
        AccessDenied: the text is no key, or its key is unknown, revoked or expired; the message is
            the same for all of them, and `detail` says which. Or the handle was not opened for the
            whole store.
    """
    _refuse_other_handles(services)
    match = _SHOWN.fullmatch(secret) if isinstance(secret, str) else None
    key_id = "" if match is None else match[1]
    key = services.storage.access_keys([key_id]).get(key_id)
    digest = _digest_secret("" if match is None else match[0])
    is_equal = hmac.compare_digest(_NO_DIGEST if key is None else key.digest, digest)
    if match is None:
        raise _make_denial("what was shown has not the form of an access key, im_ID_SECRET")
    if key is None:
        raise _make_denial(f"no access key has the id {key_id!r}")
    if not is_equal:
        raise _make_denial(f"the secret is not that of the access key {key.name!r} ({key.id})")
    state = key.state_at(services.clock())
    if state is KeyState.REVOKED:
        raise _make_denial(
            f"the access key {key.name!r} ({key.id}) was revoked {iso(key.revoked_at)}"
        )
    if state is KeyState.EXPIRED:
        raise _make_denial(f"the access key {key.name!r} ({key.id}) expired {iso(key.expires_at)}")
    return key


def _refuse_other_handles(services: Services) -> None:
    if services.confinement is not None or not services.manages_keys:
        raise no_keys_here()


def _make_denial(detail: str) -> AccessDenied:
    return AccessDenied(_NOT_ACCEPTED, detail=detail)


def choose_key(
    services: Services, present: Mapping[str, AccessKey], name_or_id: object
) -> AccessKey:
    """Return the key with an id or a name.

    Raises:
        NotFound: no key has it.
    """
    wanted = check_label(name_or_id, "key", max_chars=_MAX_NAME_CHARS)
    key = present.get(wanted) or _find_by_name(present, wanted, services.clock())
    if key is None:
        names = [known.name for known in present.values()]
        near = get_close_matches(wanted, names, n=1, cutoff=0.0)
        hint = f": the nearest is {near[0]!r}" if near else ": there are no keys"
        raise NotFound(f"no access key has the name or the id {wanted!r}{hint}")
    return key


def _find_by_name(keys: Mapping[str, AccessKey], name: str, now: datetime) -> AccessKey | None:
    """Return the key with the name: an active one, else one that is not revoked, the newest."""
    order = list(KeyState)
    named = [key for key in keys.values() if key.name.casefold() == name.casefold()]
    return min(
        sorted(named, key=lambda key: key.created_at, reverse=True),
        key=lambda key: order.index(key.state_at(now)),
        default=None,
    )


def _find_active(keys: Mapping[str, AccessKey], name: str, now: datetime) -> AccessKey | None:
    """Return the active key with the name, None if there is none."""
    key = _find_by_name(keys, name, now)
    return key if key is not None and key.state_at(now) is KeyState.ACTIVE else None


def _commit_key(
    services: Services,
    operation: Operation,
    key: AccessKey,
    present: Mapping[str, AccessKey],
    reason: str,
    further: Commit | None = None,
) -> None:
    # All keys are expected as they were read, so that no other process takes the same name.
    commit = Commit(expect=Expect(access_keys=present), access_keys=(key,))
    commit = commit if further is None else merge_commits(further, commit)
    services.storage.commit(
        with_entry(services, operation, commit, reason=reason, access_key=key.id)
    )


def _describe_key(key: AccessKey) -> str:
    ends = "" if key.expires_at is None else f", until {iso(key.expires_at)}"
    return f"{key.name} ({key.id}): {_join_rights(key.rights)} in {', '.join(key.scopes)}{ends}"


def _join_rights(rights: tuple[Right, ...]) -> str:
    return ", ".join(map(str, rights))


def _make_id(services: Services, present: Mapping[str, AccessKey]) -> str:
    while (key_id := _make_random_text(services, _ID_BYTES)) in present:
        pass
    return key_id


def _make_random_text(services: Services, count: int) -> str:
    return b32encode(services.random_bytes(count)).decode().rstrip("=").lower()


def _digest_secret(secret: str) -> bytes:
    """Return the SHA-256 of a secret; nobody can try 256 random bits, so no slow hash is needed."""
    return sha256(secret.encode()).digest()
