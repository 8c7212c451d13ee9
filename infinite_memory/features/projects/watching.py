"""Watch folders for session files that were written to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from infinite_memory.features.sessions.events.reading import NAMES
from infinite_memory.features.sessions.existing import SESSION_FOLDERS


def default_folders(home: Path) -> list[Path]:
    """Return the folders in which the clients keep their sessions, as far as they exist."""
    return [home / name for name in SESSION_FOLDERS.values() if (home / name).is_dir()]


class SessionWatch:
    """The session files below some paths, and how each was when it was last looked at."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Watch files, and folders with all that is in them."""
        self._paths = tuple(paths)
        self._seen: dict[Path, tuple[int, int]] = {}

    def changed(self) -> list[Path]:
        """Return the files that are new or were written to since the last call."""
        changed = []
        for file in self._list_files():
            try:
                status = file.stat()
            except OSError:
                continue
            state = (status.st_mtime_ns, status.st_size)
            if self._seen.get(file) != state:
                self._seen[file] = state
                changed.append(file)
        return sorted(changed, key=lambda file: self._seen[file])

    def forget(self, file: Path) -> None:
        """Return a file the next time too, because it could not be taken in."""
        self._seen.pop(file, None)

    def _list_files(self) -> Iterable[Path]:
        for path in self._paths:
            if path.is_file():
                yield path
            else:
                for name in NAMES:
                    yield from path.rglob(name)
