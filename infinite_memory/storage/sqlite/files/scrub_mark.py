"""A file that notes that erased bytes may still be in the database or its log.

The file exists from before an erasure until the log is emptied after it. Every commit, opening or
closing in between empties the log if no reader prevents it, also after the erasing process was
killed.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from infinite_memory.core.files.atomic import sync_folder

_logger = logging.getLogger("infinite_memory.storage")


class ScrubMark:
    """The mark of a store. Used under the writers' lock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def is_set(self) -> bool:
        """Whether the log must still be emptied."""
        return os.path.exists(self._path)  # noqa: PTH110 -- a third of the time of Path.exists

    def set(self) -> None:
        """Make the mark durably; log a failure, since a full disk must not prevent an erasure."""
        if self.is_set:
            return
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
            sync_folder(self._path.parent)
        except OSError as error:
            _logger.warning("%s could not be created: %s", self._path, error)

    def clear(self) -> None:
        """Remove the mark; if a power cut brings it back, the log is only emptied again."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            _logger.warning("%s could not be removed: %s", self._path, error)
