"""What was done and decided in a repository."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.checks import check_count, check_label
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Status
from infinite_memory.engine.services import Services
from infinite_memory.features.projects.checkout import Freshness, open_checkout
from infinite_memory.features.projects.chunk import Chunk
from infinite_memory.features.projects.finding import freshness_of, note_recalled
from infinite_memory.features.projects.loading import IN_FORCE, KEPT, find_conflicts, load_chunks
from infinite_memory.features.projects.repositories import known_repository, list_repositories

_MAX_LIMIT = 1000
_DECISION_STATUSES = frozenset({*KEPT, Status.SUPERSEDED})


@frozen(kw_only=True)
class ProjectHistory(PlainData):
    """The newest chunks of a repository, newest first; `more` says that earlier ones exist."""

    scope: str
    chunks: tuple[Chunk, ...]
    more: bool = False


@frozen(kw_only=True)
class Decision(PlainData):
    """A decision; a superseded decision names the ids that replace it, as far as known.

    One in force names those in force that it `contradicts`.
    """

    chunk: Chunk
    in_force: bool
    superseded_by: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    freshness: Freshness | None = None


def get_history(services: Services, repository: str | None, *, limit: int) -> ProjectHistory:
    """Return the chunks of a repository, newest first.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: nothing is stored of the repository.
    """
    check_count(limit, "limit", low=1, high=_MAX_LIMIT)
    scope = known_repository(services, repository)
    chunks = load_chunks(services, {scope}, most=limit + 1)
    note_recalled(services, chunks[:limit])
    return ProjectHistory(scope=scope, chunks=tuple(chunks[:limit]), more=len(chunks) > limit)


def get_decisions(
    services: Services,
    repository: str | None,
    *,
    component: str | None = None,
    folder: str | None = None,
) -> tuple[Decision, ...]:
    """Return the decisions of a repository, or of all: decisions in force first, newest first.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: nothing is stored of the repository.
    """
    wanted = None if component is None else check_label(component, "component").casefold()
    if repository is None:
        scopes = list_repositories(services)
    else:
        scopes = [known_repository(services, repository)]
    chunks = load_chunks(
        services, scopes, kinds={Kind.DECISION}, statuses=_DECISION_STATUSES, most=_MAX_LIMIT
    )
    if wanted is not None:
        chunks = [chunk for chunk in chunks if _concerns_component(chunk, wanted)]
    checkout = open_checkout(folder, services.data_folder)
    successors = _load_successors(services, chunks)
    note_recalled(services, chunks)
    conflicts: dict[str, list[str]] = {}
    for pair in find_conflicts(services, chunks):
        for one, other in (pair, pair[::-1]):
            conflicts.setdefault(one.id, []).append(other.id)
    decisions = [
        Decision(
            chunk=chunk,
            in_force=chunk.status in IN_FORCE,
            superseded_by=tuple(successors.get(chunk.id, ())),
            contradicts=tuple(conflicts.get(chunk.id, ())),
            freshness=freshness_of(chunk, checkout),
        )
        for chunk in chunks
    ]
    return tuple(sorted(decisions, key=lambda decision: not decision.in_force))


def _concerns_component(chunk: Chunk, component: str) -> bool:
    """Return whether a decision is about a component: by its name, a tag, or a folder or file."""
    names = [chunk.component or "", *chunk.tags]
    if any(component == name.casefold() for name in names):
        return True
    paths = [PurePosixPath(path.casefold()) for path in chunk.files]
    return any(
        path.as_posix().startswith(f"{component.strip('/')}/")
        or component in path.parts
        or path.stem == component
        for path in paths
    )


def _load_successors(services: Services, chunks: Iterable[Chunk]) -> dict[str, list[str]]:
    replaced = {chunk.id for chunk in chunks if chunk.status is Status.SUPERSEDED}
    successors: dict[str, list[str]] = {}
    for link in services.storage.links(replaced) if replaced else ():
        if link.type is LinkType.SUPERSEDES and link.target in replaced:
            successors.setdefault(link.target, []).append(link.source)
    return successors
