"""The scope of a project by its folder, and its creation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from attrs import frozen

from infinite_memory.core.errors import Conflict
from infinite_memory.core.values.scope import Scope, Sensitivity, find_spelling
from infinite_memory.engine.scopes import create_scope
from infinite_memory.engine.services import Services
from infinite_memory.features.sessions.repository import find_project
from infinite_memory.features.sessions.scope_names import PROJECTS


def _do_nothing() -> None:
    """Do nothing."""


@frozen(kw_only=True)
class ProjectScope:
    """Where the messages of a project go: a scope, None for the default scope.

    `create` makes the scope if it does not exist. `refusal` says why nothing is stored. Nothing is
    made of the messages of a project that the rules do not `enable`.
    """

    scope: str | None = None
    is_enabled: bool = True
    create: Callable[[], None] = _do_nothing
    refusal: str | None = None


def find_active_project(services: Services, folder: str) -> Scope | None:
    """Return the scope of the repository in `folder`, which need not exist; not an inactive one."""
    project = find_project(folder, services.config, services.data_folder)
    if project is None:
        return None
    scopes = services.storage.scopes()
    spelling = find_spelling(project.name, scopes)
    return None if spelling is not None and not scopes[spelling].active else project


def existing_project_scope(services: Services, folder: str) -> str | None:
    """Return the scope of the repository in `folder`, None if it is inactive or not made yet."""
    project = find_active_project(services, folder)
    return None if project is None else find_spelling(project.name, services.storage.scopes())


def find_project_scope(services: Services, folder: str) -> ProjectScope:
    """Return where the messages of a session in `folder` go: to its repository, if it has one."""
    project = find_project(folder, services.config, services.data_folder)
    if project is None:
        return ProjectScope()
    is_enabled = services.config.projects.rules_of(project.name).enabled
    scopes = services.storage.scopes()
    spelling = find_spelling(project.name, scopes)
    if spelling is not None:
        if not scopes[spelling].active:
            return ProjectScope(refusal=f"the scope {spelling!r} is inactive")
        return ProjectScope(scope=spelling, is_enabled=is_enabled)
    if services.config.strict_scopes:
        return ProjectScope(is_enabled=is_enabled)
    return ProjectScope(
        scope=project.name,
        is_enabled=is_enabled,
        create=lambda: create_project_scope(
            services, project.name, sensitivity=project.sensitivity
        ),
    )


def create_project_scope(
    services: Services, name: str, *, sensitivity: Sensitivity = Sensitivity.NORMAL
) -> None:
    """Create the scope of a repository under `Projects`, unless it exists.

    A handle that is confined to scopes without `Projects` gives it no parent.
    """
    scopes = services.storage.scopes()
    if find_spelling(name, scopes) is not None:
        return
    confinement = services.confinement
    parent = PROJECTS if confinement is None or confinement.allows(PROJECTS) else None
    # Another process may create them at the same moment.
    with suppress(Conflict):
        if parent is not None and find_spelling(PROJECTS, scopes) is None:
            _create_scope(services, PROJECTS, None, Sensitivity.NORMAL)
    with suppress(Conflict):
        _create_scope(services, name, parent, sensitivity)


def _create_scope(
    services: Services, name: str, parent: str | None, sensitivity: Sensitivity
) -> None:
    create_scope(
        services,
        name,
        description="",
        parent=parent,
        keywords=(),
        sensitivity=sensitivity,
    )
