"""Restore: into an empty, a filled or a damaged store, which becomes the new one or stays."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from infinite_memory import (
    AccessDenied,
    ArchiveDamaged,
    Backup,
    Config,
    Conflict,
    InvalidInput,
    MemoryStore,
    RestoreMode,
    StorageUnavailable,
    StoreDamaged,
)
from infinite_memory.core.values.archive.backup import BackupStep
from infinite_memory.core.values.commit import Commit
from infinite_memory.features.archive.backup_folder import BackupFolder
from infinite_memory.features.archive.recovery import (
    describe_way_back,
    diagnose_backups,
    restore_damaged,
)
from infinite_memory.features.archive.restore import RestoreRequest, replace_content
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.connection import connect
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import make_access_key, put
from infinite_memory.testing.storage_contract.base import NOW
from tests.harness.everything import dump, fill


def opened(home: Path, **options: Any) -> MemoryStore:
    return MemoryStore.open(config=Config(home=home), embedder=HashingEmbedder(), **options)


def lines(home: Path) -> list[str]:
    with closing(SqliteStorage.open(home)) as storage:
        return list(dump(storage))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Path]:
    """A backup with something of everything, made elsewhere."""
    with closing(SqliteStorage.open(tmp_path / "elsewhere")) as storage:
        fill(storage, plain=20)
    with opened(tmp_path / "elsewhere") as store:
        yield Path(store.backups.create(tmp_path / "one.imarchive").path)


def test_a_store_that_holds_something_is_left_alone(home: Path, archive: Path) -> None:
    with opened(home) as store:
        store.remember("mine", id="mine")
        with pytest.raises(Conflict, match=r"holds 1 memory.*--merge.*--overwrite"):
            store.backups.restore(archive)
        with pytest.raises(InvalidInput, match="mode 'merg' is unknown: the nearest is 'merge'"):
            store.backups.restore(archive, mode="merg")
        assert [memory.id for memory in store.browse().memories] == ["mine"]


def test_an_open_store_goes_on_with_what_was_restored(
    home: Path, archive: Path, tmp_path: Path
) -> None:
    """Two handles of two processes, as far as the index is concerned."""
    with opened(home) as store, opened(home) as other:
        store.remember("the harbour opens at nine", id="mine")
        assert other.search("when does the harbour open?")[0].memory.id == "mine"
        steps: list[BackupStep] = []
        restored = store.backups.restore(
            archive, mode="overwrite", progress=lambda step, *_: steps.append(step)
        )
        assert restored.whole
        assert list(dict.fromkeys(steps)) == [
            *(BackupStep.CHECKING, BackupStep.BACKING_UP, BackupStep.WRITING),
            BackupStep.COMPARING,
        ]
        for handle in (store, other):
            hits = handle.search("Revision of a long history", scope="ALL")
            assert hits[0].memory.id == "history"
            assert "mine" not in {hit.memory.id for hit in handle.search("harbour")}
        other.remember("the ferry leaves at ten", id="later")
        assert store.get("later").text == "the ferry leaves at ten"
        assert restored.safety_backup is not None
    with closing(SqliteStorage.open(home)) as storage:
        assert storage.verify().sound
    # What was there before is there: it is restored into a store of its own.
    with opened(tmp_path / "third") as third:
        third.backups.restore(restored.safety_backup)
        assert third.get("mine").text == "the harbour opens at nine"


def test_a_key_that_was_revoked_stays_revoked(home: Path) -> None:
    with opened(home) as store:
        kept, revoked = (
            store.keys.create("kept", scopes="*"),
            store.keys.create("revoked", scopes="*"),
        )
        backup = store.backups.create()
        store.keys.revoke("revoked")
        store.backups.restore(backup.name, mode="overwrite", with_keys=True)
        assert store.keys.check(kept.secret).name == "kept"
        with pytest.raises(AccessDenied):
            store.keys.check(revoked.secret)


def test_a_store_that_others_write_to_is_not_replaced(home: Path, archive: Path) -> None:
    with opened(home) as store, opened(home) as other:
        store.remember("mine", id="mine")

        def write(step: BackupStep, *_: int) -> None:
            if step is BackupStep.COMPARING:
                other.remember("late", id="late", kind="message")

        with pytest.raises(Conflict, match="stop the programs that write to it"):
            store.backups.restore(archive, mode=RestoreMode.OVERWRITE, progress=write)
        assert {memory.id for memory in store.browse().memories} == {"mine", "late"}


def test_a_full_disk_at_the_end_leaves_the_former_content(
    home: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pages of the new content find no room: SQLite is given a limit, as a quota is one."""
    with opened(home) as store:
        store.remember("mine", id="mine")
    before = lines(home)
    from infinite_memory.storage.sqlite import replacement

    def connect_limited(path: Path, *, vfs: str | None) -> Any:
        connection = connect(path, vfs=vfs)
        connection.pragma("max_page_count", connection.pragma("page_count"))
        return connection

    with monkeypatch.context() as patched, opened(home) as store:
        patched.setattr(replacement, "connect", connect_limited)
        with pytest.raises(StorageUnavailable, match="the disk is full"):
            store.backups.restore(archive, mode="overwrite")
    assert lines(home) == before
    assert not (home / "store.restoring").exists()


def test_a_new_content_that_is_still_in_its_log_is_not_put_in_place(
    home: Path, archive: Path
) -> None:
    """As on a full disk: what was written could not be copied from the log into the database."""
    with opened(home) as store:
        store.remember("mine", id="mine")
        before = list(dump(store._services.storage))
        with ExitStack() as owned:

            def read_beside(step: BackupStep, *_: int) -> None:
                if step is BackupStep.WRITING:
                    beside = owned.enter_context(
                        closing(SqliteStorage.open(home / "store.restoring"))
                    )
                    owned.enter_context(beside.snapshot())

            with pytest.raises(StorageUnavailable, match="could not be completed"):
                store.backups.restore(archive, mode="overwrite", progress=read_beside)
        assert list(dump(store._services.storage)) == before
        assert store.backups.restore(archive, mode="overwrite").whole


def test_a_log_that_cannot_be_emptied_is_no_failed_restore(home: Path, archive: Path) -> None:
    """A reader keeps the former content in the log; the new content is in place all the same."""
    with opened(home) as store, opened(home) as other:
        store.remember("mine", id="mine")
        with other._services.storage.snapshot() as reader:
            assert store.backups.restore(archive, mode="overwrite").whole
            assert reader.get(["mine"])
        assert store.get("history").text


@pytest.mark.parametrize("renames", range(5))
def test_a_restore_that_was_killed_among_the_renames_is_repeated(
    home: Path, archive: Path, renames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In between, the folder is a damaged store, never an older or an empty one that opens."""
    from infinite_memory.storage.sqlite import replacement

    with opened(home) as store:
        store.remember("mine", id="mine")
        store.search("mine")
        shutil.copytree(home, home.with_name("copy"))  # with the log
    shutil.rmtree(home)
    home.with_name("copy").rename(home)
    (home / "memory.db").write_bytes(b"no database at all")
    create_aside, left = replacement._create_aside, renames

    def kill_later(*arguments: Any) -> Path:
        aside = create_aside(*arguments)
        for name in ("rename", "replace"):
            patched.setattr(Path, name, partialmethod(rename_or_be_killed, getattr(Path, name)))
        return aside

    def rename_or_be_killed(path: Path, rename: Any, target: Path) -> Path:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(replacement, "_create_aside", kill_later)
        with pytest.raises(KeyboardInterrupt):
            restore_damaged(Config(home=home), request(home, archive))
    with pytest.raises(StoreDamaged):
        opened(home)
    restore_damaged(Config(home=home), request(home, archive))
    with closing(SqliteStorage.open(home)) as storage:
        assert storage.get(["history"])
        assert storage.verify().sound


def test_an_archive_that_lies_changes_nothing(home: Path, archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    with opened(home) as store:
        store.remember("mine", id="mine")
        for mode in RestoreMode:
            with pytest.raises(ArchiveDamaged):
                store.backups.restore(archive, mode=mode)
        assert store.journal.entries()[0].number == 1
        assert store.backups.list() == []


def test_two_restores_at_once_are_one_after_the_other(home: Path, archive: Path) -> None:
    results: list[object] = []
    begun = threading.Event()

    def restore(progress: Any = None) -> None:
        with opened(home) as store:
            try:
                results.append(store.backups.restore(archive, progress=progress).whole)
            except (Conflict, StorageUnavailable) as error:
                results.append(type(error))

    def wait_for_other(*_: object) -> None:
        if not begun.is_set():
            begun.set()
            restore()

    restore(wait_for_other)
    assert True in results
    with closing(SqliteStorage.open(home)) as storage:
        assert storage.get(["history"])
        assert storage.verify().sound


def test_a_store_that_is_damaged_a_little_is_not_overwritten(home: Path, archive: Path) -> None:
    with opened(home) as store:
        store.remember("mine", id="mine")
        store.remember("spoilt", id="spoilt")
    with closing(connect(home / "memory.db", vfs=None)) as connection:
        connection.execute("UPDATE memories SET text = 'other' WHERE id = 'spoilt'")
    with opened(home) as store:
        with pytest.raises(StoreDamaged, match="1 record of the store cannot be read"):
            store.backups.restore(archive, mode="overwrite")
        assert store.get("mine").text == "mine"
        (backup,) = store.backups.list()
        assert not backup.whole


def request(home: Path, archive: Path) -> RestoreRequest:
    return RestoreRequest(archive=archive, folder=BackupFolder(home / "backups"), now=NOW)


def test_the_files_of_a_damaged_store_are_set_aside_and_the_newest_backup_is_offered(
    home: Path, archive: Path
) -> None:
    config = Config(home=home)
    with opened(home) as store:
        store.remember("mine", id="mine")
        backup = store.backups.create()
    spoilt = b"no database at all"
    (home / "memory.db").write_bytes(spoilt)
    with pytest.raises(StoreDamaged) as raised:
        opened(home)
    assert f"infinite-memory --home {home} restore {backup.name} --overwrite" in str(raised.value)
    assert backup.name in diagnose_backups(config).sentence
    archive.write_bytes(archive.read_bytes()[:-1])
    with pytest.raises(ArchiveDamaged):
        restore_damaged(config, request(home, archive))
    assert (home / "memory.db").read_bytes() == spoilt

    restored = restore_damaged(config, request(home, Path(backup.path)))

    assert restored is not None
    assert restored.whole
    assert (Path(str(restored.set_aside)) / "memory.db").read_bytes() == spoilt
    with opened(home) as store:
        assert store.get("mine").text == "mine"
        assert store.verify().sound
    assert not (home / "store.restoring").exists()


def test_a_store_that_was_set_aside_before_is_offered_its_earlier_backups(
    home: Path, archive: Path
) -> None:
    config = Config(home=home)
    with opened(home) as store:
        store.remember("mine", id="mine")
        backup = store.backups.create()
    (home / "memory.db").write_bytes(b"no database at all")
    restore_damaged(config, request(home, Path(backup.path)))
    (home / "memory.db").write_bytes(b"damaged once more")
    with pytest.raises(StoreDamaged, match=f"another store in the same folder is {backup.name}"):
        opened(home)


def test_without_a_backup_the_error_says_so(home: Path) -> None:
    with opened(home) as store:
        store.remember("mine")
    (home / "memory.db").write_bytes(b"no database at all")
    assert "There is no backup of it" in describe_way_back(Config(home=home), str(home))
    assert "There is no backup yet" in diagnose_backups(Config(home=home)).sentence
    server = Config(home=home, store="mongodb://127.0.0.1/x")
    assert restore_damaged(server, request(home, home / "x")) is None


def test_the_newest_backup_of_this_store_that_is_whole_is_offered_first(tmp_path: Path) -> None:
    folder = BackupFolder(tmp_path)

    def backup(name: str, day: int, **fields: Any) -> Backup:
        made = {"path": name, "size_bytes": 1, "encrypted": False, "left_out_count": 0, **fields}
        return Backup(name=name, created_at=NOW + timedelta(days=day), **made)

    backups = [
        backup("other", 9, store="2222"),
        backup("torn", 8, store="1111", left_out_count=3),
        backup("newest", 7, store="1111"),
        backup("older", 6, store="1111"),
    ]

    class Listing(BackupFolder):
        def backups(self) -> list[Backup]:
            return backups

    listing = Listing(tmp_path)
    assert listing.newest("1111") == backups[2]
    assert listing.newest() == backups[0]
    assert listing.newest("3333") is None
    assert folder.newest() is None


def test_a_storage_that_cannot_be_replaced_is_filled_if_it_is_empty(archive: Path) -> None:
    class Plain:
        """A storage without the optional powers."""

        def __init__(self) -> None:
            self.inner = InMemoryStorage()

        def __getattr__(self, name: str) -> Any:
            if name in ("snapshot", "replacement"):
                raise AttributeError(name)
            return getattr(self.inner, name)

    storage: Any = Plain()
    wanted = request(archive.parent, archive)
    assert replace_content(storage, wanted).whole
    assert storage.get(["history"])
    with pytest.raises(InvalidInput, match="cannot be replaced as a whole"):
        replace_content(storage, evolve(wanted, mode=RestoreMode.OVERWRITE))


def test_an_archive_with_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    from infinite_memory.features.archive.transfer.export import Export
    from infinite_memory.features.archive.transfer.importing import Import

    with closing(InMemoryStorage()) as one, closing(InMemoryStorage()) as other:
        one.commit(Commit(puts=[put("a"), put("b")], access_keys=[make_access_key("aaaaaaaa")]))
        records = list(Export(one).records())
        scope, first, second, key = records
        for twice in ([scope, first, second, first], [scope, scope], [key, key]):
            with pytest.raises(ArchiveDamaged, match="contradicts itself"):
                Import(other, "it", with_keys=True).run(twice)
        with pytest.raises(ArchiveDamaged, match="not in order"):
            Import(other, "it").run([scope, first, first])
