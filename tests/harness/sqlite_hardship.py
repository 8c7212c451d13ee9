"""The SQLite storage on a disk that fails and loses its power, for the state machine."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from pathlib import Path
from random import Random

import apsw

from infinite_memory.core.protocols import Storage
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.power import FragileDisk, Image, restore

_numbers = itertools.count()


class SqliteHardship:
    """A `Hardship` of fragile disks, a new one after each cut; `lying` ones never sync."""

    def __init__(self, seed: int = 1, *, lying: bool = False) -> None:
        self._random = Random(seed)
        self._lying = lying
        self._disk: FragileDisk | None = None
        self._watched = ExitStack()
        self._calls = self._fail_at = self._cut_at = 0
        self._image: Image | None = None

    def open(self, home: Path) -> Storage:
        """Open the store in `home`, which checkpoints every few pages."""
        if self._disk is None:
            name = f"hardship-{next(_numbers)}"
            self._disk = FragileDisk(name, home, lying=self._lying)
            self._disk.before_step = self._step  # type: ignore[method-assign]
            self._watched.enter_context(self._disk.watching())
        return SqliteStorage.open(home, vfs=self._disk.name, checkpoint_pages=15)

    def fail_at(self, call: int) -> None:
        """Fail one call that writes, syncs or removes; see `Hardship.fail_at`."""
        self._calls, self._fail_at = 0, call

    def cut_at(self, call: int) -> None:
        """Keep what is on the disk at such a call; see `Hardship.cut_at`."""
        self._calls, self._cut_at, self._image = 0, call, None

    def _step(self) -> None:
        self._calls += 1
        if self._calls == self._cut_at and self._disk is not None:
            self._image = self._disk.cut(self._random)
        if self._calls == self._fail_at:
            raise apsw.IOError(f"simulated: call {self._calls}")

    def crash(self, home: Path) -> Path:
        """Return a new folder beside `home` with what is left after the cut."""
        assert self._disk is not None, "nothing was opened"
        image = self._disk.cut(self._random) if self._image is None else self._image
        self._image, self._cut_at = None, 0
        self.release()
        left = home.with_name(f"left-{next(_numbers)}")
        restore(image, left)
        return left

    def release(self) -> None:
        """Unregister the disk; files that are open on it stay open."""
        self._watched.close()
        if self._disk is not None:
            self._disk.unregister()
            self._disk = None
