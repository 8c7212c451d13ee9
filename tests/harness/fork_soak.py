"""One process of the soak of forks; see `benchmarks.soak.forks`."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random
from typing import NoReturn

import apsw

from infinite_memory.core.errors import InfiniteMemoryError, StorageUnavailable
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage, creation, database
from infinite_memory.storage.sqlite.files import open_files
from infinite_memory.storage.sqlite.writer import Writer
from infinite_memory.testing.storage_contract import put
from tests.harness.notes import Notes

_MOST_CHILDREN = 3
_ROUND_SECONDS = 2.0
_PAUSE_SECONDS = 0.5


def switch_off_protection() -> None:
    """Work as before a child was refused: the last one to close removes the log, nobody looks."""

    def accept(_path: Path) -> None:
        return None

    def close(self: Writer) -> None:
        if not self.is_closed:
            self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            close_as_it_is(self)

    def ignore(*_: object, **__: object) -> None:
        return None

    close_as_it_is = Writer.close
    for module in (open_files, creation):
        module.check_not_inherited = accept  # type: ignore[attr-defined]
    Writer.close = close  # type: ignore[method-assign]
    database.Database._check_log = ignore  # type: ignore[method-assign]
    database.Database._check_files = ignore  # type: ignore[method-assign]
    database.Database._check_other_handles = ignore  # type: ignore[method-assign]


class _Process:
    """A process or one of its children: opens, commits, notes, and dies at random."""

    def __init__(self, seed: int, home: Path, notes: Notes) -> None:
        self._seed = seed
        self._home = home
        self._notes = notes
        self._parent = os.getppid()
        self._random = Random(seed)
        self._name = f"p{seed}-{os.getpid()}"
        self._turn = 0
        self._children: list[int] = []

    def work_for_ever(self) -> NoReturn:
        """Open, commit, fork and close, until killed or orphaned."""
        while os.getppid() == self._parent:
            storage = self._open()
            while not _is_pause():
                self._commit(storage, self._random.randrange(1, 4))
                if self._random.random() < 0.2:
                    self._fork(while_open=True)
                if self._random.random() < 0.2:
                    break
            storage.close()
            if self._random.random() < 0.3:
                self._fork(while_open=False)
            while _is_pause():
                time.sleep(0.01)
            self._reap()
        os._exit(0)

    def _open(self) -> SqliteStorage:
        return SqliteStorage.open(self._home)

    def _commit(self, storage: SqliteStorage, count: int) -> None:
        for _ in range(count):
            self._turn += 1
            memory_id = f"{self._name}-{self._turn}"
            storage.commit(Commit(puts=[put(memory_id)]))
            self._notes.add(self._name, "stored", memory_id)

    def _fork(self, *, while_open: bool) -> None:
        self._reap()
        if len(self._children) >= _MOST_CHILDREN:
            return
        seed = self._random.randrange(1 << 40)
        child = os.fork()
        if child:
            self._children.append(child)
            self._notes.add(self._name, "forked", str(child))
            return
        try:
            _Process(seed, self._home, self._notes).work_as_child(while_open=while_open)
        finally:
            os._exit(0)

    def work_as_child(self, *, while_open: bool) -> None:
        """Open the store, commit for a while, and end in any way; or be refused.

        One that was forked while the store was open goes on through the next pause.
        """
        try:
            storage = self._open()
            end = time.monotonic() + self._random.uniform(0, 3)
            while time.monotonic() < end and os.getppid() == self._parent:
                if _is_pause() and not while_open:
                    break
                self._commit(storage, 1)
                time.sleep(self._random.uniform(0, 0.02))
        except StorageUnavailable as error:
            kind = "refused" if "does not cross a fork" in str(error) else "error"
            self._notes.add(self._name, kind, str(error))
            return
        except InfiniteMemoryError as error:
            self._notes.add(self._name, "error", str(error))
            return
        ending = self._random.random()
        if ending < 0.4:
            os.kill(os.getpid(), signal.SIGKILL)
        elif ending < 0.8:
            storage.close()

    def _reap(self) -> None:
        for child in list(self._children):
            if os.waitpid(child, os.WNOHANG)[0]:
                self._children.remove(child)


def _is_pause() -> bool:
    """Return whether it is the part of each two seconds in which no process has the store open."""
    return time.time() % _ROUND_SECONDS > _ROUND_SECONDS - _PAUSE_SECONDS


def work(seed: str, home: str, folder: str, build: str) -> None:
    """Work until killed; an error of a process itself is noted, since nobody else would see it."""
    if build == "broken":
        switch_off_protection()
    notes = Notes(Path(folder))
    try:
        _Process(int(seed), Path(home), notes).work_for_ever()
    except InfiniteMemoryError as error:
        notes.add(f"p{seed}-error", "error", str(error))
