"""Which databases this process has found damaged, so that nobody in it writes to them any more."""

from __future__ import annotations

from pathlib import Path

from infinite_memory.errors import StoreDamaged

__all__ = ["Suspicion"]

# No lock guards it, which a forked child could find held: each use is one step of a dictionary.
_found: dict[tuple[str, int, int], StoreDamaged] = {}


class Suspicion:
    """What was found wrong with one file, through whichever handle and by whichever thread.

    It holds until the process ends: that a later look finds nothing proves nothing, since it may
    not read the page that was damaged. The file counts, not its name: a sound one that is put in
    its place, such as a restored backup, may be written.
    """

    def __init__(self, path: Path, identity: str) -> None:
        """Look at the store `identity` in the file at `path`, which exists."""
        status = path.stat()
        self._file = (identity, status.st_dev, status.st_ino)

    @property
    def found(self) -> StoreDamaged | None:
        """The error that says what was found, None if nothing was."""
        return _found.get(self._file)

    def note(self, error: StoreDamaged) -> None:
        """Remember what was found; what was found first stays."""
        _found.setdefault(self._file, error)

    def check(self) -> None:
        """Refuse to write.

        Raises:
            StoreDamaged: something was found.
        """
        found = self.found
        if found is not None:
            raise StoreDamaged(
                f"nothing is written any more by this process, which goes on reading: {found}"
            )
