"""A checkout of a repository: its commit, its branch, and whether files are as they were."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from glob import escape
from pathlib import Path, PurePosixPath

from attrs import frozen

from infinite_memory.core.errors import ConfigurationError, InvalidInput
from infinite_memory.core.files.regular import read_regular
from infinite_memory.core.paths import absolute_path
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.scope import fold_name
from infinite_memory.features.sessions.git import find_work_tree, run_git
from infinite_memory.features.sessions.repository import scope_of_folder

_MAX_FILE_BYTES = 64 << 20
_SHA256_DIGITS = 64
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_TREE_LINE = re.compile(r"\d+ blob ([0-9a-f]+)\t(.+)")


class FileState(StrEnum):
    """Whether the files of a chunk are as they were when it was stored.

    `FRESH`: all are. `DRIFTED`: some were changed. `MISSING`: some are not there any more.
    """

    FRESH = "fresh"
    DRIFTED = "drifted"
    MISSING = "missing"


@frozen(kw_only=True)
class Freshness(PlainData):
    """The state of the files of a chunk in a checkout; the lists name the files that differ."""

    state: FileState
    drifted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@frozen
class Checkout:
    """The work tree of a repository in a folder of this machine; `data_folder` is of the store."""

    folder: Path
    data_folder: Path | None

    def is_of(self, scope: str) -> bool:
        """Return whether it is a checkout of the repository with that scope."""
        return fold_name(scope_of_folder(self.folder, self.data_folder)) == fold_name(scope)

    def head(self) -> tuple[str | None, str | None]:
        """Return the hash of the present commit, and the name of the branch, None if unknown."""
        output = run_git(self.folder, "rev-parse", "HEAD", "--abbrev-ref", "HEAD")
        lines = output.split() if output else []
        if len(lines) != 2 or not _COMMIT.fullmatch(lines[0]):
            return None, None
        return lines[0], None if lines[1] == "HEAD" else lines[1]

    def hashes(
        self, files: Iterable[str], commit: str | None = None, *, like: str | None = None
    ) -> dict[str, str]:
        """Return the git blob hash of every file, as it was in `commit`, by default as it is now.

        Files that cannot be read are left out. Of the present, the hashes are SHA-1, or SHA-256 if
        the hash `like` is one, as in some repositories.
        """
        names = [name for name in files if _is_within(name)]
        if commit is not None and _COMMIT.fullmatch(commit):
            return self._list_hashes(commit, names)
        algorithm = "sha256" if like is not None and len(like) == _SHA256_DIGITS else "sha1"
        hashes = {name: self._hash_file(name, algorithm) for name in names}
        return {name: digest for name, digest in hashes.items() if digest is not None}

    def is_alone(self, name: str) -> bool:
        """Return whether no other file that git knows has the last part of a path as its name."""
        listed = run_git(
            self.folder, "ls-files", "-z", "--", f":(glob)**/{escape(PurePosixPath(name).name)}"
        )
        return listed is not None and not set(filter(None, listed.split("\0"))) - {name}

    def _list_hashes(self, commit: str, names: Sequence[str]) -> dict[str, str]:
        if not names:
            return {}
        listed = ("ls-tree", "--full-tree", "-r", "-z", commit, "--", *names)
        output = run_git(self.folder, *listed) or ""
        matches = filter(None, map(_TREE_LINE.fullmatch, output.split("\0")))
        # For a folder, git lists all that is in it, also what must not be remembered.
        return {match[2]: match[1] for match in matches if match[2] in names}

    def _hash_file(self, name: str, algorithm: str) -> str | None:
        try:
            path = (self.folder / name).resolve()
            # A symbolic link may lead to any file of the machine.
            is_inside = path.is_relative_to(self.folder.resolve())
            if not is_inside:
                return None
            content = read_regular(path, max_bytes=_MAX_FILE_BYTES)
        except (OSError, ValueError, RuntimeError):
            return None
        # The hash with which git names a file is one of a header and the content.
        header = f"blob {len(content)}\0".encode()
        return hashlib.new(algorithm, header + content, usedforsecurity=False).hexdigest()


def _is_within(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def open_checkout(folder: str | None, data_folder: Path | None) -> Checkout | None:
    """Return the checkout that holds a folder, None if there is none on this machine.

    Raises:
        InvalidInput: the folder is no text.
    """
    if not folder:
        return None
    if not isinstance(folder, str):
        raise InvalidInput(f"folder must be a text, not {folder!r:.100}: give the path of a folder")
    try:
        top = find_work_tree(absolute_path(folder))
    except (ConfigurationError, InvalidInput):
        return None
    return None if top is None else Checkout(top, data_folder)


def relative_path(path: str, folder: Path | None) -> str:
    """Return a path within the repository in `folder`, with slashes; others stay as they are."""
    cleaned = path.replace("\\", "/").strip()
    if folder is not None and cleaned.startswith(f"{folder.as_posix()}/"):
        cleaned = cleaned[len(folder.as_posix()) + 1 :]
    return PurePosixPath(cleaned).as_posix()


def compare_files(blobs: Mapping[str, str], checkout: Checkout) -> Freshness | None:
    """Return whether files are as they were, None if nothing is known of any of them."""
    if not blobs:
        return None
    now = checkout.hashes(blobs, like=next(iter(blobs.values())))
    missing = tuple([name for name in blobs if name not in now])
    drifted = tuple([name for name in now if now[name] != blobs[name]])
    state = FileState.FRESH
    if drifted:
        state = FileState.DRIFTED
    if missing:
        state = FileState.MISSING
    return Freshness(state=state, drifted=drifted, missing=missing)
