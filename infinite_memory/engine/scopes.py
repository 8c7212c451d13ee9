"""Scopes: choose the scopes of a search; create, change and remove scopes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from attrs import evolve, frozen

from infinite_memory.core.errors import Conflict, InvalidInput, UnknownScope
from infinite_memory.core.values.address import masked
from infinite_memory.core.values.checks import check_choice, check_flag, check_label, check_labels
from infinite_memory.core.values.commit import Commit, Expect
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import GLOBAL, Memory
from infinite_memory.core.values.scope import (
    PROJECT,
    Scope,
    ScopeTable,
    Sensitivity,
    find_name_problem,
    find_spelling,
    fold_name,
    names_within,
    visible_from,
)
from infinite_memory.engine.conversation_scopes import (
    active_scopes,
    is_conversation_scope,
    unnamed_scope,
    unnamed_scopes,
)
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.services import Services
from infinite_memory.engine.visibility import public_names
from infinite_memory.search.text.quotation import quote_label

ALL = "ALL"
"""Asks a search for every scope."""

_MAX_NAME_CHARS = 128


def check_scope_name(name: object) -> str:
    """Return the name of a scope without white space around it.

    Raises:
        InvalidInput: the name is empty, longer than 128 characters, not printable, or the word ALL.
    """
    checked = check_label(name, "scope", max_chars=_MAX_NAME_CHARS)
    if _means_all(checked):
        raise InvalidInput(f"scope {checked!r} cannot be used: {ALL} stands for every scope")
    return checked


def check_new_scope_name(name: str) -> None:
    """Refuse a name for a scope that does not exist yet, if it means something else elsewhere.

    A scope that has such a name from an earlier version is read and written like any other.

    Raises:
        InvalidInput: the name is a pattern, a list, a placeholder or a reserved word.
    """
    if problem := find_name_problem(name):
        raise InvalidInput(
            f"no scope can be made with the name {name!r:.160}, since {problem}: choose another"
            " name, such as 'team' or 'team/a'; nothing was stored"
        )


def read_scope_name(name: object, scopes: Mapping[str, Scope], services: Services) -> str:
    """Return the name of the scope that a caller means: the existing spelling, if there is one.

    "project" means the scope of the repository at work, which need not exist, unless a scope from
    an earlier version has that name.

    Raises:
        InvalidInput: it cannot be a name, or no repository is active.
    """
    label = check_label(name, "scope", max_chars=_MAX_NAME_CHARS)
    spelled = find_spelling(label, scopes)
    if spelled is not None or fold_name(label) != PROJECT:
        return spelled or label
    if services.project is None:
        raise InvalidInput(
            f"scope {label!r} means the repository at work, and no repository is active: work in a"
            " folder of one, open the store with MemoryStore.open(project=FOLDER), or name a scope"
        )
    return find_spelling(services.project.name, scopes) or services.project.name


def choose_scope(name: object, services: Services, conversation_id: str | None) -> str:
    """Return the scope that a call means which works on one scope; None stands for its default."""
    if name is None:
        return unnamed_scope(services, conversation_id)
    return read_scope_name(name, services.storage.scopes(), services)


def known_scope(name: object, scopes: Mapping[str, Scope], services: Services) -> Scope:
    """Return the scope that a caller means, see `read_scope_name`.

    Raises:
        UnknownScope: no scope has this name; the message suggests the nearest name that is not
            private. Of a scope outside a confinement it lists the scopes of the confinement.
    """
    meant = read_scope_name(name, scopes, services)
    if meant not in scopes:
        raise _make_unknown_error(meant, scopes, services)
    return scopes[meant]


def _make_unknown_error(name: str, scopes: Mapping[str, Scope], services: Services) -> UnknownScope:
    if services.confinement is not None and not services.confinement.allows(name):
        return services.confinement.unknown(name)
    near = get_close_matches(name, public_names(scopes), n=1, cutoff=0.0)
    hint = f": the nearest is {near[0]!r}; create it first" if near else ": create it first"
    return UnknownScope(f"there is no scope {masked(name)!r:.160}{hint}")


def describe_missing(names: Iterable[str], services: Services) -> str:
    """Return a note on scopes that do not exist yet, with the nearest public names."""
    known = public_names(services.storage.scopes())
    sentences = []
    for name in names:
        near = " or ".join(map(repr, get_close_matches(name, known)))
        hint = f": the nearest is {near}" if near else ""
        sentences.append(f"there is no scope {masked(name)!r:.160} yet{hint}")
    return "; ".join(sentences)


@frozen(kw_only=True)
class ScopeChoice:
    """The scopes that a search reads, None for all.

    `own` are the scopes without those that are read because a scope inherits from them, None where
    nothing is inherited. `active` are the scopes in which the caller is at work, and `named` those
    that the question names; their memories win near ties. `missing` are names that no scope has.
    """

    scopes: frozenset[str] | None
    own: frozenset[str] | None = None
    active: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()


def choose_scopes(
    asked: str | Iterable[str] | None,
    services: Services,
    conversation_id: str | None = None,
    *,
    named: frozenset[str] = frozenset(),
    may_miss: bool = False,
    scopes: Mapping[str, Scope] | None = None,
) -> ScopeChoice:
    """Return the scopes that a search reads; `scopes` are all of the store, None to read them.

    `asked` may be a text with commas between names. A scope in it opens itself, its parents and
    `Global`. ALL opens every scope that is neither private nor inactive; private and inactive
    scopes open only by name. Without `asked` the search reads the active scopes, their parents,
    `Global`, and the scopes in `named`, which the question names; where no scope is active, it
    reads what ALL opens, without the scopes of conversations. Active are a default scope other
    than `Global`, the scope of the project, and the scope of the conversation with
    `conversation_id`. A request for one conversation reads the default scope and its own.

    Raises:
        UnknownScope: there is no such scope, and `may_miss` is False or it lies outside.
    """
    scopes = services.storage.scopes() if scopes is None else scopes
    if asked is None:
        return _choose_unasked(named, services, conversation_id, scopes)
    listed = _split_names(asked, scopes) if isinstance(asked, str) else asked
    wanted = check_labels(listed, "scope", max_chars=_MAX_NAME_CHARS)
    if not wanted:
        raise InvalidInput(f"scope is an empty list: name a scope, give {ALL}, or leave it out")
    meant = [read_scope_name(name, scopes, services) for name in wanted if not _means_all(name)]
    missing = [name for name in meant if name not in scopes]
    for name in missing:
        confinement = services.confinement
        if not may_miss or (confinement is not None and not confinement.allows(name)):
            raise _make_unknown_error(name, scopes, services)
    names = scopes.keys() & meant
    if any(map(_means_all, wanted)):
        table = ScopeTable.of(scopes)
        opened = table.derive(_find_open)
        names |= opened
        if len(names) == len(scopes):
            return ScopeChoice(scopes=None, missing=tuple(missing))
        visible = table.derive(_find_seen_by_open) | _add_visible(names - opened, scopes)
        return ScopeChoice(scopes=visible, own=frozenset(names), missing=tuple(missing))
    visible = _add_visible(names, scopes)
    return ScopeChoice(scopes=visible, own=frozenset(names), missing=tuple(missing))


def _choose_unasked(
    named: frozenset[str],
    services: Services,
    conversation_id: str | None,
    scopes: Mapping[str, Scope],
) -> ScopeChoice:
    """Return the scopes of a search whose caller named none."""
    active = frozenset(active_scopes(services, conversation_id, scopes))
    own = active & scopes.keys()
    if conversation_id is not None:
        own = _find_home_scopes(services, conversation_id, scopes)
    if own or active:
        # An active scope need not exist before something is stored in it.
        own = own | named or frozenset({GLOBAL})
        return ScopeChoice(scopes=_add_visible(own, scopes), own=own, active=active, named=named)
    everything = list_open_scopes(services, scopes)
    whole = None if len(everything) == len(scopes) else everything
    return ScopeChoice(scopes=whole, named=named)


def _find_home_scopes(
    services: Services, conversation_id: str | None, scopes: Mapping[str, Scope]
) -> frozenset[str]:
    """Return the scopes of what is stored without a scope, in a conversation or in none."""
    names = unnamed_scopes(services, conversation_id, scopes)
    return frozenset(find_spelling(name, scopes) or GLOBAL for name in names)


def list_open_scopes(
    services: Services, scopes: Mapping[str, Scope] | None = None
) -> frozenset[str]:
    """Return the names of the scopes that a search may read without being asked to by name.

    `scopes` are all of the store, None to read them. The open scopes are neither private nor
    inactive, nor the scopes of conversations that the configuration keeps apart.
    """
    table = ScopeTable.of(services.storage.scopes() if scopes is None else scopes)
    opened = table.derive(_find_open)
    if not services.config.conversation_scopes:
        return opened
    return opened.difference(table.names_by(_group_conversations).get(True, ()))


def _add_visible(names: Iterable[str], scopes: Mapping[str, Scope]) -> frozenset[str]:
    return frozenset(seen for name in names for seen in visible_from(name, scopes))


def _split_names(text: str, scopes: Mapping[str, Scope]) -> list[str]:
    """Return the names in a text with commas, unless a scope has the whole text as its name."""
    if "," not in text or find_spelling(text, scopes) is not None:
        return [text]
    return [name for part in text.split(",") if (name := part.strip())]


def choose_key_scopes(
    asked: str | Iterable[str] | None, services: Services
) -> frozenset[str] | None:
    """Return the scopes in which a key is looked up, None for all.

    Without `asked` it is the key of a memory that is stored without a scope, in the repository at
    work or not, or inherited by it: the same key in another scope is another fact.
    """
    if asked is not None:
        return choose_scopes(asked, services).scopes
    scopes, project = services.storage.scopes(), services.project
    kept = None if project is None else find_spelling(project.name, scopes)
    homes = _find_home_scopes(services, None, scopes)
    return _add_visible(homes if kept is None else homes | {kept}, scopes)


def create_scope(
    services: Services,
    name: str,
    *,
    description: str,
    parent: str | None,
    keywords: Sequence[str],
    sensitivity: str,
) -> Scope:
    """Create a scope; creating an equal scope again does nothing.

    Raises:
        Conflict: a scope with this name exists and is different.
        UnknownScope: the parent does not exist.
    """
    scopes = services.storage.scopes()
    scope = Scope(
        name=check_scope_name(name),
        description=_check_description(description),
        parent=None if parent is None else known_scope(parent, scopes, services).name,
        keywords=check_labels(keywords, "keywords"),
        sensitivity=check_choice(sensitivity, Sensitivity, "sensitivity"),
    )
    spelled = find_spelling(scope.name, scopes)
    existing = None if spelled is None else scopes[spelled]
    if existing == scope:
        return existing
    if existing is None:
        check_new_scope_name(scope.name)
    else:
        raise Conflict(f"the scope {existing.name!r} exists and is different: update it instead")
    seen = {scope.name: None, **_find_ancestors(scope.parent, scopes)}
    commit = Commit(expect=Expect(scopes=seen), scopes=(scope,))
    services.storage.commit(with_entry(services, Operation.SCOPE, commit))
    return scope


def update_scope(
    services: Services,
    name: str,
    *,
    description: str | None,
    parent: str | None,
    keywords: Sequence[str] | None,
    active: bool | None,
    sensitivity: str | None,
) -> Scope:
    """Change the given fields of a scope; a `parent` of "" removes the parent.

    Raises:
        UnknownScope: the scope or the parent does not exist.
        InvalidInput: the scope would become its own ancestor, or `Global` inactive.
    """
    scopes = services.storage.scopes()
    scope = known_scope(name, scopes, services)
    if description is not None:
        scope = evolve(scope, description=_check_description(description))
    if parent is not None:
        scope = evolve(scope, parent=_find_parent(services, parent, scopes))
    if keywords is not None:
        scope = evolve(scope, keywords=check_labels(keywords, "keywords"))
    if active is not None:
        scope = evolve(scope, active=check_flag(active, "active"))
    if sensitivity is not None:
        scope = evolve(scope, sensitivity=check_choice(sensitivity, Sensitivity, "sensitivity"))
    if scope.name == GLOBAL and (scope.parent or not scope.active):
        raise InvalidInput(f"{GLOBAL} always exists: it cannot be inactive and has no parent")
    if scope.parent and scope.name in visible_from(scope.parent, scopes):
        raise InvalidInput(
            f"{scope.parent!r} cannot be the parent of {scope.name!r}, its own ancestor"
        )
    seen = {scope.name: scopes[scope.name], **_find_ancestors(scope.parent, scopes)}
    commit = Commit(expect=Expect(scopes=seen), scopes=(scope,))
    services.storage.commit(with_entry(services, Operation.SCOPE, commit))
    return scope


def delete_scope(services: Services, name: str) -> None:
    """Remove an empty scope.

    Raises:
        UnknownScope: the scope does not exist.
        Conflict: it contains memories or is the parent of a scope.
        InvalidInput: it is `Global`.
    """
    scopes = services.storage.scopes()
    scope = known_scope(name, scopes, services)
    if scope.name == GLOBAL:
        raise InvalidInput(f"{GLOBAL} always exists and cannot be deleted")
    within = names_within(scope.name, ScopeTable.of(scopes))
    if within:
        children = {name: scopes[name] for name in within}
        named = ", ".join(map(quote_label, sorted(public_names(children)))) or "private scopes"
        raise Conflict(f"the scope {scope.name!r} is the parent of {named}")
    page = services.storage.find(Criteria(scopes=frozenset({scope.name})), limit=1)
    if page.memories:
        raise Conflict(
            f"the scope {scope.name!r} still holds memories, and forgotten memories count:"
            " move them, or erase them with a hard forget"
        )
    expect = Expect(scopes={scope.name: scope}, unused=frozenset({scope.name}))
    commit = Commit(expect=expect, erased_scopes=(scope.name,))
    services.storage.commit(with_entry(services, Operation.SCOPE, commit))


def with_known_spelling(memory: Memory, scopes: Mapping[str, Scope]) -> Memory:
    """Return `memory` in the existing spelling of its scope, if there is one."""
    spelled = find_spelling(memory.scope, scopes)
    return memory if spelled is None else evolve(memory, scope=spelled)


def _find_parent(services: Services, parent: str, scopes: Mapping[str, Scope]) -> str | None:
    return known_scope(parent, scopes, services).name if parent else None


def _find_ancestors(parent: str | None, scopes: Mapping[str, Scope]) -> dict[str, Scope | None]:
    """Return `parent` and its ancestors, which must not change, so that no circle arises."""
    if parent is None:
        return {}
    return {name: scopes[name] for name in visible_from(parent, scopes) if name != GLOBAL}


def _group_open(scope: Scope) -> tuple[bool]:
    return (scope.active and scope.sensitivity is Sensitivity.NORMAL,)


def _group_conversations(scope: Scope) -> tuple[bool]:
    return (is_conversation_scope(scope.name),)


def _find_open(scopes: ScopeTable) -> frozenset[str]:
    return frozenset(scopes.names_by(_group_open).get(True, ()))


def _find_seen_by_open(scopes: ScopeTable) -> frozenset[str]:
    return _add_visible(scopes.derive(_find_open), scopes)


def _means_all(name: str) -> bool:
    return fold_name(name) == fold_name(ALL)


def _check_description(text: object) -> str:
    return "" if text == "" else check_label(text, "description", max_chars=2000)
