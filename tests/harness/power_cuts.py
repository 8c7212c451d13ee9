"""Cuts of the power in the middle of work on a SQLite store, and what must be there afterwards."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import apsw
from attrs import frozen

from infinite_memory.core.errors import StorageError
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.power import FragileDisk, Image, restore
from tests.harness.workload import State, Workload, state_of

_disks = itertools.count()
_CUT_IN_A_STEP = 0.04
_CUT_AFTER_A_COMMIT = 0.3


@frozen(kw_only=True)
class Cut:
    """What was on the disk at one cut, and the commits that the store must then hold.

    The commit that was under way, if there was one, is `under_way`: it may be there as a whole, and
    then the store is in the state `ahead`. `identity` is None while it was being created.
    """

    image: Image
    identity: str | None
    commits: list[Commit]
    acknowledged: State
    under_way: Commit | None
    ahead: State


class _Run:
    """One store at work on a fragile disk, cut at moments of chance."""

    def __init__(self, folder: Path, random: Random, start: Cut | None, *, lying: bool) -> None:
        self._random = random
        self._folder = folder
        self._workload = Workload(random, start.commits if start else None)
        self._under_way: Commit | None = None
        self._commits = list(self._workload.commits)
        self._acknowledged = self._ahead = state_of(self._workload.model)
        self._identity = start.identity if start else None
        if start is None:
            folder.mkdir()
        else:
            restore(start.image, folder)
        self._disk = FragileDisk(f"fragile-{next(_disks)}", folder, lying=lying)
        self._disk.before_step = self._maybe_cut  # type: ignore[method-assign]
        self.cuts: list[Cut] = []

    def _maybe_cut(self, chance: float = _CUT_IN_A_STEP) -> None:
        if self._random.random() < chance:
            self.cuts.append(
                Cut(
                    image=self._disk.cut(self._random),
                    identity=self._identity,
                    commits=self._commits,
                    acknowledged=self._acknowledged,
                    under_way=self._under_way,
                    ahead=self._ahead,
                )
            )

    def work(self, commits: int) -> None:
        """Open the store, commit so often, with checkpoints, scrubs and reopening; close it."""
        try:
            with self._disk.watching():
                storage = self._open()
                for _ in range(commits):
                    self._commit(storage)
                    way = self._random.random()
                    if way < 0.1:
                        storage.scrub()
                    elif way < 0.2:
                        storage.close()
                        storage = self._open()
                storage.close()
                self._maybe_cut(1.0)
        finally:
            self._disk.unregister()

    def _open(self) -> SqliteStorage:
        pages = self._random.choice((5, 20, 60))
        storage = SqliteStorage.open(self._folder, vfs=self._disk.name, checkpoint_pages=pages)
        self._identity = storage.identity
        return storage

    def _commit(self, storage: SqliteStorage) -> None:
        commit = self._workload.next()
        self._workload.done(commit)
        self._under_way, self._ahead = commit, state_of(self._workload.model)
        storage.commit(commit)
        self._commits = list(self._workload.commits)
        self._under_way, self._acknowledged = None, self._ahead
        self._maybe_cut(_CUT_AFTER_A_COMMIT)


def cut_power(
    folder: Path,
    random: Random,
    *,
    start: Cut | None = None,
    commits: int = 15,
    lying: bool = False,
) -> list[Cut]:
    """Let a store work in `folder`, which must not exist, and return the cuts that it went through.

    It starts from nothing, or from what an earlier cut left. `lying` uses a disk that never syncs.
    """
    run = _Run(folder, random, start, lying=lying)
    try:
        run.work(commits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return run.cuts


def find_fault(cut: Cut, folder: Path) -> str | None:
    """Open what a cut left, in `folder`, which must not exist, and say what is wrong with it.

    Everything acknowledged must be there exactly, what was under way as a whole or not at all; the
    database sound; the feed the same in small steps; and the store ready for the same writes.
    """
    restore(cut.image, folder)
    try:
        storage = SqliteStorage.open(folder)
        try:
            return _first_fault(storage, cut, folder)
        finally:
            storage.close()
    except (StorageError, apsw.Error) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _first_fault(storage: SqliteStorage, cut: Cut, folder: Path) -> str | None:
    return next(_faults(storage, cut, folder), None)


def _faults(storage: SqliteStorage, cut: Cut, folder: Path) -> Iterator[str]:
    if cut.identity is not None and storage.identity != cut.identity:
        yield "another store is there"
    found = state_of(storage, step=7)
    if found not in (cut.acknowledged, cut.ahead):
        yield _difference(found, cut.acknowledged)
    elif found != cut.ahead and cut.under_way is not None:
        storage.commit(cut.under_way)
        if state_of(storage) != cut.ahead:
            yield "the write that was under way cannot be repeated"
    yield from _unsound(folder)
    if storage.damaged:
        yield f"damaged records: {sorted(storage.damaged)}"


def _difference(found: State, acknowledged: State) -> str:
    lost = acknowledged.position - found.position
    return f"lost or torn: position {found.position}, {lost} behind what was acknowledged"


def _unsound(folder: Path) -> Iterator[str]:
    connection = apsw.Connection(str(folder / "memory.db"))
    try:
        answer = connection.pragma("integrity_check")
        if answer != "ok":
            yield f"integrity: {answer}"
        if connection.execute("PRAGMA foreign_key_check").fetchall():
            yield "a row refers to one that is not there"
    finally:
        connection.close()
