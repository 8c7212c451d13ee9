"""Archives of MongoDB: to the byte, from and to SQLite, and replaced at once for every process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given, settings
from mongo_deaths import connected, databases
from mongo_servers import Deployment

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.archive.backup import RestoreMode
from infinite_memory.core.values.commit import Commit
from infinite_memory.features.archive.backup import verify_file, write_backup
from infinite_memory.features.archive.backup_folder import BackupFolder
from infinite_memory.features.archive.restore import RestoreRequest, replace_content
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.storage.mongodb.schema import METADATA, STORE
from infinite_memory.storage.mongodb.views import replacement
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract.base import make_link, put
from infinite_memory.testing.storage_contract.journal import make_action
from tests.harness.everything import dump, fill
from tests.harness.random_stores import commits, fill_from

NOW = datetime(2026, 6, 5, tzinfo=UTC)


@pytest.fixture
def database(either: Deployment, tmp_path: Path) -> Iterator[str]:
    yield either.address_of(tmp_path)
    either.drop(tmp_path)


def pass_on(source: Storage, target: Storage, folder: Path) -> None:
    path = folder / f"{uuid4()}.imarchive"
    write_backup(source, path, now=NOW)
    replace_content(target, request(path, RestoreMode.EMPTY))


def request(path: Path, mode: RestoreMode) -> RestoreRequest:
    folder = BackupFolder(path.parent / "backups")
    return RestoreRequest(archive=path, mode=mode, with_keys=True, folder=folder, now=NOW)


@given(steps=commits)
@settings(max_examples=6, deadline=None)
def test_anything_comes_back_to_the_byte(
    either: Deployment, tmp_path_factory: pytest.TempPathFactory, steps: list[object]
) -> None:
    folder = tmp_path_factory.mktemp("mongo")
    with ExitStack() as owned:
        one = owned.enter_context(closing(InMemoryStorage()))
        there = owned.enter_context(closing(open_mongodb(either.address_of(folder))))
        owned.callback(either.drop, folder)
        back = owned.enter_context(closing(InMemoryStorage()))
        fill_from(one, steps)
        pass_on(one, there, folder)
        pass_on(there, back, folder)
        assert list(dump(there)) == list(dump(back)) == list(dump(one))


def test_sqlite_to_mongodb_and_back_by_archive(database: str, tmp_path: Path) -> None:
    with (
        closing(SqliteStorage.open(tmp_path / "one")) as one,
        closing(open_mongodb(database)) as there,
        closing(SqliteStorage.open(tmp_path / "back")) as back,
    ):
        fill(one, plain=600)
        pass_on(one, there, tmp_path)
        pass_on(there, back, tmp_path)
        assert list(dump(there)) == list(dump(back)) == list(dump(one))
        assert back.verify().sound


def test_a_backup_shows_one_moment_while_others_write(database: str, tmp_path: Path) -> None:
    begun, over = threading.Event(), threading.Event()
    with closing(open_mongodb(database)) as storage:

        def write() -> None:
            number = 0
            while not over.is_set():
                a, b = f"a{number}", f"b{number}"
                storage.commit(
                    Commit(puts=[put(a), put(b)], links=[make_link(a, b)], entry=make_action(a, b))
                )
                begun.set()
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            assert begun.wait(60)
            for number in range(3):
                path = tmp_path / f"{number}.imarchive"
                write_backup(storage, path, now=NOW)
                counts = verify_file(path).counts or {}
                assert counts["memories"] == 2 * counts["links"] == 2 * counts["entries"]
        finally:
            over.set()
            writer.join()


@pytest.mark.parametrize("renamed", [0, 1, 4])
def test_a_swap_that_was_cut_short_is_finished_by_whoever_comes(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: int
) -> None:
    """The process ends after so many collections were renamed; others have the store open."""
    with closing(InMemoryStorage()) as source:
        fill(source, plain=10)
        wanted = list(dump(source))
        write_backup(source, tmp_path / "one.imarchive", now=NOW)
    rename = replacement._rename_collection
    left = renamed

    class Killed(BaseException):
        pass

    def rename_some(*arguments: object) -> None:
        nonlocal left
        if not left:
            raise Killed
        left -= 1
        rename(*arguments)  # type: ignore[arg-type]

    with closing(open_mongodb(database)) as other, closing(open_mongodb(database)) as one:
        wish = request(tmp_path / "one.imarchive", RestoreMode.EMPTY)
        with monkeypatch.context() as patched:
            patched.setattr(replacement, "_rename_collection", rename_some)
            with pytest.raises(Killed):
                replace_content(one, wish)
        # Whoever asks for the end of the feed, or commits, finishes first.
        other.commit(Commit(puts=[put("later")]))
        assert other.get(["later", "history"]).keys() == {"later", "history"}
        other.commit(Commit(erases=()))
        assert len(list(dump(other))) == len(wanted) + 1
    with connected(database) as client:
        for found in databases(client):
            assert "swap" not in (found[METADATA].find_one({"_id": STORE}) or {})
            assert not [n for n in found.list_collection_names() if n.startswith("restoring")]


def test_the_later_of_two_restores_goes_on(database: str, tmp_path: Path) -> None:
    with closing(open_mongodb(database)) as one, closing(open_mongodb(database)) as other:
        with one.replacement() as first:
            first.storage.commit(Commit(puts=[put("first")]))
            with other.replacement() as second:
                second.storage.commit(Commit(puts=[put("second")]))
                with pytest.raises(replacement.Conflict, match="another process began"):
                    first.swap(position=0, entries=0)
                second.swap(position=0, entries=0)
        assert one.get(["first", "second"]).keys() == {"second"}
