"""The databases that this process has found damaged, and therefore no longer writes to."""

from __future__ import annotations

from pathlib import Path

from infinite_memory.core.errors import StoreDamaged

# No lock guards the dictionary, since a forked child could inherit a held lock: every use is a
# single operation on it.
_errors: dict[tuple[str, int, int], StoreDamaged] = {}


class Suspicion:
    """The damage that any handle or thread of this process has found in a database file.

    The suspicion lasts until the process ends. A later check that finds no damage proves nothing,
    since it may not read the damaged page. The suspicion belongs to the file, not to its name: a
    sound file that replaces it, such as a restored backup, may be written.
    """

    def __init__(self, path: Path, identity: str) -> None:
        """Track the store `identity` in the file at `path`, which exists."""
        status = path.stat()
        self._file = (identity, status.st_dev, status.st_ino)

    @property
    def error(self) -> StoreDamaged | None:
        """The error that describes the damage, None if none was found."""
        return _errors.get(self._file)

    def note(self, error: StoreDamaged) -> None:
        """Remember the damage that `error` describes, unless damage was noted before."""
        _errors.setdefault(self._file, error)

    def check(self) -> None:
        """Refuse to write.

        Raises:
            StoreDamaged: damage was found.
        """
        error = self.error
        if error is not None:
            raise StoreDamaged(f"this process writes nothing more and only reads: {error}")
