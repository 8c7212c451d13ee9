"""Names the scope of a project: by the remote of its repository, read from the files of git."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from infinite_memory.core.config import Config
from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.values.scope import Scope, Sensitivity

PROJECTS = "Projects"
"""The parent of the scopes of projects."""

PREFIX = "repo/"
"""Begins the name of every scope of a repository."""

_LOCAL = f"{PREFIX}local/"
_NOT_IN_NAMES = re.compile(r"[^\w.~+%-]+")
_MAX_NAME_CHARS = 128
_MAX_FILE_BYTES = 1 << 20
_SECTION = re.compile(r'\[\s*remote\s+"(?P<name>[^"]+)"\s*\]')
_URL = re.compile(r"url\s*=\s*(?P<url>.*)", re.IGNORECASE)
# git@host:owner/name, and scheme://user@host:port/owner/name
_SSH = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:@]+):(?P<path>[^/].*)")
_SCHEME = re.compile(
    r"[a-z+]+://(?:[^@/]*@)?(?P<host>[^/:]+)(?::\d*)?/+(?P<path>.+)", re.IGNORECASE
)
_PART = re.compile(r"[\w.~+%-]+")


def name_project_scope(folder: Path) -> str | None:
    """Return the scope of the repository that holds `folder`: "repo/HOST/OWNER/NAME".

    None if the folder is in no repository, or its repository has no remote on a server. Two clones
    of a remote, and a worktree of one, have the same scope.
    """
    git = find_repository(folder)
    if git is None:
        return None
    remotes = dict(_read_remotes(git / "config"))
    urls = [remotes[name] for name in ("origin", *sorted(remotes)) if name in remotes]
    names = filter(None, map(name_of_url, urls))
    return next(names, None)


def scope_of_folder(folder: Path) -> str:
    """Return the scope of the repository that holds a folder: "repo/HOST/OWNER/NAME".

    Without a remote on a server, or without a repository, it is "repo/local/PARENT/NAME", by the
    names of the folder and of the folder around it.
    """
    named = name_project_scope(folder)
    if named is not None:
        return named
    git = find_repository(folder)
    # A worktree shares the folder of its repository.
    main = Path(os.path.normpath(git)) if git is not None else None
    top = main.parent if main is not None and main.name == ".git" else folder
    parts = [_NOT_IN_NAMES.sub("-", part) for part in top.parts[1:]][-2:]
    name = f"{_LOCAL}{'/'.join(parts) or 'root'}"
    if len(name) > _MAX_NAME_CHARS:
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        name = f"{name[: _MAX_NAME_CHARS - 13]}~{digest}"
    return name


def find_project(folder: str | os.PathLike[str], config: Config) -> Scope | None:
    """Return the scope of the repository that holds `folder`, which need not exist; or None."""
    try:
        place = Path(folder).absolute()
    except OSError:  # the working folder does not exist any more
        return None
    if not os.fspath(folder) or find_repository(place) is None:
        return None
    name = scope_of_folder(place)
    sensitivity = config.projects.rules_of(name).sensitivity or Sensitivity.NORMAL
    return Scope(name=name, parent=PROJECTS, sensitivity=sensitivity)


def find_work_tree(folder: Path) -> Path | None:
    """Return the folder that holds `folder` and the `.git` of its repository, or None."""
    for parent in (folder, *folder.parents):
        try:
            if (parent / ".git").exists():
                return parent
        except OSError:
            return None
    return None


def is_folder(repository: str) -> bool:
    """Return whether a repository is given by a folder of this machine."""
    given = repository.strip()
    return (
        given.startswith(("/", "~", "./", "../"))
        or given in (".", "..")
        or Path(given).is_absolute()
    )


def find_repository(folder: Path) -> Path | None:
    """Return the folder with the configuration of the repository that holds `folder`, or None.

    A worktree and a submodule have a file `.git` that names a folder, and a worktree's folder names
    the one that it shares with the others.
    """
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        try:
            if git.is_dir():
                return git
            if git.is_file():
                return _follow_file(git)
        except OSError:
            return None
    return None


def _follow_file(file: Path) -> Path | None:
    text = _read_text(file)
    if not text.startswith("gitdir:"):
        return None
    folder = file.parent / text.removeprefix("gitdir:").strip()
    shared = _read_text(folder / "commondir").strip()
    return folder / shared if shared else folder


def _read_text(path: Path) -> str:
    """Return the text of a small file, "" if it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(_MAX_FILE_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        return ""


def _read_remotes(config: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the URL of every remote in a configuration of git."""
    remote: str | None = None
    for line in _read_text(config).splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            match = _SECTION.match(stripped)
            remote = match["name"] if match else None
        elif remote is not None and (url := _URL.match(stripped)):
            yield remote, url["url"].strip().strip('"')


def name_of_url(url: str) -> str | None:
    """Return the scope of a remote by its URL, None for a path on this machine."""
    match = _SCHEME.fullmatch(url) or _SSH.fullmatch(url)
    if match is None or url.startswith("file:"):
        return None
    parts = [
        part for part in match["path"].removesuffix("/").removesuffix(".git").split("/") if part
    ]
    parts = [match["host"].lower(), *parts]
    if len(parts) < 2 or not all(map(_PART.fullmatch, parts)) or len(match["host"]) < 2:
        return None
    name = f"{PREFIX}{'/'.join(parts)}"
    return name if len(name) <= _MAX_NAME_CHARS else None
