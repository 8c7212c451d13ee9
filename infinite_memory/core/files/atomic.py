"""Writes a small file so that it is whole or absent, whenever the process or the power ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def write_atomically(
    path: Path,
    content: bytes,
    *,
    mode: int = 0o600,
    temporary_suffix: str = ".new",
    before_rename: Callable[[Path], None] | None = None,
) -> None:
    """Write `content` under a temporary name, make it durable, and rename it to `path`.

    The temporary name is that of `path` with `temporary_suffix`; a file of that name is replaced.
    Writers may share a suffix if they exclude each other, otherwise every writer needs its own.
    `before_rename` is called with the temporary file, and may refuse the rename by an error. On an
    error the temporary file is removed, and `path` is unchanged.

    Raises:
        OSError: the disk or the folder does not allow it.
    """
    temporary = path.with_name(path.name + temporary_suffix)
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 -- a descriptor, for its mode
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if before_rename is not None:
            before_rename(temporary)
        _rename_over(temporary, path)
    except BaseException:  # whatever refuses the rename, or interrupts the write
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable; Windows does so by itself and has no call for it."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _rename_over(temporary: Path, path: Path) -> None:
    """Rename a file; Windows refuses that while another process reads `path`: try for a second."""
    for _ in range(100 if sys.platform == "win32" else 0):
        with suppress(PermissionError):
            temporary.replace(path)
            return
        time.sleep(0.01)
    temporary.replace(path)
