"""The connections to a database: a writer under the lock, and readers of snapshots."""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import apsw

from infinite_memory.core.errors import StorageError, StorageUnavailable, StoreClosed, StoreDamaged
from infinite_memory.core.files.atomic import sync_folder
from infinite_memory.storage.forks import crossed_fork
from infinite_memory.storage.sqlite.connection import BUSY_SECONDS, check_library
from infinite_memory.storage.sqlite.creation import ensure_store, find_sound_store, prepare_folder
from infinite_memory.storage.sqlite.errors import (
    DAMAGE,
    damaged_database,
    full_disk,
    is_full,
    look_twice,
    misread_database,
    storage_error,
)
from infinite_memory.storage.sqlite.files.disk_reserve import OPENING_BYTES, RESERVE_BYTES, Reserve
from infinite_memory.storage.sqlite.files.live_files import (
    NOTHING_STORED,
    UNKNOWN_OUTCOME,
    LiveFiles,
    look_at_files,
    moved_files,
)
from infinite_memory.storage.sqlite.files.lock import WriterBusy, WriterLock
from infinite_memory.storage.sqlite.files.open_files import file_identity
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.storage.sqlite.migrations import migrate
from infinite_memory.storage.sqlite.readers import Readers, Snapshot, is_sound
from infinite_memory.storage.sqlite.schema import SCHEMA_VERSION
from infinite_memory.storage.sqlite.writer import Writer, open_writer

# No lock guards the dictionary, since a forked child could inherit a held lock: every use is a
# single operation on it.
_errors: dict[tuple[str, int, int], StoreDamaged] = {}
_Result = TypeVar("_Result")

_CHECKPOINT_BYTES = 4 << 20
# The longest wait of an opening and a closing for the writers' lock, which they can do without.
_OPENING_SECONDS = 1.0
_CLOSING_SECONDS = 2.0
# The longest wait of a scrub for readers of different processes, and the pause between attempts.
_SCRUB_SECONDS = 3.0
_SCRUB_PAUSE_SECONDS = 5.0

_logger = logging.getLogger("infinite_memory.storage")
_open_databases: weakref.WeakSet[Database] = weakref.WeakSet()


class Database:
    """An open database. Any thread may use it; a forked child may not."""

    def __init__(
        self, folder: Path, *, vfs: str | None, checkpoint_pages: int | None = None
    ) -> None:
        check_library(apsw.sqlite_lib_version())
        self.places = Places(folder.absolute())
        self.path = self.places.database
        self._log_name = str(self.places.log)
        self._vfs = vfs
        self._lock = WriterLock(self.places.lock, timeout_seconds=BUSY_SECONDS)
        self._process = os.getpid()
        self._closed = False
        self._lost: StorageUnavailable | None = None
        self._readers = Readers(self.path, vfs)
        self._reserve = Reserve(self.places.reserve)
        self._scrub_mark = ScrubMark(self.places.scrub_due)
        self._scrub_again_at = 0.0
        prepare_folder(self.places, vfs)
        with self._lock.hold_within(_OPENING_SECONDS) as held:
            opened = self._open_files(checkpoint_pages, locked=held)
        if not opened:
            with self._lock.hold():
                self._open_files(checkpoint_pages, locked=True)
        _open_databases.add(self)

    def _open_files(self, checkpoint_pages: int | None, *, locked: bool) -> bool:
        """Check and open the files; return False if that needs the lock and it is not `locked`."""
        find = ensure_store if locked else find_sound_store

        def start() -> bool:
            return self._start_writer(find(self.places, self._vfs), checkpoint_pages, locked=locked)

        if locked:
            return look_twice(start)
        try:
            return start()
        except StoreDamaged:
            return False  # somebody may have written, or put other files in place

    def _start_writer(
        self, identity: str | None, checkpoint_pages: int | None, *, locked: bool
    ) -> bool:
        """Open the writer of the store that was found, as `_open_files` does."""
        if identity is None:
            return False
        self.identity = identity
        self._suspicion = Suspicion(self.path, identity)
        try:
            connection, self._files = self._open_first(locked=locked)
            if not locked and connection.pragma("user_version") != SCHEMA_VERSION:
                connection.close()
                return False
            usual_pages = _CHECKPOINT_BYTES // connection.pragma("page_size")
            pages = usual_pages if checkpoint_pages is None else checkpoint_pages
            self._writer = Writer(connection, self.path, pages)
            if locked:
                self._bring_forward()
        except apsw.Error as error:  # not remembered: the next opening checks again
            raise storage_error(error, self.path) from error
        if locked and self._suspicion.error is None:
            self._scrub_if_due()
            self._reserve.fill()
        return True

    def _open_first(self, *, locked: bool) -> tuple[apsw.Connection, LiveFiles]:
        """Open the writer; on a full disk, free a part of the reserve for the start of SQLite."""
        try:
            return self._open_writer()
        except (apsw.FullError, apsw.IOError):
            if not (locked and self._reserve.give(OPENING_BYTES)):
                raise
            return self._open_writer()

    def _open_writer(self) -> tuple[apsw.Connection, LiveFiles]:
        self._check_other_handles(look_at_files(self.places))
        return open_writer(self.places, self.identity, vfs=self._vfs)

    def _check_other_handles(self, files: LiveFiles) -> None:
        """Refuse a database whose removed log, or its index, this process still uses.

        All connections of a process share the same index of the log of a database.
        """
        for database in list(_open_databases):
            same_file = database._files.database == files.database
            if database is self or not same_file or database._is_released():
                continue
            name = database._files.missing_from(files)
            if name is not None:
                raise moved_files(self.places, name, NOTHING_STORED)

    def _is_released(self) -> bool:
        return self._closed and self._writer.is_closed and self._readers.are_released

    def _bring_forward(self) -> None:
        """Migrate an older store, without the reserve, which is too small for a migration."""
        if self._suspicion.error is not None:
            return
        try:
            migrated = migrate(self._writer.connection, self.path)
        except BaseException:
            self._writer.close()
            raise
        if migrated:
            self._writer.hasten_checkpoint()
            self._checkpoint_if_due()

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        """Give a snapshot for the length of a block.

        Raises:
            StoreClosed: the store was closed, or opened before a fork.
            StorageUnavailable: the database cannot be read.
            StoreDamaged: SQLite found the file damaged; from then on no handle of this process
                writes to it.
        """
        self._check_open()
        with self._translate_errors():
            self._check_log("nothing was read", locked=False)
            with self._readers.snapshot() as snapshot:
                yield snapshot

    def transaction(
        self,
        work: Callable[[apsw.Connection, bytes], _Result],
        *,
        forgetting: Callable[[], bool] = lambda: False,
        erasing: bool = False,
        wait_seconds: float = BUSY_SECONDS,
    ) -> _Result:
        """Run `work` in a durable transaction, or leave everything as it was.

        `work` gets a token and writes it into the ledger; if the commit itself reports an error,
        the token shows the outcome. On a full disk, `forgetting` is called; if it returns True,
        the reserve is freed and `work` runs again. `erasing` notes that a scrub is due.

        Raises:
            StoreClosed, StorageUnavailable, StoreDamaged: as for `read`. If the log was removed or
                replaced during the commit, StorageUnavailable: the commit was most likely lost.
        """
        with self._hold_writer_lock(wait_seconds):
            if erasing:
                self._scrub_mark.set()
            try:
                result = self._writer.run(work)
            except apsw.Error as error:
                if not is_full(error, self._writer.connection):
                    raise
                if not (forgetting() and self._reserve.give(RESERVE_BYTES)):
                    raise full_disk(error, self.path) from error
                result = self._writer.run(work)
                self._writer.hasten_checkpoint()
            self._check_log(UNKNOWN_OUTCOME)
            self._checkpoint_if_due()
            if not erasing:
                self._scrub_if_due()
            return result

    @contextmanager
    def _hold_writer_lock(self, wait_seconds: float = BUSY_SECONDS) -> Iterator[None]:
        """Hold the writers' lock of a database that may be written."""
        self._check_open()
        # A second look at damage takes long on a large store, so it comes after the lock.
        with self._translate_errors(), self._lock.hold(wait_seconds):
            try:
                self._check_open()
                self._suspicion.check()
                self._check_files(NOTHING_STORED)
                yield
            finally:
                if self._closed:  # meanwhile, by a thread that did not wait for this block
                    self._writer.close()

    def _checkpoint_if_due(self) -> None:
        """Copy the log into the database if it has grown; a failure is logged and loses nothing."""
        if not self._writer.checkpoint_is_due:
            return
        try:
            self._writer.checkpoint()
        except apsw.Error as error:
            self._judge_error(error)
            _logger.warning("%s: the log could not be copied yet: %s", self.path, error)
        else:
            self._reserve.fill()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the writers' lock: no process writes to the database or the files beside it."""
        self._check_open()
        with self._lock.hold():
            yield

    def scrub(self) -> bool:
        """Empty the log into the database, so that no erased byte stays in a file.

        Return False if a reader of a different process prevents it. The first commit, opening or
        closing after that reader has ended then empties the log.
        """
        with self._hold_writer_lock():
            self._scrub_mark.set()
            try:
                self._writer.scrub_log(_SCRUB_SECONDS)
            except apsw.BusyError:
                self._scrub_again_at = time.monotonic() + _SCRUB_PAUSE_SECONDS
                return False
            except apsw.Error as error:
                if not (
                    is_full(error, self._writer.connection) and self._reserve.give(RESERVE_BYTES)
                ):
                    raise
                self._writer.scrub_log(_SCRUB_SECONDS)
            self._scrub_mark.clear()
            self._reserve.fill()
            return True

    def _scrub_if_due(self) -> None:
        """Finish an earlier scrub if no reader prevents it; a later call retries a failure."""
        if not self._scrub_mark.is_set or time.monotonic() < self._scrub_again_at:
            return
        self._scrub_again_at = time.monotonic() + _SCRUB_PAUSE_SECONDS
        try:
            self._writer.scrub_log(0.0)
        except apsw.Error as error:
            self._judge_error(error)
            _logger.info("%s: the log could not be emptied yet: %s", self.path, error)
        else:
            self._scrub_mark.clear()

    def forget_reads(self) -> None:
        """Read from the disk anew, through other connections."""
        self._readers.forget()

    def close(self) -> None:
        """Close every connection, and empty the log if nobody reads from it; never wait for long.

        Commits are durable in the log as well, so nothing is lost if a stopped process holds the
        writers' lock.
        """
        if self._process != os.getpid() or self._closed:
            return
        self._closed = True
        self._readers.close()
        try:
            with self._lock.hold_within(_CLOSING_SECONDS) as held:
                if held:
                    self._empty_log_at_end()
                    self._writer.close()
                    return
            with self._lock.hold_in_thread(_CLOSING_SECONDS):
                self._writer.close()
        except WriterBusy:
            _logger.info("%s: a thread that still writes closes it at the end", self.path)
        except StorageUnavailable as error:  # the lock file is no longer usable
            _logger.warning("%s: it was closed with its log as it is: %s", self.path, error)
            self._writer.close()

    def _empty_log_at_end(self) -> None:
        """Copy the log into the database, also if the log was removed while it was open."""
        if self._suspicion.error is not None or self._writer.is_closed:
            return
        if self._lost is not None or look_at_files(self.places) != self._files:
            self._rescue_log()
            return
        try:
            self._scrub_again_at = 0.0
            self._scrub_if_due()
            self._writer.truncate_log(0.0)
        except apsw.BusyError:
            _logger.debug("%s: the log stays, since it still has readers", self.path)
        except apsw.Error as error:
            self._judge_error(error)
            _logger.warning("%s: the log could not be copied yet: %s", self.path, error)

    def _check_open(self) -> None:
        if self._process != os.getpid():
            raise StoreClosed(crossed_fork(f"the store {self.path}"))
        if self._closed:
            raise StoreClosed(f"the store {self.path} was closed: open it again")
        if self._lost is not None:
            raise self._lost

    def _check_log(self, outcome: str, *, locked: bool = True) -> None:
        """Check only the identity of the log, which is cheap; see `_check_files`."""
        if file_identity(self._log_name) != self._files.log:
            self._check_files(outcome, locked=locked)

    def _check_files(self, outcome: str, *, locked: bool = True) -> None:
        """Refuse, now and in every later call, files that were removed or replaced.

        `outcome` is the part of the StorageUnavailable that tells the caller the consequence.
        """
        name = self._files.missing_from(look_at_files(self.places))
        if name is not None:
            self._lost = moved_files(self.places, name, NOTHING_STORED)
            if locked:
                self._rescue_log()
            raise moved_files(self.places, name, outcome)

    def _rescue_log(self) -> None:
        """Copy a removed log into the database, unless a process has begun a new log.

        The caller holds the writers' lock.
        """
        now = look_at_files(self.places)
        same_index = now.index == self._files.index
        log_is_empty = now.log is None or (same_index and not self.places.log.stat().st_size)
        unused = log_is_empty and (same_index or now.index is None)
        if now.database != self._files.database or not unused:
            return
        try:
            self._writer.roll_back()
            self._writer.checkpoint()
        except apsw.Error as error:
            _logger.warning("%s: the log that was removed is lost: %s", self.path, error)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            raise self._judge_error(error) from error
        except UnicodeDecodeError as error:
            # Columns are cast to the types that they were written with; foreign content may not be.
            problem = f"holds bytes that are not a text ({error})"
            raise damaged_database(self.path, problem) from error

    def suspect(self, problem: str) -> None:
        """Refuse all further writes, since the file is damaged; `problem` describes the damage."""
        self._suspicion.note(damaged_database(self.path, f"is damaged ({problem})"))

    def _judge_error(self, error: apsw.Error) -> StorageError:
        """Return the typed error; damage must be seen again, then this process writes no more."""
        if not isinstance(error, DAMAGE):
            return storage_error(error, self.path)
        if self._suspicion.error is None and is_sound(self.path, self._vfs):
            return misread_database(error, self.path)
        self.suspect(str(error))
        return storage_error(error, self.path)


class Suspicion:
    """The damage that any handle or thread of this process has found in a database file.

    The suspicion lasts until the process ends. A later check that finds no damage proves nothing,
    since it may not read the damaged page. The suspicion belongs to the file, not to its name: a
    sound file that replaces it, such as a restored backup, may be written.
    """

    def __init__(self, path: Path, identity: str) -> None:
        """Track the store `identity` in the file at `path`, which exists."""
        status = path.stat()
        self._file = (identity, status.st_dev, status.st_ino)

    @property
    def error(self) -> StoreDamaged | None:
        """The error that describes the damage, None if none was found."""
        return _errors.get(self._file)

    def note(self, error: StoreDamaged) -> None:
        """Remember the damage that `error` describes, unless damage was noted before."""
        _errors.setdefault(self._file, error)

    def check(self) -> None:
        """Refuse to write.

        Raises:
            StoreDamaged: damage was found.
        """
        error = self.error
        if error is not None:
            raise StoreDamaged(f"this process writes nothing more and only reads: {error}")


class ScrubMark:
    """The mark of a store. Used under the writers' lock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def is_set(self) -> bool:
        """Whether the log must still be emptied."""
        return os.path.exists(self._path)  # noqa: PTH110 -- a third of the time of Path.exists

    def set(self) -> None:
        """Make the mark durably; log a failure, since a full disk must not prevent an erasure."""
        if self.is_set:
            return
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
            sync_folder(self._path.parent)
        except OSError as error:
            _logger.warning("%s could not be created: %s", self._path, error)

    def clear(self) -> None:
        """Remove the mark; if a power cut brings it back, the log is only emptied again."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            _logger.warning("%s could not be removed: %s", self._path, error)
