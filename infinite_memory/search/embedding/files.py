"""The errors of the files of a model, with the name of its folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infinite_memory.core.errors import EmbedderError


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
