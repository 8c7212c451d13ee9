"""Validation: build a memory from the values of a caller, past the guard against secrets.

What somebody stores by a call is kept with its secrets, and the receipt says so. What comes in
unattended, from hooks, sessions and imports, is masked. The configuration decides for a scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

from infinite_memory.core.config import Limits, SecretPolicy
from infinite_memory.core.errors import InvalidInput, ScopeNotCreated, SecretRefused
from infinite_memory.core.secrets import (
    Masker,
    is_unattended,
    mask_secrets,
    may_hold_secret,
    note_masked,
)
from infinite_memory.core.values.access.scope_pattern import ScopePattern
from infinite_memory.core.values.checks import (
    check_choice,
    check_context,
    check_field,
    check_flag,
    check_label,
    check_labels,
    check_text,
)
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType, MemoryField
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.messages import suggest_name
from infinite_memory.core.values.scope import Scope, find_spelling, fold_name
from infinite_memory.engine.conversation_scopes import choose_project_scope, unnamed_scope
from infinite_memory.engine.scopes import (
    check_new_scope_name,
    check_scope_name,
    known_scope,
    read_scope_name,
)
from infinite_memory.engine.services import Services
from infinite_memory.engine.visibility import visible_names
from infinite_memory.search.text.keys import check_key
from infinite_memory.search.text.typos import find_near_names

if TYPE_CHECKING:
    from infinite_memory.core.values.conversation.message import ChatMessage
    from infinite_memory.core.values.receipt import Receipt

_MAX_TITLE_CHARS = 500
GUARDED = ("text", "title", "tags", "attachments", "context")
"""The fields that may hold a secret."""
_ASSIGNED = {"id", "scope", "stored_at", "revision"}
# The fields that a caller gives as such; the operations set the rest of them.
_GIVEN = {field.name: field for field in MEMORY_FIELDS if field.name not in _ASSIGNED}
_DRAFT_FIELDS = tuple(
    attribute.name for attribute in attrs.fields(Draft) if attribute.name in _GIVEN
)
_read_fields = attrgetter(*_DRAFT_FIELDS)


@attrs.frozen
class Found:
    """The kinds of the secrets in a write, once for each: those `kept`, and those `masked`."""

    kept: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()

    def tell(self, receipt: Receipt) -> Receipt:
        """Return a receipt that says what was found."""
        if not self.kept and not self.masked:
            return receipt
        return attrs.evolve(receipt, secrets=self.kept, masked=self.masked)


NO_SECRETS = Found()
"""Nearly always what the guard finds."""


def guard_fields(services: Services, values: dict[str, Any], scope: str | None = None) -> Found:
    """Look for secrets in the fields of a memory, and mask them in `values` where they are masked.

    Raises:
        SecretRefused: the scope takes no secrets.
    """
    context = values.get("context") or {}
    # Stored bytes are no text, and to mask them would damage them.
    if context and context.get("indexed") is False and isinstance(context.get("content"), Mapping):
        return NO_SECRETS
    texts = [values.get("text") or "", values.get("title") or "", *values.get("tags", ())]
    if context:
        texts.append(str(context))
    if values.get("attachments"):
        texts += values["attachments"]
    if not may_hold_secret("\n".join(texts)):
        return NO_SECRETS
    masker = Masker()
    changed = {name: masker.mask(values[name], name) for name in GUARDED if values.get(name)}
    if not masker.found:
        return NO_SECRETS
    kinds = tuple([kind for kind, _, _ in masker.found])
    policy = choose_policy(services, scope)
    if policy is SecretPolicy.REFUSE:
        kind, place, _ = masker.found[0]
        raise SecretRefused(
            f"there is a secret of the kind {kind!r} in {mask_secrets(place)[0]}, and the scope"
            f" {scope!r:.160} takes none: write [secret: {kind}] in its place, or change `secrets`"
            " of the configuration; nothing was stored"
        )
    if policy is SecretPolicy.ALLOW:
        return NO_SECRETS
    if policy is None:
        return Found(kept=kinds)
    for kind, _, value in masker.found:
        note_masked(kind, value)
    values.update(changed)
    return Found(masked=kinds)


def tell_of(services: Services, receipt: Receipt, memory: Memory) -> Receipt:
    """Return the receipt of a memory that passed the guard, with the secrets that it holds."""
    values = {name: getattr(memory, name) for name in GUARDED}
    return guard_fields(services, values, memory.scope).tell(receipt)


def guard_messages(
    services: Services, messages: Sequence[ChatMessage], scope: str
) -> tuple[tuple[ChatMessage, ...], Found]:
    """Return messages as they are to be stored, so that they are known again, and what was found.

    Raises:
        SecretRefused: the scope takes no secrets.
    """
    guarded: list[ChatMessage] = []
    masked: list[str] = []
    for message in messages:
        values: dict[str, Any] = {"text": message.content}
        masked += guard_fields(services, values, scope).masked
        is_same = values["text"] == message.content
        guarded.append(message if is_same else attrs.evolve(message, content=values["text"]))
    return tuple(guarded), Found(masked=tuple(masked))


def choose_policy(services: Services, scope: str | None) -> SecretPolicy | None:
    """Return what the configuration says of a scope; None keeps the secret, and says so."""
    folded = fold_name(scope or "")
    for pattern, policy in services.config.secrets.items():
        if ScopePattern(pattern).matches(folded):
            return policy
    return SecretPolicy.MASK if is_unattended() else None


def build_memory(
    draft: Draft,
    services: Services,
    scopes: Mapping[str, Scope],
    now: datetime,
    *,
    create_scope: bool | None = None,
    found: list[Found] | None = None,
) -> Memory:
    """Return the memory that `draft` describes; `create_scope` is as in `resolve_scope`.

    `found`, if given, receives what the guard says of its secrets.

    Raises:
        InvalidInput: a field cannot be used.
        SecretRefused: it has a secret, and its scope takes none.
        UnknownScope: scopes are strict and no scope has that name.
    """
    fields = dict(zip(_DRAFT_FIELDS, _read_fields(draft), strict=True))
    if draft.happened_at is None:
        fields["happened_at"] = now
    values = _normalize_fields(fields, services)
    check_validity(values["valid_from"], values["valid_to"])
    scope = _resolve_draft_scope(
        draft, values["conversation_id"], values["kind"], scopes, services, create=create_scope
    )
    secrets = guard_fields(services, values, scope)
    if found is not None:
        found.append(secrets)
    return Memory(
        id=services.make_id(now, scope) if draft.id is None else check_id(draft.id),
        scope=scope,
        stored_at=now,
        **values,
    )


def check_fields(
    values: Mapping[str, Any],
    services: Services,
    scope: str | None = None,
    found: list[Found] | None = None,
) -> dict[str, Any]:
    """Return `values`, which are fields of a memory in `scope`, in their stored form.

    `found` is as in `build_memory`.

    Raises:
        InvalidInput: a field cannot be used.
    """
    for name in [name for name in values if name not in _GIVEN]:
        check_field(name, _GIVEN)
    normalized = _normalize_fields(values, services)
    secrets = guard_fields(services, normalized, scope)
    if found is not None:
        found.append(secrets)
    return normalized


def _normalize_fields(values: Mapping[str, Any], services: Services) -> dict[str, Any]:
    normalized = dict(values)
    for name, value in values.items():
        if value is not _GIVEN[name].default:
            normalized[name] = _check_value(_GIVEN[name], value, services)
    return normalized


def resolve_scope(
    name: str, scopes: Mapping[str, Scope], services: Services, *, create: bool | None = None
) -> str:
    """Return the scope that a memory goes into: the existing spelling, or a new name.

    With `create` None a new name is taken unless scopes are strict, with True always, and with
    False unless scopes are strict or the name is near the name of a scope.

    Raises:
        UnknownScope: no scope has that name and it is not taken, or this store was not opened for
            the scope.
        InvalidInput: no scope has that name, and no new one may have it.
    """
    if create is not None:
        check_flag(create, "create_scope")
    if isinstance(name, str) and name in scopes:
        return name
    typed = check_scope_name(name)
    wanted = read_scope_name(typed, scopes, services)
    if wanted in scopes:
        return wanted
    confinement = services.confinement
    is_outside = confinement is not None and not confinement.allows(wanted)
    if is_outside or (services.config.strict_scopes and create is None):
        return known_scope(wanted, scopes, services).name  # raises
    check_new_scope_name(wanted)
    # A name that nobody typed, since it stands for the repository, is near none by mistake.
    if create is False and (wanted == typed or services.config.strict_scopes):
        _check_new_scope(wanted, scopes, services)
    return wanted


def _check_new_scope(name: str, scopes: Mapping[str, Scope], services: Services) -> None:
    """Refuse the name of a new scope that is likely to be a typing error, or if scopes are strict.

    Raises:
        ScopeNotCreated: the name is refused; the message names the nearest scope.
    """
    known = visible_names(services, scopes)
    # A store that is confined to scopes was opened with the name of the new one.
    near = find_near_names(name, known) if services.confinement is None else []
    if not near and not services.config.strict_scopes:
        return
    candidates = near or known
    raise ScopeNotCreated.of(name, suggest_name(name, candidates) if candidates else None)


def _resolve_draft_scope(
    draft: Draft,
    conversation_id: str | None,
    kind: Kind,
    scopes: Mapping[str, Scope],
    services: Services,
    *,
    create: bool | None,
) -> str:
    """Return the scope of a new memory, also if its caller gave none."""
    if draft.scope is not None:
        return resolve_scope(draft.scope, scopes, services, create=create)
    # A configured name is no typing error of the caller.
    create = None if create is False else create
    default = resolve_scope(services.default_scope, scopes, services, create=create)
    chosen = unnamed_scope(services, conversation_id)
    if chosen == services.default_scope:
        return choose_project_scope(services, kind, scopes) or default
    # Strict scopes refuse a name that is mistyped, and this one was typed by nobody.
    return find_spelling(chosen, scopes) or chosen


def check_validity(start: datetime | None, end: datetime | None) -> None:
    """Refuse a range of validity that ends before it begins."""
    if start is not None and end is not None and end <= start:
        raise InvalidInput(
            f"valid_to {end.isoformat()} must be later than valid_from {start.isoformat()}"
        )


def _check_value(field: MemoryField, value: Any, services: Services) -> Any:
    """Return a value in its stored form, by the type of `field` or by a rule of its own."""
    if field.name in _OWN_CHECKS:
        return _OWN_CHECKS[field.name](value, services.config.limits)
    if field.choices is not None:
        return check_choice(value, field.choices, field.name)
    if field.value_type is FieldType.TIME:
        return services.read_time(value, field.name)
    return _CHECKS[field.value_type](value, field.name)


_OWN_CHECKS: Mapping[str, Callable[[Any, Limits], Any]] = {
    "text": lambda v, limits: check_text(v, "text", max_bytes=limits.max_text_bytes),
    "title": lambda v, _: check_label(v, "title", max_chars=_MAX_TITLE_CHARS),
    "tags": lambda v, _: check_labels(v, "tags", max_chars=128),
    "context": lambda v, limits: check_context(v, max_bytes=limits.max_context_bytes),
    "sources": lambda v, _: tuple(check_id(s) for s in check_labels(v, "sources")),
    "attachments": lambda v, _: check_labels(v, "attachments", max_chars=2048),
    "key": lambda v, _: check_key(v),
}

_CHECKS: Mapping[FieldType, Callable[[Any, str], Any]] = {
    FieldType.TEXT: check_label,
    FieldType.TEXTS: check_labels,
    FieldType.FLAG: check_flag,
}
