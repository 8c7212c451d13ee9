"""A sound store is never called damaged, whoever writes while one looks at it."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import infinite_memory
from infinite_memory.model.commit import Commit
from infinite_memory.storage.open import diagnose_unopened, replacing_damaged
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.creation import find_sound_store
from infinite_memory.storage.sqlite.files.paths import Places
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
