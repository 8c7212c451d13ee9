"""The file of the log."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from infinite_memory.core.errors import ConfigurationError
from infinite_memory.core.observe.logs import JsonFormatter, TextFormatter
from infinite_memory.core.observe.rotating_file import RotatingFile

if TYPE_CHECKING:
    from infinite_memory.core.config import Logging


def make_file_handler(settings: Logging) -> logging.Handler:
    """Return the handler of the log file, `settings.file`; the file is created.

    Raises:
        ConfigurationError: it cannot be written.
    """
    assert settings.file is not None
    file = RotatingFile(settings.file, max_bytes=settings.max_bytes, backups=settings.backups)
    try:
        settings.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.file.touch(mode=0o600)
        file.check()
    except OSError as error:
        raise ConfigurationError(
            f"logging.file = {str(settings.file)!r} cannot be written ({error.strerror}):"
            " name another file, or leave it out"
        ) from error
    handler = _FileHandler(file)
    if settings.format == "text":
        handler.setFormatter(TextFormatter(texts=settings.texts))
    else:
        handler.setFormatter(JsonFormatter(texts=settings.texts))
    return handler


class _FileHandler(logging.Handler):
    """Writes records to a rotating file; a full disk does not fail the call that is logged."""

    def __init__(self, file: RotatingFile) -> None:
        super().__init__()
        self.path = file.path
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            self._file.write(self.format(record))
        except (OSError, ValueError, TypeError) as error:
            if sys.stderr is not None:
                sys.stderr.write(f"the log {self.path} cannot be written: {error}\n")
