"""The names of the scopes of repositories: by the address of a remote, or by a folder."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

PROJECTS = "Projects"
"""The parent of the scopes of projects."""

PREFIX = "repo/"
"""Begins the name of every scope of a repository."""

LOCAL = f"{PREFIX}local/"
"""Begins the name of the scope of a repository without a remote on a server."""

_NOT_IN_NAMES = re.compile(r"[^\w.~+%-]+")
_MAX_NAME_CHARS = 128
_DIGEST_CHARS = 12
# A helper of git may stand before the address: transport::address
_HELPER = re.compile(r"\A[\w-]+::")
# scheme://user:password@host:port/owner/name, where an address in numbers is in brackets
_SCHEME = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^/]*@)?(?:\[(?P<number>[^]/]+)\]|(?P<host>[^/:]+))(?::\d*)?/+(?P<path>.+)",
    re.IGNORECASE,
)
# user@host:owner/name, also with [host:port] or [address in numbers]
_SCP = re.compile(r"(?:[^@/:\[]+@)?(?:\[(?P<number>[^]/]+)\]|(?P<host>[^/:@]+)):(?P<path>.+)")


def name_of_url(url: str) -> str | None:
    """Return the scope of a remote by its URL, None for a path on this machine.

    How it is reached does not count: scheme, user, password, port, and what leads to the same path.
    """
    address = _HELPER.sub("", url.strip(), count=1)
    match = _SCHEME.fullmatch(address)
    if match is None and "://" not in address:
        match = _SCP.fullmatch(address)
    if match is None or address.casefold().startswith("file:"):
        return None
    host = match["host"] or match["number"].rpartition("@")[2]
    if host.count(":") == 1:  # [host:port]
        host = host.partition(":")[0]
    path = unquote(match["path"]).removeprefix("/").removeprefix("~/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")
    if len(host) < 2 or not any(parts):
        return None
    cleaned = [_NOT_IN_NAMES.sub("-", part) for part in (host.lower(), *parts) if part]
    return fit_name(f"{PREFIX}{'/'.join(cleaned)}")


def name_by_folder(folder: Path) -> str:
    """Return the name by the names of a folder and of the folder around it."""
    parts = [_NOT_IN_NAMES.sub("-", part) for part in folder.parts[1:]][-2:]
    return fit_name(f"{LOCAL}{'/'.join(parts) or 'root'}")


def fit_name(name: str) -> str:
    """Return a name, the end of which is a digest if it is too long for a scope."""
    if len(name) <= _MAX_NAME_CHARS:
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{name[: _MAX_NAME_CHARS - 1 - _DIGEST_CHARS]}~{digest}"


def is_folder(repository: str) -> bool:
    """Return whether a repository is given by a folder of this machine."""
    given = repository.strip()
    return (
        given.startswith(("/", "~", "./", "../"))
        or given in (".", "..")
        or Path(given).is_absolute()
    )
