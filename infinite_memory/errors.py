"""The errors of the library.

Every error derives from `InfiniteMemoryError` and from the built-in error that it resembles::

    InfiniteMemoryError
    ├── InvalidInput (ValueError)              a value of the caller cannot be used
    │   └── UnknownScope (LookupError)         no scope has the name
    ├── NotFound (LookupError)                 no memory has the id
    ├── Conflict (RuntimeError)                the memory changed, or its id is taken
    │   └── IdTaken                            by a memory that the caller may not see
    ├── ConfigurationError (ValueError)        a setting cannot be used
    ├── StoreClosed (RuntimeError)             the store was closed, or crossed a fork
    ├── StorageError (OSError)                 the database failed to carry out a call
    │   ├── StorageUnavailable                 it cannot be reached or written at the moment
    │   ├── SchemaTooNew                       a newer version of this package wrote it
    │   ├── SchemaTooOld                       an earlier development version wrote it
    │   └── StoreDamaged                       its data differ from what was written
    └── EmbedderError (RuntimeError)           the embedding model cannot be loaded or run

A message shows the offending value and names the way out.
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
    """The base class of every error of the library."""


class InvalidInput(InfiniteMemoryError, ValueError):
    """A value of the caller cannot be used; nothing was changed."""


class UnknownScope(InvalidInput, LookupError):
    """No scope has the name, and the call may not create a scope."""


class NotFound(InfiniteMemoryError, LookupError):
    """No memory has the requested id."""


class Conflict(InfiniteMemoryError, RuntimeError):
    """Another call changed the memory, or its id is taken; nothing was changed."""


class IdTaken(Conflict):
    """The id belongs to a memory outside the scopes of this store; a retry cannot succeed."""


class ConfigurationError(InfiniteMemoryError, ValueError):
    """A setting cannot be used."""


class StoreClosed(InfiniteMemoryError, RuntimeError):
    """The store was closed, or was opened before a fork and used after it."""


class StorageError(InfiniteMemoryError, OSError):
    """The database failed to carry out a call."""


class StorageUnavailable(StorageError):
    """The database cannot be reached, read or written at the moment."""


class SchemaTooNew(StorageError):
    """A newer version of this package wrote the database; nothing was changed."""


class SchemaTooOld(StorageError):
    """A development version before the first schema wrote the database; nothing was changed."""


class StoreDamaged(StorageError):
    """Data in the database differ from what was written; nothing was repaired or overwritten."""


class EmbedderError(InfiniteMemoryError, RuntimeError):
    """The embedding model cannot be loaded or run."""
