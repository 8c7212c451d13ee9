"""The file of an export: written under another name, private, and never over a file unasked."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from infinite_memory.core.errors import Conflict, InvalidInput, StorageUnavailable
from infinite_memory.core.files.atomic import sync_folder
from infinite_memory.core.paths import absolute_path
from infinite_memory.features.archive.part_file import PartFile, writing_part

_BUFFER_BYTES = 1 << 20


class OutputFile:
    """Collects what is written into pieces of a megabyte."""

    def __init__(self, part: PartFile) -> None:
        """Write into `part`."""
        self._part = part
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, content: bytes) -> None:
        """Write all of `content`."""
        self._pieces.append(content)
        self._size += len(content)
        if self._size >= _BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was collected."""
        self._part.write(b"".join(self._pieces))
        self._pieces, self._size = [], 0


def check_path(path: object) -> Path:
    """Return a path without `~`.

    Raises:
        InvalidInput: it is no path.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InvalidInput(f"{path!r:.200} is no path: give the name of a file or a folder")
    return absolute_path(path)


@contextmanager
def writing_file(path: Path, *, force: bool) -> Iterator[OutputFile]:
    """Open the file that will be `path` when the block ends without an error.

    Its mode is 600. With `force` it takes the place of a file of that name.

    Raises:
        Conflict: there is something at `path`, with `force` something that is no file.
        StorageUnavailable: the disk is full, or the folder cannot be written.
    """
    if not force or not _check_replaced(path):
        with writing_part(path) as part:
            output = OutputFile(part)
            yield output
            output.flush()
            part.finish()
        return
    whole = path.with_name(f".{path.name}.export")
    with suppress(OSError):
        whole.unlink()  # what a killed export left
    with writing_part(whole) as part:
        output = OutputFile(part)
        yield output
        output.flush()
        part.finish()
    try:
        whole.replace(path)
    except OSError as error:
        whole.unlink(missing_ok=True)
        raise StorageUnavailable(
            f"{path} cannot be replaced ({error.strerror}), and is as it was: check its permissions"
        ) from error
    sync_folder(path.parent)


def _check_replaced(path: Path) -> bool:
    """Return whether there is a file to replace.

    Raises:
        Conflict: there is something else.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        raise Conflict(f"{path} is no file, and nothing was written: choose another name")
    return True
