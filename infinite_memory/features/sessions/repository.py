"""The scope of the repository that holds a folder: by its remote, or by where and what it is."""

from __future__ import annotations

import os
from pathlib import Path

from infinite_memory.core.config import Config
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.features.sessions.git import (
    Repository,
    find_repository,
    find_repository_at,
    list_remotes,
    local_path_of_url,
)
from infinite_memory.features.sessions.known_repositories import KnownRepositories
from infinite_memory.features.sessions.scope_names import (
    LOCAL,
    PROJECTS,
    name_by_folder,
    name_of_url,
)

# A clone of a clone of a clone.
_MOST_CLONED = 8


def scope_of_folder(folder: Path, data_folder: Path | None) -> str:
    """Return the scope of the repository that holds a folder: "repo/HOST/OWNER/NAME".

    Two clones of a remote, and a worktree of one, have the same scope. Without a remote on a server
    it is "repo/local/PARENT/NAME", by the names of the folder in which it was first seen and of the
    folder around it, and so it is without a repository. What was seen is noted in `data_folder`,
    that of the store.
    """
    repository = find_repository(folder)
    return name_by_folder(folder) if repository is None else _find_scope(repository, data_folder)


def find_project(
    folder: str | os.PathLike[str], config: Config, data_folder: Path | None
) -> Scope | None:
    """Return the scope of the repository that holds `folder`, which need not exist; or None.

    What was seen is noted in `data_folder`, that of the store.
    """
    try:
        place = Path(folder).absolute()
    except OSError:  # the working folder does not exist any more
        return None
    repository = find_repository(place) if os.fspath(folder) else None
    if repository is None:
        return None
    name = _find_scope(repository, data_folder)
    sensitivity = config.projects.rules_of(name).sensitivity or Sensitivity.NORMAL
    return Scope(name=name, parent=PROJECTS, sensitivity=sensitivity)


def _find_scope(
    repository: Repository, data_folder: Path | None, depth: int = 0, joined: str | None = None
) -> str:
    """Return the scope of a repository; of a new one without a remote it is `joined`, if given."""
    urls, known = list_remotes(repository), KnownRepositories(data_folder)
    named = next(filter(None, map(name_of_url, urls)), None)
    own = known.scope_in_place(repository)
    paths = [path for url in urls if (path := local_path_of_url(url, repository.place))]
    if named is None and depth < _MOST_CLONED:
        origins = (origin for path in paths if (origin := find_repository_at(path)))
        origin = next((origin for origin in origins if origin.git != repository.git), None)
        if origin is not None:
            theirs = _find_scope(origin, data_folder, depth + 1, own)
            # A remote at a path that it gets later, such as a backup, belongs to it.
            named = theirs if own is None or not theirs.startswith(LOCAL) else None
    named = named or (joined if own is None else None)
    return known.find_scope(repository, named, is_clone=bool(paths))
