"""A file of lines, written by several processes at once, in bounded space."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from infinite_memory.core.errors import StorageError
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.files.regular import open_regular


class RotatingFile:
    """A file of lines that is renamed before it grows too long; every process may write to it.

    The newest lines are in `path`, earlier lines in `path` with the endings ".1", ".2" and so on.
    The file is opened for each line, so that a file which another process has renamed gets no
    further line: `logging.handlers.RotatingFileHandler` would go on writing to it. While a process
    renames the files, lines of the others may make one somewhat longer than its limit.
    """

    def __init__(self, path: Path, *, max_bytes: int, backups: int) -> None:
        """Keep `backups` earlier files of `max_bytes` each; 0 bytes for a file of any length."""
        self.path = path
        self._max_bytes = max_bytes
        self._backups = backups

    def write(self, line: str) -> None:
        """Append a line, which must not contain a line feed.

        Raises:
            OSError: the file cannot be written.
        """
        content = f"{line}\n".encode(errors="backslashreplace")
        if self._max_bytes and self._measure_length() + len(content) > self._max_bytes:
            self._rotate_files(len(content))
        descriptor = self._open_file()
        try:
            # A single call, so that lines of several processes do not mix.
            written = os.write(descriptor, content)
            if written < len(content):
                # End the half line, so that the next line is not joined to the half line.
                with suppress(OSError):
                    os.write(descriptor, b"\n")
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        finally:
            os.close(descriptor)

    def check(self) -> None:
        """Check that lines can be appended.

        Raises:
            OSError: the file cannot be written.
        """
        os.close(self._open_file())

    def read_backwards(self) -> Iterator[str]:
        """Yield the lines of all files, the newest first."""
        for path in (self.path, *map(self._name_backup, range(1, self._backups + 1))):
            try:
                with open_regular(path) as file:
                    content = file.read()
            except FileNotFoundError:
                continue
            yield from reversed(content.decode(errors="replace").splitlines())

    def _measure_length(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def _open_file(self) -> int:
        # A pipe that nobody reads would keep the writer waiting.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        flags |= getattr(os, "O_BINARY", 0)
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def _rotate_files(self, needed: int) -> None:
        """Rename the files, unless another process does or has done so.

        A process that finds the lock taken writes its line to the file as it is.
        """
        lock = FileLock(self.path.with_name(f"{self.path.name}.lock"))
        try:
            if not lock.try_acquire():
                return
        except StorageError:
            return
        try:
            if self._measure_length() + needed <= self._max_bytes:
                return
            # On Windows a file that another process has open cannot be renamed: the next line will.
            with suppress(OSError):
                for number in range(self._backups - 1, 0, -1):
                    with suppress(FileNotFoundError):
                        self._name_backup(number).replace(self._name_backup(number + 1))
                self.path.replace(self._name_backup(1))
        finally:
            lock.release()

    def _name_backup(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")
