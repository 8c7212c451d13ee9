"""One process of the soak of openers; see `benchmarks.soak.openers`."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from infinite_memory.core.errors import InfiniteMemoryError, StoreDamaged
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.open import diagnose_unopened
from infinite_memory.storage.sqlite import SqliteStorage, creation, database
from infinite_memory.storage.sqlite.files import diagnose
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.storage.sqlite.files.preflight import inspect_store
from infinite_memory.testing.storage_contract import put
from tests.harness.notes import Notes
from tests.harness.slow_disk import SlowDisk

_LARGE_BYTES = 5_000_000
_MEMORY_BYTES = 20_000
_COMMIT_MEMORIES = 50
_CHECKPOINT_PAGES = (8, 64, 500, None)


def believe_every_look() -> None:
    """Report damage at the first sight, also where no lock is held and somebody may write."""

    def look_once(places: Places, look: Callable[[], Any]) -> Any:
        return None if places.lock.exists() else look()

    creation.look_without_lock = look_once  # type: ignore[attr-defined]
    diagnose.look_without_lock = look_once  # type: ignore[attr-defined]
    database.find_sound_store = inspect_store  # type: ignore[attr-defined]
    database.Database._open_files = _open_at_once  # type: ignore[method-assign]


def _open_at_once(self: database.Database, checkpoint_pages: int | None, *, locked: bool) -> bool:
    find = creation.ensure_store if locked else inspect_store
    return self._start_writer(find(self.places, self._vfs), checkpoint_pages, locked=locked)


class Opener:
    """Opens a store on a slow disk, works and closes it at random, and notes what it is told."""

    def __init__(self, name: str, home: Path, notes: Notes, random: Random) -> None:
        self._name = name
        self._home = home
        self._notes = notes
        self._random = random
        self._turn = 0

    def work_until(self, end: float) -> None:
        """Work until the monotonic clock shows `end`; every failure is noted."""
        disk = SlowDisk(self._random)
        while time.monotonic() < end:
            try:
                self._work(end)
            except StoreDamaged as error:
                self._note("damaged", str(error))
            except InfiniteMemoryError as error:
                self._note("refused", str(error))
            except Exception:  # noqa: BLE001 - nobody else would see it: the process ends here
                self._note("error", traceback.format_exc())
        disk.unregister()

    def _note(self, kind: str, text: str) -> None:
        self._notes.add(self._name, kind, text)

    def _work(self, end: float) -> None:
        if self._random.random() < 0.2:
            for _ in diagnose_unopened(str(self._home), home=self._home):
                pass
            self._note("diagnosed", "")
            return
        storage = SqliteStorage.open(
            self._home, checkpoint_pages=self._random.choice(_CHECKPOINT_PAGES)
        )
        self._note("opened", "")
        try:
            while time.monotonic() < end and self._random.random() < 0.7:
                self._act(storage, has_time=end - time.monotonic() > 1.0)
        finally:
            storage.close()

    def _act(self, storage: SqliteStorage, *, has_time: bool) -> None:
        draw = self._random.random()
        if draw < 0.1 and has_time:
            for _ in range(_LARGE_BYTES // (_MEMORY_BYTES * _COMMIT_MEMORIES)):
                self._commit(storage, _COMMIT_MEMORIES, _MEMORY_BYTES)
            self._note("large", "")
        elif draw < 0.45:
            self._commit(storage, self._random.randrange(1, 4), 500)
        elif draw < 0.7:
            storage.scrub()
            self._note("checkpointed", "")
        elif draw < 0.95:
            storage.changes(0, limit=50)
        else:
            for finding in storage.verify().findings:
                self._note("damaged", finding.what)
            self._note("verified", "")

    def _commit(self, storage: SqliteStorage, memories: int, size_bytes: int) -> None:
        self._turn += 1
        ids = [f"{self._name}-{self._turn}-{number}" for number in range(memories)]
        storage.commit(Commit(puts=[put(each, text="x" * size_bytes) for each in ids]))
        for each in ids:
            self._note("stored", each)
