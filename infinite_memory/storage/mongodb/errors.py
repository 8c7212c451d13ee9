"""Translate errors of the driver and the server, without the password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bson.errors import BSONError, InvalidBSON
from pymongo.errors import (
    AutoReconnect,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
)

from infinite_memory.errors import InvalidInput, StorageError, StorageUnavailable, StoreDamaged

__all__ = ["storage_error", "translated"]

_UNAUTHORIZED = 13
_AUTHENTICATION_FAILED = 18
_DISK_FULL = 14031
_WRITE_CONFLICT = 112
_TOO_LARGE = {257, 388}  # of a transaction: for its log, for the cache of the server
_NOT_WRITABLE = {10107, 13435, 13436}


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Translate errors of the driver into a `StorageError` whose message names `place`."""
    try:
        yield
    except PyMongoError as error:
        raise storage_error(error, place) from error
    except InvalidBSON as error:
        raise StoreDamaged(
            f"{place} holds a document that cannot be read ({error}): restore it from a backup"
        ) from error
    except (BSONError, UnicodeEncodeError, OverflowError) as error:
        # A lone surrogate, a number of more than 64 bits, a document of more than 16 MB.
        raise InvalidInput(f"{place} cannot keep or look for it: {error!s:.300}") from error


def storage_error(error: PyMongoError, place: str) -> StorageError | InvalidInput:
    """Return the exception to raise for an error of the driver."""
    if isinstance(error, OperationFailure) and not error.timeout:
        return _refused(error, place)
    if isinstance(error, ServerSelectionTimeoutError) and "[SSL" in str(error):
        return StorageUnavailable(
            f"{place} and this program do not trust each other ({_brief(error)}): name in the "
            "address the file of the authority that signed the certificate of the server "
            "(tls=true&tlsCAFile=PATH), and what the server asks for of its clients "
            "(tlsCertificateKeyFile=PATH); nothing was changed"
        )
    if isinstance(error, ServerSelectionTimeoutError):
        return StorageUnavailable(
            f"{place} cannot be reached ({_brief(error)}): check that the server runs and that the "
            "address is right, and after a change look for it before you try again"
        )
    if isinstance(error, NetworkTimeout | AutoReconnect) or error.timeout:
        return StorageUnavailable(
            f"{place} did not answer ({_brief(error)}): check the server and its log, then look "
            "for what you wanted to change before you try again"
        )
    return StorageUnavailable(f"{place} cannot be used at the moment ({_brief(error)})")


def _refused(error: OperationFailure, place: str) -> StorageError | InvalidInput:
    code, reason = _code(error), _brief(error)
    if code in _TOO_LARGE:
        return InvalidInput(
            f"{place} cannot carry out so much at once ({reason}): divide it into several commits, "
            "or give the server a larger cache; nothing was changed"
        )
    if code == _AUTHENTICATION_FAILED:
        return StorageUnavailable(
            f"{place} refuses the user or the password ({reason}): correct them in the address; "
            "a user that is kept in another database needs ?authSource=NAME"
        )
    if code == _UNAUTHORIZED:
        return StorageUnavailable(
            f"{place} does not allow this user to do that ({reason}): give it the role readWrite "
            "on this database; nothing was changed"
        )
    if code == _DISK_FULL:
        return StorageUnavailable(
            f"{place} has no room left on its disk ({reason}): make room, look for what you wanted "
            "to change, and try again"
        )
    if code == _WRITE_CONFLICT:
        return StorageUnavailable(
            f"{place} was written by so many at once that this had no turn ({reason}): try again; "
            "nothing was changed"
        )
    if code in _NOT_WRITABLE:
        return StorageUnavailable(
            f"{place} has no primary at the moment ({reason}): try again in some seconds"
        )
    if "WT_PANIC" in reason or "checksum" in reason.casefold():
        return StoreDamaged(
            f"{place} reports damage ({reason}): stop the server, copy its data directory, and "
            "restore from a backup"
        )
    return StorageUnavailable(f"{place} refused it (code {code}, {reason})")


def _first(error: PyMongoError) -> dict[str, Any]:
    """Return the details of the server on an error; for several writes, on the first failure."""
    details = getattr(error, "details", None)
    if not isinstance(details, dict):
        return {}
    failed = details.get("writeErrors") or details.get("writeConcernErrors")
    return dict(failed[0]) if failed else details


def _code(error: OperationFailure) -> int | None:
    found = _first(error).get("code", error.code)
    return found if isinstance(found, int) else None


def _brief(error: PyMongoError) -> str:
    text = _first(error).get("errmsg")
    line = " ".join(str(text or error).split())
    return line.split(", full error:")[0].split(", Timeout:")[0][:300]
