"""Backups: consistent while others write, private, whole or absent, and no more than named."""

from __future__ import annotations

import errno
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import (
    AccessDenied,
    Config,
    Conflict,
    InvalidInput,
    MemoryStore,
    NotFound,
    Storage,
    StorageUnavailable,
)
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.values.commit import Commit
from infinite_memory.features.archive.backup import verify_file, write_backup
from infinite_memory.features.archive.part_file import PartFile, remove_abandoned, writing_part
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract.base import NOW, make_link, put
from infinite_memory.testing.storage_contract.journal import make_action


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    config = Config(home=tmp_path / "home")
    with MemoryStore.open(config=config, embedder=HashingEmbedder()) as opened:
        opened.remember("The deadline of Apollo is June 5", id="apollo", scope="work")
        yield opened


def mode_of(path: str | Path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_a_backup_is_private_has_a_name_and_is_listed(store: MemoryStore) -> None:
    backup = store.backups.create()
    path = Path(backup.path)
    assert backup.whole
    assert backup.counts == {
        "memories": 1,
        "embeddings": 1,
        "scopes": 2,
        "entries": 1,
    }
    assert (mode_of(path), mode_of(path.parent)) == (0o600, 0o700)
    assert store.backups.list() == [backup]
    assert store.backups.verify(backup.name) == backup
    assert store.backups.verify(path) == backup
    second = store.backups.create()
    assert second.name != backup.name
    store.backups.delete(backup.name)
    assert store.backups.list() == [second]
    assert second.to_dict()["counts"]["memories"] == 1


def test_what_is_gone_or_leads_nowhere_hides_no_backup(store: MemoryStore) -> None:
    backup = store.backups.create()
    folder = Path(backup.path).parent
    (folder / "broken.imarchive").symlink_to(folder / "nowhere")
    (folder / "folder.imarchive").mkdir()
    (folder / "text.imarchive").write_text("no archive")
    assert store.backups.list() == [backup]
    with pytest.raises(NotFound):
        store.backups.delete("broken.imarchive")


def test_two_backups_of_one_second_get_two_names(store: MemoryStore) -> None:
    made: list[str] = []

    def back_up_as_well(*_: object) -> None:
        if not made:
            made.append("")
            made[0] = store.backups.create().name

    backup = store.backups.create(progress=back_up_as_well)
    assert {each.name for each in store.backups.list()} == {backup.name, made[0]}


def said_of_backups(store: MemoryStore) -> str:
    (finding,) = [each for each in store.health().findings if each.about == "backup"]
    return finding.sentence


def test_health_says_when_the_newest_backup_was_made(store: MemoryStore) -> None:
    assert store.health().last_backup is None
    assert "no backup of this store yet" in said_of_backups(store)
    backup = store.backups.create()
    health = store.health()
    assert health.last_backup == backup.created_at
    assert backup.name in said_of_backups(store)
    assert store.confine(scopes="work").health().last_backup is None


def test_a_passphrase_is_text(store: MemoryStore) -> None:
    backup = store.backups.create(passphrase="correct horse battery")
    wrong: Any = 12345678
    with pytest.raises(InvalidInput, match="is a int: give it as text"):
        store.backups.verify(backup.name, passphrase=wrong)


def test_a_backup_goes_where_it_is_told_and_over_nothing(
    store: MemoryStore, tmp_path: Path
) -> None:
    backup = store.backups.create(tmp_path / "mine")
    assert backup.path == str(tmp_path / "mine")
    assert store.backups.list() == []
    before = (tmp_path / "mine").read_bytes()
    with pytest.raises(Conflict, match="exists already"):
        store.backups.create(tmp_path / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Conflict, match="exists already"):
        store.backups.create(tmp_path / "link")
    with pytest.raises(StorageUnavailable, match="no folder"):
        store.backups.create(tmp_path / "nowhere" / "mine")
    assert (tmp_path / "mine").read_bytes() == before
    assert not (tmp_path / "elsewhere").exists()


def test_an_encrypted_backup_shows_nothing_of_what_it_holds(
    store: MemoryStore, tmp_path: Path
) -> None:
    backup = store.backups.create(passphrase="correct horse battery")
    content = Path(backup.path).read_bytes()
    assert b"apollo" not in content
    (listed,) = store.backups.list()
    assert (listed.encrypted, listed.counts, listed.whole) == (True, None, None)
    verified = store.backups.verify(backup.name, passphrase="correct horse battery")
    assert verified.counts == backup.counts
    with pytest.raises(InvalidInput, match="8 to"):
        store.backups.create(tmp_path / "short", passphrase="horse")
    assert not (tmp_path / "short").exists()


@pytest.mark.parametrize("name", ["../home/memory.db", "/etc/passwd", "", "x", ".imarchive", None])
def test_only_names_of_backups_are_deleted(store: MemoryStore, name: Any) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        store.backups.delete(name)
    assert store.get("apollo").text


def test_a_name_that_is_nearly_right_is_said(store: MemoryStore) -> None:
    backup = store.backups.create()
    with pytest.raises(NotFound, match=f"the nearest is '{backup.name}'"):
        store.backups.verify(f"9{backup.name[1:]}")


def test_a_narrow_handle_makes_no_backups(store: MemoryStore) -> None:
    for handle in (store.confine(scopes="work"), store.confine(scopes="*", read_only=True)):
        with pytest.raises(AccessDenied, match="the whole store"):
            handle.backups.create()
    assert store.confine(scopes="*").backups.create().whole


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
def test_a_backup_shows_one_moment_while_others_write(kind: str, tmp_path: Path) -> None:
    """Each commit stores two memories, a link between them and an entry: none is torn."""
    storage: Storage = (
        SqliteStorage.open(tmp_path / "store") if kind == "sqlite" else InMemoryStorage()
    )
    begun, over = threading.Event(), threading.Event()

    def write() -> None:
        for number in range(100_000):
            a, b = f"a{number}", f"b{number}"
            storage.commit(
                Commit(puts=[put(a), put(b)], links=[make_link(a, b)], entry=make_action(a, b))
            )
            begun.set()
            if over.is_set():
                return

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
        storage.close()


def test_without_snapshots_a_quiet_moment_is_waited_for(tmp_path: Path) -> None:
    class Plain:
        """A storage without the optional powers, that is written while it is read."""

        def __init__(self, writes: int) -> None:
            self._inner = InMemoryStorage()
            self._inner.commit(Commit(puts=[put("a")]))
            self._writes = writes

        def __getattr__(self, name: str) -> Any:
            if name in ("snapshot", "replacement"):
                raise AttributeError(name)
            return getattr(self._inner, name)

        def access_keys(self, *_: Any) -> Any:
            if self._writes:
                self._writes -= 1
                self._inner.commit(Commit(puts=[put(f"late-{self._writes}")]))
            return self._inner.access_keys()

    storage: Any = Plain(writes=2)
    write_backup(storage, tmp_path / "one", now=NOW)
    assert verify_file(tmp_path / "one").counts == {"memories": 3, "scopes": 1}
    storage = Plain(writes=99)
    with pytest.raises(StorageUnavailable, match="each of 5 attempts"):
        write_backup(storage, tmp_path / "two", now=NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_a_full_disk_leaves_nothing_behind(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = PartFile.write

    def fail(part: PartFile, content: bytes) -> None:
        if len(content) > 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(part, content)

    with monkeypatch.context() as patched:
        patched.setattr(PartFile, "write", fail)
        with pytest.raises(StorageUnavailable, match="the disk is full"):
            store.backups.create()
    assert list((tmp_path / "home" / "backups").iterdir()) == []
    assert store.backups.list() == []


def test_half_a_backup_is_never_listed_and_the_next_removes_it(
    store: MemoryStore, tmp_path: Path
) -> None:
    backup = store.backups.create()
    folder = Path(backup.path).parent
    half = folder / f".{backup.name}.part"
    half.write_bytes(Path(backup.path).read_bytes()[:1000])
    (folder / "half.imarchive").write_bytes(Path(backup.path).read_bytes()[:1000])
    (folder / "notes.txt").write_text("mine")
    assert store.backups.list() == [backup]
    lock = FileLock(half)
    assert lock.try_acquire()
    remove_abandoned(folder)
    assert half.exists(), "another process writes it"
    lock.release()
    store.backups.create()
    assert not half.exists()
    assert (folder / "notes.txt").exists()


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    with writing_part(tmp_path / "one") as part:
        part.write(b"x")
        with (
            pytest.raises(Conflict, match="another process writes"),
            writing_part(tmp_path / "one"),
        ):
            raise AssertionError
        part.finish()
    assert (tmp_path / "one").read_bytes() == b"x"


def test_a_link_in_the_place_of_the_unfinished_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for make in (Path.symlink_to, Path.hardlink_to):
        part = tmp_path / ".one.part"
        make(part, victim)
        with pytest.raises(Conflict, match="is a link"), writing_part(tmp_path / "one"):
            raise AssertionError
        part.unlink(missing_ok=True)
    assert victim.read_text() == "mine"


def test_damage_is_left_out_and_named(tmp_path: Path) -> None:
    with closing(SqliteStorage.open(tmp_path / "store")) as storage:
        storage.commit(Commit(puts=[put("a"), put("b")], links=[make_link("a", "b")]))
        storage._database._writer.connection.execute("UPDATE memories SET text='x' WHERE id='b'")
    with closing(SqliteStorage.open(tmp_path / "store")) as storage:
        backup, _ = write_backup(storage, tmp_path / "one", now=NOW)
    assert not backup.whole
    assert [(str(f.part), f.id) for f in backup.left_out] == [("memory", "b"), ("link", None)]
    assert verify_file(tmp_path / "one") == backup
