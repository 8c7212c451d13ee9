"""What can go wrong.

Every error raised on purpose is one of these, and each is also the builtin it resembles::

    InfiniteMemoryError
    ├── InvalidInput (ValueError)              a value the caller gave cannot be used
    │   └── UnknownScope (LookupError)         no scope of that name exists
    ├── NotFound (LookupError)                 no memory has that id
    ├── Conflict (RuntimeError)                the memory changed, or its id is taken
    │   └── IdTaken                            by a memory that does not exist for the caller
    ├── ConfigurationError (ValueError)        a setting cannot be used
    ├── StoreClosed (RuntimeError)             the store was closed, or crossed a fork
    ├── StorageError (OSError)                 the database did not do what was asked
    │   ├── StorageUnavailable                 it cannot be reached or written at the moment
    │   ├── SchemaTooNew                       a newer version of this package wrote it
    │   ├── SchemaTooOld                       an earlier development version wrote it
    │   └── StoreDamaged                       what it holds is not what was written
    └── EmbedderError (RuntimeError)           the embedding model cannot be loaded or run

A message says what was found, shows the offending value, and names the way out.
"""

from __future__ import annotations

__all__ = [
    "ConfigurationError",
    "Conflict",
    "EmbedderError",
    "IdTaken",
    "InfiniteMemoryError",
    "InvalidInput",
    "NotFound",
    "SchemaTooNew",
    "SchemaTooOld",
    "StorageError",
    "StorageUnavailable",
    "StoreClosed",
    "StoreDamaged",
    "UnknownScope",
    "install_hint",
]

_INSTALL = "`pip install '.[{}]'` in a copy of the repository"


def install_hint(extra: str) -> str:
    """Return how to install an optional dependency; the package is not on the public index."""
    return _INSTALL.format(extra)


class InfiniteMemoryError(Exception):
    """The root of every error raised on purpose."""


class InvalidInput(InfiniteMemoryError, ValueError):
    """A value that the caller gave cannot be used; nothing was changed."""


class UnknownScope(InvalidInput, LookupError):
    """No scope of that name exists, and the request may not create it."""


class NotFound(InfiniteMemoryError, LookupError):
    """No memory has the id that was asked for."""


class Conflict(InfiniteMemoryError, RuntimeError):
    """The memory was changed by somebody else, or its id is taken; nothing was changed."""


class IdTaken(Conflict):
    """The id belongs to a memory that this store was not opened for; to try again is useless."""


class ConfigurationError(InfiniteMemoryError, ValueError):
    """A setting cannot be used."""


class StoreClosed(InfiniteMemoryError, RuntimeError):
    """The store was closed, or was opened before a fork and used after it."""


class StorageError(InfiniteMemoryError, OSError):
    """The database did not do what was asked."""


class StorageUnavailable(StorageError):
    """The database cannot be reached, read or written at the moment."""


class SchemaTooNew(StorageError):
    """A newer version of this package wrote the database; this one leaves it alone."""


class SchemaTooOld(StorageError):
    """A development version before the first schema wrote the database; nothing was changed."""


class StoreDamaged(StorageError):
    """What the database holds is not what was written; nothing was repaired or overwritten."""


class EmbedderError(InfiniteMemoryError, RuntimeError):
    """The embedding model cannot be loaded or run."""
