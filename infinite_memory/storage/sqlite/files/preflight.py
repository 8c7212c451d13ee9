"""Inspects the files of a store before they are opened for writing, without changing them."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from infinite_memory.core.errors import StorageUnavailable, StoreDamaged
from infinite_memory.storage.obsolete_store import obsolete_store_error
from infinite_memory.storage.sqlite.connection import (
    connect_alone,
    connect_immutable,
    connect_reading,
)
from infinite_memory.storage.sqlite.errors import DAMAGE, damaged_database, look_twice
from infinite_memory.storage.sqlite.files.marker import is_earlier_marker, read_marker
from infinite_memory.storage.sqlite.files.open_files import track_database
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.storage.sqlite.files.wal import count_skipped_pages
from infinite_memory.storage.sqlite.metadata import read_identity
from infinite_memory.storage.sqlite.migrations import check_version
from infinite_memory.storage.sqlite.schema import APPLICATION_ID, EARLIER_APPLICATION_ID

_Result = TypeVar("_Result")

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
# Every database made by this package has a log (2, 2), no reserved bytes, and these fractions.
_FIXED_AT = 18
_FIXED = bytes([2, 2, 0, 64, 32, 32])
_PAGE_BYTES = slice(16, 18)
_APPLICATION = slice(68, 72)
_EARLIER_APPLICATION = EARLIER_APPLICATION_ID.to_bytes(4, "big")


def inspect_store(places: Places, vfs: str | None) -> str | None:
    """Return the identity of the store at `places`, None if none of its files exists.

    The main file is read without the locks of SQLite, so damage is certain only if nobody writes
    meanwhile: the caller holds the writers' lock, or uses `look_without_lock`.

    Raises:
        StoreDamaged: the files are suspect.
        SchemaTooNew: a newer version made the store.
        SchemaTooOld: a development version before schema 1 made the store.
        StorageUnavailable: the database must not be used: it is a link, or inherited over a fork.
    """
    with track_database(places.database):
        _refuse_earlier(places, vfs)
        return _inspect_files(places, vfs)


def look_without_lock(places: Places, look: Callable[[], _Result]) -> _Result | None:
    """Return the result of `look`, None if the store has a lock, or gets one meanwhile.

    Every writer makes the lock first. So what `look` saw, damage too, is certain if there is no
    lock after it.

    Raises:
        StoreDamaged, apsw.Error: `look` failed twice, and nobody can have written meanwhile.
    """
    if places.lock.exists():
        return None
    try:
        found = look_twice(look)
    except (apsw.Error, StoreDamaged):
        if places.lock.exists():
            return None
        raise
    return None if places.lock.exists() else found


def _refuse_earlier(places: Places, vfs: str | None) -> None:
    """Refuse the store of a development version before schema 1.

    The header of its database shows the version, or its marker if there is no database.

    Raises:
        SchemaTooOld: the store is of such a version.
    """
    if _measure_size(places.database):
        try:
            header = _read_header(places.database, vfs)
        except DAMAGE:
            return  # `_inspect_files` reports the damage
        is_earlier = header[_APPLICATION] == _EARLIER_APPLICATION
    else:
        is_earlier = is_earlier_marker(places.marker)
    if is_earlier:
        folder = shlex.quote(str(places.folder))
        raise obsolete_store_error(
            str(places.database),
            option=f"--home {folder}",
            move_away=f"move the folder {places.folder} away",
            discard=f"remove the folder {places.folder}",
        )


def _inspect_files(places: Places, vfs: str | None) -> str | None:
    marked = read_marker(places.marker)
    size, log_size = _measure_size(places.database), _measure_size(places.log)
    if size is None:
        if marked is None and not log_size:
            return None
        left = places.log if log_size else places.marker
        raise damaged_database(places.database, f"is missing, while {left.name} is still there")
    if size == 0:
        raise damaged_database(places.database, "is an empty file")
    try:
        page_bytes = _check_header(places.database, vfs)
        if size % page_bytes and not log_size:
            raise apsw.CorruptError("its last page is cut")
        if log_size:
            _check_log_header(places, page_bytes, vfs)
        identity = _identify_database(places.database, vfs, has_log=bool(log_size))
    except DAMAGE as error:
        if log_size and isinstance(error, apsw.CorruptError) and marked is not None:
            # A checkpoint may have been interrupted: then the log has the missing pages.
            _check_with_log(places.database, vfs, marked, whole=True)
            return marked
        raise damaged_database(places.database, f"is damaged ({error})") from error
    if marked is not None and marked != identity:
        raise damaged_database(
            places.database,
            f"is the store {identity}, while {places.marker.name} speaks of {marked}",
        )
    if log_size:
        _check_with_log(places.database, vfs, identity, whole=False)
    return identity


def _measure_size(path: Path) -> int | None:
    """Return the size of a regular file, None if nothing has that path.

    Raises:
        StorageUnavailable: the path is a link, whose log SQLite would keep in a different folder.
        StoreDamaged: the path is not a regular file.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise StorageUnavailable(
            f"{path} is a link to {path.readlink()}, and the log of a database must lie beside it: "
            "give --home the folder that holds the database itself"
        )
    if stat.S_ISDIR(status.st_mode):
        raise damaged_database(path, "is a folder where a file should be")
    if not stat.S_ISREG(status.st_mode):
        raise damaged_database(path, "is not a regular file")
    return status.st_size


def _check_header(path: Path, vfs: str | None) -> int:
    """Check the header fields that every database of this package shares; return the page size.

    SQLite would change the file on opening it if a single bit of those fields were altered.
    """
    header = _read_header(path, vfs)
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        raise apsw.NotADBError("it does not begin like one")
    if int.from_bytes(header[_APPLICATION], "big") != APPLICATION_ID:
        raise damaged_database(path, "was made by another program")
    if header[_FIXED_AT : _FIXED_AT + len(_FIXED)] != _FIXED:
        raise apsw.NotADBError("its header is damaged")
    return int.from_bytes(header[_PAGE_BYTES], "big") or 1


def _read_header(path: Path, vfs: str | None) -> bytes:
    """Return the first bytes of a file, read through SQLite.

    An ordinary `open` and `close` of the file would drop the locks of SQLite on it.
    """
    file = apsw.VFSFile(
        vfs or "", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    )
    try:
        return file.xRead(_HEADER_BYTES, 0)
    finally:
        file.xClose()


def _identify_database(path: Path, vfs: str | None, *, has_log: bool) -> str:
    """Return the identity in the main file of a database of this package."""
    connection = connect_immutable(path, vfs=vfs)
    try:
        version = connection.pragma("user_version")
        check_version(version, path)
        if not has_log and version < 1:
            raise damaged_database(
                path, f"has schema {version}, which no version of this package wrote"
            )
        identity = connection.execute("SELECT CAST(identity AS BLOB) FROM ledger").get
        if not isinstance(identity, bytes):
            raise apsw.CorruptError("it does not say which store it is")
        return read_identity(connection, path)
    except apsw.SQLError as error:
        raise apsw.CorruptError(f"it lacks the tables of a store: {error}") from error
    except StoreDamaged as error:
        if has_log:
            raise apsw.CorruptError("its identity may be incomplete") from error
        raise
    finally:
        connection.close()


def _check_log_header(places: Places, page_bytes: int, vfs: str | None) -> None:
    """Refuse a log that SQLite would ignore, if it holds pages that the database lacks."""
    lost = count_skipped_pages(places.database, places.log, page_bytes, vfs)
    if lost:
        raise StoreDamaged(
            f"{places.log} has a damaged header, so {lost} pages that {places.database.name} has "
            "not, with the newest memories, would be passed over. Nothing was changed. Keep a copy "
            "of the whole folder, then restore a backup into a folder that is empty, or move "
            f"{places.log.name} away to go on without them"
        )


def _check_with_log(path: Path, vfs: str | None, identity: str, *, whole: bool) -> None:
    """Refuse a database that is damaged, or is a different store, with its log applied.

    `whole` checks every page. A database that is open elsewhere already uses its log, so that only
    `whole` reads it again. A database that nobody has open is read without adding a file: not even
    an index of the log.
    """
    alone = connect_alone(path, vfs=vfs)
    try:
        if alone.readonly("main"):
            return  # reported when the database is opened for writing
        stored = _read_checked_identity(alone, path, whole=whole)
    except apsw.BusyError:
        if not whole:
            return
        beside = connect_reading(path, vfs=vfs)
        try:
            stored = _read_checked_identity(beside, path, whole=True)
        finally:
            beside.close()
    finally:
        alone.close()
    if stored != identity:
        raise damaged_database(path, f"is the store {stored} with its log, not {identity}")


def _read_checked_identity(connection: apsw.Connection, path: Path, *, whole: bool) -> str:
    try:
        result = str(connection.execute("PRAGMA quick_check(1)").get) if whole else "ok"
        if result != "ok":
            raise apsw.CorruptError(result)
        return read_identity(connection, path)
    except (*DAMAGE, apsw.SQLError) as error:
        raise damaged_database(path, f"is damaged, even with its log ({error})") from error
