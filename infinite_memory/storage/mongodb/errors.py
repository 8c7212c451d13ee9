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

from infinite_memory.core.errors import InvalidInput, StorageError, StorageUnavailable, StoreDamaged

_UNAUTHORIZED = 13
_AUTHENTICATION_FAILED = 18
_DISK_FULL = 14031
_WRITE_CONFLICT = 112
_TOO_LARGE = {257, 388}  # of a transaction: for its log, for the cache of the server
_NOT_WRITABLE = {10107, 13435, 13436}


@contextmanager
def translate_errors(place: str) -> Iterator[None]:
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
        raise InvalidInput(f"{place} cannot store or query this value: {error!s:.300}") from error


def storage_error(error: PyMongoError, place: str) -> StorageError | InvalidInput:
    """Return the exception to raise for an error of the driver."""
    if isinstance(error, OperationFailure) and not error.timeout:
        return _make_refusal_error(error, place)
    if isinstance(error, ServerSelectionTimeoutError) and "[SSL" in str(error):
        return StorageUnavailable(
            f"{place} cannot be reached over TLS ({_cut_reason(error)}): add to the address the "
            "certificate authority that signed the certificate of the server "
            "(tls=true&tlsCAFile=PATH) and, if the server asks for one, your own certificate "
            "(tlsCertificateKeyFile=PATH); nothing was changed"
        )
    if isinstance(error, ServerSelectionTimeoutError):
        return StorageUnavailable(
            f"{place} cannot be reached ({_cut_reason(error)}): check that the server runs "
            "and that the address is right. If this was a change, check whether it was made before "
            "you try again"
        )
    if isinstance(error, NetworkTimeout | AutoReconnect) or error.timeout:
        return StorageUnavailable(
            f"{place} did not answer ({_cut_reason(error)}): check the server and its log, and "
            "check whether the change was made before you try again"
        )
    return StorageUnavailable(f"{place} cannot be used now ({_cut_reason(error)})")


def _make_refusal_error(error: OperationFailure, place: str) -> StorageError | InvalidInput:
    code, reason = _read_code(error), _cut_reason(error)
    if code in _TOO_LARGE:
        return InvalidInput(
            f"{place} cannot make a change this large at once ({reason}): divide it into several "
            "commits, or give the server a larger cache; nothing was changed"
        )
    if code == _AUTHENTICATION_FAILED:
        return StorageUnavailable(
            f"{place} refuses the user or the password ({reason}): correct them in the address; "
            "a user that is defined in another database needs ?authSource=NAME"
        )
    if code == _UNAUTHORIZED:
        return StorageUnavailable(
            f"{place} does not allow this user to do this ({reason}): give the user the role "
            "readWrite on this database; nothing was changed"
        )
    if code == _DISK_FULL:
        return StorageUnavailable(
            f"{place} has no room left on its disk ({reason}): make room, check "
            "whether the change was made, and try again"
        )
    if code == _WRITE_CONFLICT:
        return StorageUnavailable(
            f"{place} had too many write conflicts with other commits ({reason}): try again; "
            "nothing was changed"
        )
    if code in _NOT_WRITABLE:
        return StorageUnavailable(
            f"{place} has no primary now ({reason}): try again in some seconds"
        )
    if "WT_PANIC" in reason or "checksum" in reason.casefold():
        return StoreDamaged(
            f"{place} reports damage ({reason}): stop the server, copy its data directory, and "
            "restore from a backup"
        )
    return StorageUnavailable(f"{place} refused the command (code {code}, {reason})")


def _read_server_details(error: PyMongoError) -> dict[str, Any]:
    """Return the details that the server sent; for several writes, of the first failure."""
    details = getattr(error, "details", None)
    if not isinstance(details, dict):
        return {}
    failed = details.get("writeErrors") or details.get("writeConcernErrors")
    return dict(failed[0]) if failed else details


def _read_code(error: OperationFailure) -> int | None:
    code = _read_server_details(error).get("code", error.code)
    return code if isinstance(code, int) else None


def _cut_reason(error: PyMongoError) -> str:
    text = _read_server_details(error).get("errmsg")
    line = " ".join(str(text or error).split())
    return line.split(", full error:")[0].split(", Timeout:")[0][:300]
