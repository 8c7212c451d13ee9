"""The errors of the library.

Every error derives from `InfiniteMemoryError` and from the built-in error that it resembles::

    InfiniteMemoryError
    ├── InvalidInput (ValueError)              a value of the caller cannot be used
    │   ├── SecretRefused                      the scope takes no secrets
    │   └── UnknownScope (LookupError)         no scope has the name
    │       └── ScopeNotCreated                and the write was not told to create it
    ├── NotFound (LookupError)                 no memory has the id
    │   └── KeyElsewhere                       the key is in other scopes
    ├── Conflict (RuntimeError)                the memory changed, or its id is taken
    │   └── IdTaken                            by a memory that the caller may not see
    ├── AccessDenied (PermissionError)         a key is not accepted, or a handle may not do this
    │   ├── ReadOnly                           the handle was made for reading alone
    │   └── QuotaExceeded                      the key may not keep more
    ├── ConfigurationError (ValueError)        a setting cannot be used
    ├── OutOfTime (TimeoutError)               the time of a call was over; nothing was changed
    ├── StoreClosed (RuntimeError)             the store was closed, or crossed a fork
    ├── StorageError (OSError)                 the database failed to carry out a call
    │   ├── StorageUnavailable                 it cannot be reached or written at the moment
    │   ├── SchemaTooNew                       a newer version of this package wrote it
    │   ├── SchemaTooOld                       an earlier development version wrote it
    │   └── StoreDamaged                       its data differ from what was written
    ├── ArchiveError (ValueError)              a backup file cannot be used; nothing was changed
    │   ├── ArchiveDamaged                     it differs from what was written, or is cut short
    │   ├── ArchiveTooNew                      a newer version of this package wrote it
    │   ├── NotEncrypted                       it is in the clear, and a passphrase was given
    │   └── WrongPassphrase                    it is encrypted, with another passphrase
    ├── SummariserError (RuntimeError)         the model that writes summaries cannot be asked
    ├── JudgeError (RuntimeError)              the model that judges pairs cannot be asked
    └── EmbedderError (RuntimeError)           the embedding model cannot be loaded or run

A message shows the offending value and names the way out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

DISTRIBUTION = "infinite-memory-mcp"  # in an index, where another project is `infinite-memory`
_INSTALL = "`pip install '.[{}]'` in a copy of the repository"


def install_hint(extra: str) -> str:
    """Return how to install an optional dependency; the package is not on the public index."""
    return _INSTALL.format(extra)


@contextmanager
def requiring(extra: str, purpose: str, otherwise: str) -> Iterator[None]:
    """Import a package of an optional dependency in the block, for a `purpose` ("to read a PDF").

    Raises:
        ConfigurationError: it cannot be imported: how to install `extra`, and what to do instead.
    """
    try:
        yield
    except ImportError as error:
        raise ConfigurationError(
            f"{purpose}, install the extra {extra} ({install_hint(extra)}), or {otherwise}: {error}"
        ) from error


class InfiniteMemoryError(Exception):
    """The base class of every error of the library."""


class InvalidInput(InfiniteMemoryError, ValueError):
    """A value of the caller cannot be used; nothing was changed."""


class SecretRefused(InvalidInput):
    """A text has a secret, which the message does not show, and the scope takes none."""


class UnknownScope(InvalidInput, LookupError):
    """No scope has the name, and the call may not create a scope."""


class ScopeNotCreated(UnknownScope):
    """No scope has the name, and the write was not told to create it; nothing was stored.

    `name` is the name, `nearest` the most similar name of a scope that may be shown, if any.
    """

    name: str = ""
    nearest: str | None = None

    @classmethod
    def of(
        cls,
        name: str,
        nearest: str | None,
        *,
        scope: str | None = None,
        create: str = "create_scope=True",
    ) -> Self:
        """Return the error; `scope` and `create` are arguments: the nearest, and to create it."""
        known = "" if nearest is None else f"; the nearest is {nearest!r}"
        correct = f"scope={nearest!r}" if scope is None else scope
        error = cls(
            f"there is no scope {name!r:.160}{known}. Nothing was stored: repeat the call with"
            f" {'' if nearest is None else correct + ', or with '}{create} to create {name!r:.160}"
        )
        error.name, error.nearest = name, nearest
        return error


class NotFound(InfiniteMemoryError, LookupError):
    """No memory has the requested id."""


class KeyElsewhere(NotFound):
    """No memory in the scopes of the call has the key, and memories elsewhere have it.

    `key` is the key, `where` names the searched scopes, `scopes` are the other scopes.
    """

    key: str = ""
    where: str = ""
    scopes: tuple[str, ...] = ()

    @classmethod
    def of(cls, key: str, where: str, scopes: Sequence[str], call: str | None = None) -> Self:
        """Return the error; `where` are the searched scopes, `call` reads the key elsewhere."""
        names = ", ".join(map(repr, scopes))
        call = f"history({key!r}, scope={scopes[0]!r})" if call is None else call
        error = cls(
            f"no memory in {where} has the key {key!r}, but there is one in"
            f" {'the scope' if len(scopes) == 1 else 'the scopes'} {names}: call {call}"
        )
        error.key, error.scopes, error.where = key, tuple(scopes), where
        return error


class Conflict(InfiniteMemoryError, RuntimeError):
    """Another call changed the memory, or its id is taken; nothing was changed."""


class IdTaken(Conflict):
    """The id belongs to a memory outside the scopes of this store; a retry cannot succeed."""


class AccessDenied(InfiniteMemoryError, PermissionError):
    """A key is not accepted, or the handle may not do what was asked; nothing was changed.

    The message may be shown to whoever asked. `detail` says more to the operator, such as that a
    key has expired.
    """

    def __init__(self, message: str, *, detail: str | None = None) -> None:
        super().__init__(message)
        self.detail = message if detail is None else detail


class ReadOnly(AccessDenied):
    """The handle was made for reading alone; nothing was changed."""


class QuotaExceeded(AccessDenied):
    """The holder of a key would keep more than the key may; nothing was stored."""

    @classmethod
    def of(cls, key: str, noun: str, *, limit: int, kept: int, more: int) -> Self:
        """Return the error of a key that may keep `limit`, keeps `kept`, and would add `more`."""
        what, option = noun.replace("_", " "), noun.replace("_", "-")
        return cls(
            f"the key {key!r} may keep {limit:,} {what}: {kept:,} are kept and this would add"
            f" {more:,}, so nothing was stored; erase what is not needed for good, or ask the"
            f" operator for more: infinite-memory keys limit {key!r} --max-{option}"
        )


class ConfigurationError(InfiniteMemoryError, ValueError):
    """A setting cannot be used."""


class OutOfTime(InfiniteMemoryError, TimeoutError):
    """The time of a call was over before it could answer; nothing was changed."""


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


class ArchiveError(InfiniteMemoryError, ValueError):
    """A file is no archive of a store, or cannot be used; nothing was changed."""


class ArchiveDamaged(ArchiveError):
    """An archive differs from what was written, or is cut short; nothing was changed."""


class ArchiveTooNew(ArchiveError):
    """A newer version of this package wrote the archive; nothing was changed."""


class NotEncrypted(ArchiveError):
    """An archive is not encrypted, and a passphrase was given; nothing was changed."""


class WrongPassphrase(ArchiveError):
    """An archive is encrypted, and the passphrase is missing or another; nothing was changed."""


class EmbedderError(InfiniteMemoryError, RuntimeError):
    """The embedding model cannot be loaded or run."""


class SummariserError(InfiniteMemoryError, RuntimeError):
    """The model that writes summaries cannot be asked, or gave no usable answer."""


class JudgeError(InfiniteMemoryError, RuntimeError):
    """The model that judges pairs of memories cannot be asked, or gave no usable answer."""
