"""The repository that an event concerns, by the paths in it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from infinite_memory.features.sessions.git import find_work_tree


class Folders:
    """The roots of the repositories that a session worked in, as far as they are known.

    A folder that is on this machine has the root of its work tree. For one that is not, such as in
    a session that was copied here, the folder of the session is a root, and so is a folder beside
    it that a path leads to.
    """

    def __init__(self) -> None:
        """Know no root yet."""
        self._roots: set[str] = set()

    def root_of(self, folder: str) -> str:
        """Return the root that a folder belongs to, which is itself if none is known."""
        cleaned = _clean_path(folder)
        if not cleaned:
            return ""
        known = self._find_known(cleaned)
        if known is not None:
            return known
        tree = find_work_tree(Path(cleaned)) if Path(cleaned).is_absolute() else None
        root = cleaned if tree is None else tree.as_posix()
        self._roots.add(root)
        return root

    def root_of_file(self, path: str, folder: str) -> str:
        """Return the root of a file that was used while the session was in `folder`."""
        root = self.root_of(folder)
        cleaned = _clean_path(path)
        if not PurePosixPath(cleaned).is_absolute() or self._holds(root, cleaned):
            return root
        known = self._find_known(cleaned)
        if known is not None:
            return known
        tree = find_work_tree(Path(cleaned).parent)
        if tree is not None:
            return self.root_of(tree.as_posix())
        beside = PurePosixPath(root).parent
        if root and beside != PurePosixPath("/") and self._holds(beside.as_posix(), cleaned):
            first = PurePosixPath(cleaned).relative_to(beside).parts
            if len(first) > 1:
                return self.root_of((beside / first[0]).as_posix())
        return root

    def resolve(self, folder: str, start: str) -> str:
        """Return a folder that a command names, from the folder `start` on."""
        if folder.startswith("~"):
            return start
        return _clean_path((PurePosixPath(start or "/") / folder).as_posix())

    def _find_known(self, path: str) -> str | None:
        """Return the nearest root above a path, None if none is known."""
        while path and path not in self._roots:
            path = path.rpartition("/")[0]
        return path or None

    @staticmethod
    def _holds(root: str, path: str) -> bool:
        return bool(root) and (path == root or path.startswith(f"{root}/"))


def _clean_path(path: str) -> str:
    """Return a path with slashes, and without steps that lead back."""
    parts: list[str] = []
    text = path.replace("\\", "/")
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return f"{'/' if text.startswith('/') else ''}{'/'.join(parts)}"
