"""Access to the files of a model, with errors that name its folder."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from infinite_memory.errors import EmbedderError

__all__ = ["open_regular", "typed_errors"]


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to be read; a pipe would keep the caller waiting, a device never ends.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
        ValueError: the path holds a character that no path can hold.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return path.open("rb")


@contextmanager
def typed_errors(folder: str | Path) -> Iterator[None]:
    """Turn the errors of a file system or a package on the model in `folder` into EmbedderError.

    A foreign model may hold paths that are forbidden, too long, circular or invalid, and a graph
    without any output.
    """
    try:
        yield
    except EmbedderError:
        raise
    except (OSError, ValueError, RuntimeError, TypeError, LookupError) as error:
        raise EmbedderError(
            f"{str(folder)!r:.200} cannot be used as a model"
            f" ({type(error).__name__}: {str(error)!r:.400}); make the folder readable, fetch the"
            " model again, or name another folder"
        ) from error
