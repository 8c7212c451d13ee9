"""Conversation scopes: a scope for every conversation, where the configuration asks for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from attrs import evolve

from infinite_memory.core.values.commit import Commit, Expect
from infinite_memory.core.values.memory import GLOBAL, Kind
from infinite_memory.core.values.scope import Scope, find_spelling, fold_name
from infinite_memory.engine.services import Services

if TYPE_CHECKING:
    from infinite_memory.core.values.draft import Draft


_OF_REPOSITORIES = (Kind.DECISION, Kind.LESSON, Kind.PROBLEM, Kind.SOLUTION, Kind.CODE_CHANGE)
_PREFIX = "conversations/"
_DIGEST_CHARS = 12
# Longer names of scopes are refused.
_MAX_ID_CHARS = 128 - len(_PREFIX)
_CUT_ID_CHARS = _MAX_ID_CHARS - 1 - _DIGEST_CHARS
_NOT_IN_NAMES = re.compile(r"[*,]")
_ENDS_IN_DIGEST = re.compile(rf"~[0-9a-f]{{{_DIGEST_CHARS}}}\Z")


def name_conversation_scope(conversation_id: str) -> str:
    """Return the name of the scope of a conversation; no two conversations have the same.

    Letter case counts in an id and not in the name of a scope, and an id may be longer than a name.
    So a digest goes with every id that its name would not tell from all others, or that would make
    the name a pattern or a list.
    """
    is_plain = fold_name(conversation_id) == conversation_id and not _NOT_IN_NAMES.search(
        conversation_id
    )
    fits = len(conversation_id) <= _MAX_ID_CHARS
    if is_plain and fits and not _ENDS_IN_DIGEST.search(conversation_id):
        return _PREFIX + conversation_id
    digest = sha256(conversation_id.encode()).hexdigest()[:_DIGEST_CHARS]
    shown = _NOT_IN_NAMES.sub("-", conversation_id[:_CUT_ID_CHARS])
    return f"{_PREFIX}{shown}~{digest}"


def unnamed_scope(services: Services, conversation_id: str | None) -> str:
    """Return the scope of a new memory whose caller named none.

    It is the scope of its conversation if the configuration asks for it, and this store may have
    that scope; otherwise the default scope.
    """
    default = services.default_scope
    if conversation_id is None or not services.config.conversation_scopes:
        return default
    name, confinement = _name_or_keep_scope(services, conversation_id), services.confinement
    return name if confinement is None or confinement.allows(name) else default


def _name_or_keep_scope(services: Services, conversation_id: str) -> str:
    """Return the name of the scope of a conversation, or the name that an earlier version gave."""
    if _NOT_IN_NAMES.search(conversation_id):
        earlier = find_spelling(_PREFIX + conversation_id, services.storage.scopes())
        if earlier is not None:
            return earlier
    return name_conversation_scope(conversation_id)


def unnamed_scopes(
    services: Services, conversation_id: str | None, scopes: Mapping[str, Scope]
) -> list[str]:
    """Return the scopes that a request reads whose caller named none; the first is the default.

    A request for one conversation reads the scope of that conversation too, if there is one.
    """
    default = services.default_scope
    own = find_spelling(unnamed_scope(services, conversation_id), scopes)
    return [default] if own is None or fold_name(own) == fold_name(default) else [default, own]


def active_scopes(
    services: Services, conversation_id: str | None, scopes: Mapping[str, Scope]
) -> set[str]:
    """Return the scopes in which the caller is at work, none if that is `Global` alone.

    They are the scope of the project once something is stored in it, a default scope other than
    `Global`, which need not exist yet, and the scope of the conversation.
    """
    names = unnamed_scopes(services, conversation_id, scopes)
    if services.default_scope != services.config.default_scope:
        del names[0]  # chosen by nobody, since the handle has no access to the configured one
    found = {find_spelling(name, scopes) or name for name in names}
    project = services.project
    if project is not None and (spelling := find_spelling(project.name, scopes)) is not None:
        found.add(spelling)
    return found - {GLOBAL}


def choose_project_scope(
    services: Services, kind: object, scopes: Mapping[str, Scope]
) -> str | None:
    """Return the scope of the repository at work if a new memory without a scope goes there.

    None if the `kind` is not about the work on a repository, or that scope takes nothing in.
    """
    project = services.project if kind in _OF_REPOSITORIES else None
    if project is None or not services.config.projects.rules_of(project.name).enabled:
        return None
    spelling = find_spelling(project.name, scopes)
    if spelling is None:
        return None if services.config.strict_scopes else project.name
    return spelling if scopes[spelling].active else None


def may_have_own_scope(services: Services, draft: Draft) -> bool:
    """Return whether `draft`, which is not checked yet, may go elsewhere than the default scope."""
    if draft.scope is not None:
        return False
    in_conversation = draft.conversation_id is not None and services.config.conversation_scopes
    return in_conversation or draft.kind in _OF_REPOSITORIES


def create_missing_scopes(
    names: Iterable[str], scopes: Mapping[str, Scope], services: Services
) -> Commit:
    """Return the part of a commit that creates the scopes among `names` that are missing.

    The parent of a conversation scope is the default scope, and that of the repository at work is
    `Projects`; a parent is created too if it is missing. The commit is refused if a scope was
    created, changed or removed since `scopes` was read.
    """
    names = set(names)
    made = {name: _plan_scope(name, scopes, services) for name in names - scopes.keys()}
    parents = {scope.parent for scope in made.values() if scope.parent is not None}
    wanted = sorted({*names, *parents} - {GLOBAL})
    return Commit(
        expect=Expect(scopes={name: scopes.get(name) for name in wanted}),
        scopes=[made.get(name, Scope(name=name)) for name in wanted if name not in scopes],
    )


def _plan_scope(name: str, scopes: Mapping[str, Scope], services: Services) -> Scope:
    """Return the scope that is made with the `name`."""
    default = find_spelling(services.default_scope, scopes) or services.default_scope
    if services.config.conversation_scopes and _has_parent(name, default):
        sensitivity = scopes.get(default, Scope(name=default)).sensitivity
        return Scope(name=name, parent=default, sensitivity=sensitivity)
    project = services.project
    if project is None or fold_name(name) != project.folded_name:
        return Scope(name=name)
    parent = project.parent and (find_spelling(project.parent, scopes) or project.parent)
    return evolve(project, name=name, parent=parent)


def is_conversation_scope(name: str) -> bool:
    """Return whether a scope is that of a conversation, by its name."""
    return fold_name(name).startswith(_PREFIX)


def _has_parent(name: str, default: str) -> bool:
    return (
        is_conversation_scope(name) and default != GLOBAL and fold_name(name) != fold_name(default)
    )
