"""A sound store is never called damaged, whoever writes while one looks at it."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import infinite_memory
from infinite_memory import Config, MemoryStore, StorageUnavailable
from infinite_memory.core.values.archive.backup import RestoreMode
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.open import diagnose_unopened, replacing_damaged
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.creation import find_sound_store
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import put
from tests.harness.interrupted_disk import InterruptedDisk
from tests.harness.older_stores import make_older_store

PACKAGE = Path(infinite_memory.__file__).parent


@pytest.fixture(scope="module")
def disk() -> Iterator[InterruptedDisk]:
    disk = InterruptedDisk()
    yield disk
    disk.unregister()


def older(home: Path) -> None:
    make_older_store(home, schema=1)


def older_with_lock(home: Path) -> None:
    older(home)
    (home / "store.lock").touch()


def filled(home: Path) -> None:
    with closing(SqliteStorage.open(home)) as storage:
        storage.commit(Commit(puts=[put(f"m{number}", text="x" * 500) for number in range(99)]))


STORES = {"older": older, "older with its lock": older_with_lock, "of today": filled}


def write(home: Path) -> None:
    """Bring the store forward, write, copy the log into the database in small steps, and close."""
    with closing(SqliteStorage.open(home, checkpoint_pages=8)) as storage:
        for number in range(4):
            ids = range(number * 50, number * 50 + 50)
            storage.commit(Commit(puts=[put(f"late{each}", text="y" * 900) for each in ids]))


def restore(home: Path) -> None:
    """Replace the whole content in one transaction, as a restore does."""
    with closing(SqliteStorage.open(home)) as storage, storage.replacement() as replacement:
        replacement.storage.commit(Commit(puts=[put("restored", text="z" * 90_000)]))
        end = storage.journal_end().number
        replacement.swap(position=storage.position(), entries=end)


def set_aside(home: Path) -> None:
    """Put a new store in place of the files, as a restore of a damaged store does."""
    with replacing_damaged(str(home)) as replacement:
        replacement.storage.commit(Commit(puts=[put("restored")]))
        replacement.swap_aside(datetime(2026, 6, 5, tzinfo=UTC))


CHANGES = {"write": write, "restore": restore, "set aside": set_aside}

# By each function that looks at the files without the locks of SQLite: what makes it look.
LOOKS: dict[str, Callable[[Path], object]] = {
    "prepare_folder": lambda home: SqliteStorage.open(home).close(),
    "ensure_store": lambda home: SqliteStorage.open(home).close(),
    # An opening calls it only beside somebody who keeps the lock.
    "find_sound_store": lambda home: find_sound_store(Places(home), None),
    "_diagnose_store": lambda home: list(diagnose_unopened(str(home), home=home)),
}


def test_every_function_that_looks_without_locks_is_tried_here() -> None:
    lookers = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for function in ast.walk(ast.parse(text)) if "inspect_store" in text else ():
            names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            if isinstance(function, ast.FunctionDef) and "inspect_store" in names:
                lookers.add(function.name)
    assert lookers == LOOKS.keys()


@pytest.mark.thorough
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("look", sorted(LOOKS.keys() - {"ensure_store"}))
def test_a_store_that_is_changed_in_the_middle_of_a_look_is_not_called_damaged(
    disk: InterruptedDisk, tmp_path: Path, look: str, store: str, change: str
) -> None:
    for number in count(1):
        home = tmp_path / str(number)
        STORES[store](home)
        with disk.interrupting(number, home / "store.lock", partial(CHANGES[change], home)):
            LOOKS[look](home)
        shutil.rmtree(home)
        if disk.calls < number:
            break


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("look", sorted(LOOKS.keys() - {"ensure_store"}))
def test_a_store_that_is_misread_once_is_not_called_damaged(
    disk: InterruptedDisk, tmp_path: Path, look: str, store: str
) -> None:
    for number in count(1):
        home = tmp_path / str(number)
        STORES[store](home)
        with disk.misreading(number):
            LOOKS[look](home)
        shutil.rmtree(home)
        if disk.reads < number:
            break


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the closed folder of a store with a snapshot of its index."""
    home = tmp_path_factory.mktemp("indexed") / "home"
    with opened(home) as store:
        store.remember_many(
            {"id": f"m{number}", "text": f"memory {number}"} for number in range(600)
        )
        store.backups.create()
    assert list((home / "index").glob("*.index"))
    return home


def opened(home: Path) -> MemoryStore:
    return MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder())


def revise(home: Path) -> None:
    """Change memories at both ends of the feed, and the journal."""
    with opened(home) as store:
        store.revise("m0", revision=1, scope="work")
        store.revise("m599", revision=1, text="it is another text now")
        store.forget("m300", hard=True)


def restore_backup(home: Path) -> None:
    """Replace the whole content by its backup."""
    with opened(home) as store:
        store.backups.restore(store.backups.list()[0].name, mode=RestoreMode.OVERWRITE)


class ChangedBetweenReads:
    """Lets the methods of a storage that `verify` reads with do `work` before one read of all."""

    def __init__(self, number: int, work: Callable[[], None]) -> None:
        self.reads = 0
        self._number = number
        self._work = work

    def patch(self, storage: object, patch: pytest.MonkeyPatch) -> None:
        for name in ("changes", "get", "journal", "journal_end", "position", "verify"):
            patch.setattr(storage, name, partial(self._read, getattr(storage, name)))

    def _read(self, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        self.reads += 1
        if self.reads == self._number:
            self._work()
        return call(*args, **named)


@pytest.mark.thorough
@pytest.mark.parametrize("change", [revise, restore_backup])
def test_verify_finds_nothing_in_a_store_that_is_changed_between_two_of_its_reads(
    indexed: Path, tmp_path: Path, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in count(1):
        home = tmp_path / str(number)
        shutil.copytree(indexed, home)
        changed = ChangedBetweenReads(number, partial(change, home))
        with opened(home) as store, monkeypatch.context() as patch:
            changed.patch(store._services.storage, patch)
            assert store.verify().findings == ()
        shutil.rmtree(home)
        if changed.reads < number:
            break


def test_an_open_store_that_is_misread_once_is_not_called_damaged_and_takes_writes(
    disk: InterruptedDisk, indexed: Path, tmp_path: Path
) -> None:
    shutil.copytree(indexed, tmp_path / "home")
    for number in count(1, 40):
        with closing(SqliteStorage.open(tmp_path / "home")) as storage:
            with disk.misreading(number):
                assert storage.verify().sound
            with disk.misreading(number), suppress(StorageUnavailable):
                storage.changes(0, limit=1000)
            storage.commit(Commit(puts=[put(f"late{number}")]))
            assert storage.verify().sound
            assert not storage.damaged
        if disk.reads < number:
            break
