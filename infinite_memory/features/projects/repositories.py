"""Repositories as scopes: the scope that a name, an address or a folder stands for."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from infinite_memory.core.errors import InvalidInput, UnknownScope
from infinite_memory.core.paths import absolute_path
from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.scope import Scope, Sensitivity, find_spelling, fold_name
from infinite_memory.engine.scopes import check_scope_name
from infinite_memory.engine.services import Services
from infinite_memory.engine.visibility import public_names
from infinite_memory.features.sessions.project_scope import create_project_scope
from infinite_memory.features.sessions.repository import scope_of_folder
from infinite_memory.features.sessions.scope_names import PREFIX, is_folder, name_of_url
from infinite_memory.search.text.quotation import quote_label
from infinite_memory.search.text.typos import find_near_names

_MAX_SHOWN = 5
_MAX_CHARS = 1024
_DEFAULT = f"{PREFIX}default"
_PLAIN = re.compile(r"[\w.~+%-]+")
_NAMED = re.compile(r"[\w-]+(?:\.[\w-]+)+(?:/[\w.~+%-]+){2,}")


def name_repository(services: Services, repository: object) -> str:
    """Return the name of the scope that `repository` stands for, whether it exists or not.

    It may be the name of a scope, "HOST/OWNER/NAME", the address of a remote, a folder with a
    full path or "~", the end of the name of a repository that is known, such as its last part, or
    the plain name of a new one. None stands for the only repository that is known, and for one
    called "default" as long as there is none.

    Raises:
        InvalidInput: it is none of these, the end of several names, or nearly a known name.
    """
    if repository is None:
        return _choose_only(list_repositories(services))
    given = check_label(repository, "repository", max_chars=_MAX_CHARS)
    if is_folder(given):
        return name_folder(services, _resolve_folder(given))
    scopes = services.storage.scopes()
    for name in (given, f"{PREFIX}{given}"):
        spelling = find_spelling(name, scopes)
        if spelling is not None:
            return spelling
    address = name_of_url(given) if ":" in given else None
    if address is None and fold_name(given).startswith(PREFIX) and given[len(PREFIX) :]:
        address = check_scope_name(f"{PREFIX}{given[len(PREFIX) :]}")
    if address is None and _NAMED.fullmatch(given):
        address = check_scope_name(f"{PREFIX}{given}")
    if address is not None:
        return find_spelling(address, scopes) or address
    return _find_by_ending(given, scopes)


def name_folder(services: Services, folder: Path) -> str:
    """Return the name of the scope of the repository that holds a folder, as it is stored."""
    name = scope_of_folder(folder, services.data_folder)
    return find_spelling(name, services.storage.scopes()) or name


def known_repository(services: Services, repository: object) -> str:
    """Return the name of the scope of a repository in which something was stored.

    Raises:
        InvalidInput: `repository` cannot be used.
        UnknownScope: nothing is stored of it; the message names the nearest.
    """
    name = name_repository(services, repository)
    scopes = services.storage.scopes()
    if name not in scopes:
        raise UnknownScope(f"nothing is stored of {name!r:.160} yet{_name_nearest(name, scopes)}")
    return name


def prepare_repository(services: Services, repository: object) -> str:
    """Return the scope of a repository, after creating it under `Projects` if it is new.

    Raises:
        InvalidInput: `repository` cannot be used, or is not enabled in the configuration.
        UnknownScope: there is no such scope, and scopes are strict, or the store was not opened
            for it.
    """
    name = name_repository(services, repository)
    rules = services.config.projects.rules_of(name)
    if not rules.enabled:
        raise InvalidInput(
            f"the repository {name!r} is not enabled: set projects.repositories.NAME.enabled in the"
            " configuration; nothing was stored"
        )
    scopes = services.storage.scopes()
    if name in scopes:
        return name
    if services.confinement is not None:
        services.confinement.check(name)
    if services.config.strict_scopes:
        raise UnknownScope(f"there is no scope {name!r}, and scopes are strict: create it first")
    create_project_scope(services, name, sensitivity=rules.sensitivity or Sensitivity.NORMAL)
    return name


def list_repositories(services: Services) -> list[str]:
    """Return the scopes of repositories that are neither private nor inactive."""
    return sorted(
        name
        for name, scope in services.storage.scopes().items()
        if fold_name(name).startswith(PREFIX)
        and scope.active
        and scope.sensitivity is Sensitivity.NORMAL
    )


def _resolve_folder(given: str) -> Path:
    # The steps of ".." are taken here: the parents of a path with them are not above it.
    return Path(os.path.normpath(absolute_path(given)))


def _find_by_ending(given: str, scopes: Mapping[str, Scope]) -> str:
    ending = f"/{fold_name(given)}"
    # A private scope opens by its whole name alone, and is never named.
    names = sorted(
        name
        for name, scope in scopes.items()
        if scope.sensitivity is Sensitivity.NORMAL
        and fold_name(name).startswith(PREFIX)
        and fold_name(name).endswith(ending)
    )
    if len(names) == 1:
        return names[0]
    if names:
        shown = ", ".join(name.removeprefix(PREFIX) for name in names[:_MAX_SHOWN])
        raise InvalidInput(f"repository {given!r:.100} may be {shown}: give the whole name")
    known = [name.rpartition("/")[2] for name in public_names(scopes) if name.startswith(PREFIX)]
    if _PLAIN.fullmatch(given) and not find_near_names(given, known):
        return check_scope_name(f"{PREFIX}{given}")
    raise InvalidInput(
        f"repository {given!r:.100} is not known{_name_nearest(given, scopes)}; give"
        " HOST/OWNER/NAME, such as github.com/octo/apollo, the address of its remote, or its folder"
    )


def _choose_only(names: Sequence[str]) -> str:
    """Return the only one of the names, and the default if there is none beside it."""
    others = [name for name in names if name != _DEFAULT]
    if len(others) > 1:
        shown = ", ".join(quote_label(name.removeprefix(PREFIX)) for name in others[:_MAX_SHOWN])
        raise InvalidInput(
            f"the argument 'repository' is missing, and it may be any of {shown}: give one"
        )
    return others[0] if others else _DEFAULT


def _name_nearest(name: str, scopes: Mapping[str, Scope]) -> str:
    public = {
        scope.name.removeprefix(PREFIX): scope.name
        for scope in scopes.values()
        if fold_name(scope.name).startswith(PREFIX) and scope.sensitivity is Sensitivity.NORMAL
    }
    near = get_close_matches(name.removeprefix(PREFIX)[:100], public, n=1, cutoff=0.0)
    return f": the nearest is {near[0]!r}" if near else ""
