"""Opens a file that a person or another program has put at a path, whatever it may be.

A pipe at the path would keep a reader waiting for ever, and a device never ends.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

MAX_SMALL_BYTES = 16 << 20
"""The most bytes of a file that is read as a whole: settings, lists of servers, notes of hooks."""

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))


def open_regular(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> BinaryIO:
    """Open a regular file, or the regular file that a link leads to; the caller closes it.

    Raises:
        OSError: it cannot be opened, is no regular file, or has more than `max_bytes`; `strerror`
            says which.
        ValueError: the path holds a character that no path can hold.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a device without a driver
            raise _make_not_regular_error(path) from error
        raise
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(status.st_mode):
            raise _make_not_regular_error(path)
        if max_bytes is not None and status.st_size > max_bytes:
            raise _make_too_large_error(path, max_bytes)
        return open(descriptor, "rb")  # noqa: PTH123 -- a descriptor, for its flags
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | os.PathLike[str], *, max_bytes: int = MAX_SMALL_BYTES) -> bytes:
    """Return the content of a regular file of at most `max_bytes`.

    Raises:
        OSError, ValueError: as `open_regular`; also if it grows beyond `max_bytes` meanwhile.
    """
    with open_regular(path, max_bytes=max_bytes) as file:
        # Without a limit, a file of the kernel that claims to be empty might never end.
        content = file.read(max_bytes + 1) or b""
    if len(content) > max_bytes:
        raise _make_too_large_error(path, max_bytes)
    return content


def _make_not_regular_error(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))


def _make_too_large_error(path: str | os.PathLike[str], max_bytes: int) -> OSError:
    limit = f"{max_bytes >> 20} MiB" if max_bytes >= 1 << 20 else f"{max_bytes:,} bytes"
    return OSError(errno.EFBIG, f"it has more than {limit}", os.fspath(path))
