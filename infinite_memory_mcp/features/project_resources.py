"""Resources of project memory: what was done in a repository, and what all of them taught."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from infinite_memory.core.values.memory import GLOBAL, Kind
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.scope import Sensitivity, fold_name
from infinite_memory.features.projects.chunk import Chunk, chunk_of
from infinite_memory.features.sessions.repository import PREFIX
from infinite_memory_mcp.budget import DEFAULT_TOKENS
from infinite_memory_mcp.toolsets.project_answers import (
    render_chunks,
    render_decisions,
    render_history,
    render_patterns,
)
from infinite_memory_mcp.toolsets.project_arguments import ProjectArguments

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_PAGE = 100
_MAX_READ = 1000
_MAX_SHOWN = 100


def repository_history(store: MemoryStore, repository: str) -> str:
    """What was done in a repository, newest first."""
    history = store.projects.get_history(_name(repository), limit=_MAX_SHOWN)
    return render_history(store, history, DEFAULT_TOKENS).text


def repository_decisions(store: MemoryStore, repository: str) -> str:
    """The decisions of a repository with their reasons, those in force first."""
    decisions = store.projects.get_decisions(_name(repository))
    return render_decisions(store, decisions, DEFAULT_TOKENS).text


def repository_patterns(store: MemoryStore, repository: str) -> str:
    """What recurs in a repository: problems, files that change together, tools, outcomes."""
    patterns = store.projects.identify_patterns(_name(repository))
    return render_patterns(store, patterns, DEFAULT_TOKENS).text


def common_patterns(store: MemoryStore) -> str:
    """What recurs in all repositories that are neither private nor inactive."""
    return render_patterns(store, store.projects.identify_patterns(), DEFAULT_TOKENS).text


def lessons_learned(store: MemoryStore) -> str:
    """The lessons of all such repositories and of Global, newest first."""
    lessons = list(_lessons(store))
    head = f"{format_count(len(lessons), 'lesson')}, newest first."
    return render_chunks(store, lessons, head, DEFAULT_TOKENS)


def list_repositories(store: MemoryStore) -> Iterator[str]:
    """Yield the names of open repositories, "HOST/OWNER/NAME", as the addresses hold them."""
    for scope in store.scopes:
        is_open = scope.active and scope.sensitivity is Sensitivity.NORMAL
        if is_open and fold_name(scope.name).startswith(PREFIX):
            yield scope.name[len(PREFIX) :]


def _name(repository: str) -> str:
    """Return the repository in an address, which names no folder of the server."""
    return ProjectArguments(repository=repository).in_folder(None).name_repository()


def _lessons(store: MemoryStore) -> Iterator[Chunk]:
    after: str | None = None
    for _ in range(_MAX_READ // _PAGE):
        page = store.browse(scope="ALL", kinds=[Kind.LESSON], limit=_PAGE, after=after)
        for memory in page.memories:
            if memory.scope == GLOBAL or fold_name(memory.scope).startswith(PREFIX):
                yield chunk_of(memory)
        after = page.next
        if after is None:
            return
