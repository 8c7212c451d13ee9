"""The exit codes of the command line, which scripts rely on."""

from __future__ import annotations

from enum import IntEnum

from infinite_memory.core.errors import (
    AccessDenied,
    ConfigurationError,
    Conflict,
    EmbedderError,
    InfiniteMemoryError,
    InvalidInput,
    NotFound,
    UnknownScope,
)


class ExitCode(IntEnum):
    """How a command ended."""

    DONE = 0
    NO = 1
    """Nothing was found, a check found a problem, or the user answered no."""
    USAGE = 2
    CONFIGURATION = 3
    STORAGE = 4
    NOT_THERE = 5
    """The named memory or scope does not exist, or was changed since."""
    MODEL = 6
    INTERRUPTED = 130
    BROKEN_PIPE = 141


# The first match counts: an unknown scope is also an input that cannot be used.
_CODES: tuple[tuple[type[InfiniteMemoryError], ExitCode], ...] = (
    (ConfigurationError, ExitCode.CONFIGURATION),
    (NotFound, ExitCode.NOT_THERE),
    (UnknownScope, ExitCode.NOT_THERE),
    (Conflict, ExitCode.NOT_THERE),
    (EmbedderError, ExitCode.MODEL),
    (InvalidInput, ExitCode.USAGE),
    (AccessDenied, ExitCode.USAGE),
)


def exit_code(error: InfiniteMemoryError) -> ExitCode:
    """Return the code with which a command ends after `error`."""
    codes = (code for kind, code in _CODES if isinstance(error, kind))
    return next(codes, ExitCode.STORAGE)
