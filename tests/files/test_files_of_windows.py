"""Files on Windows, imitated: none that is open or mapped is renamed, replaced or deleted.

It was never run on Windows. A descriptor without O_BINARY writes a carriage return before each line
feed, a folder cannot be opened, and the calls that Windows lacks are missing.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from infinite_memory.core.files import atomic
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.locks import FileLock
from infinite_memory.features.archive.exchange.folder_export import writing_folder
from infinite_memory.features.archive.part_file import remove_abandoned, writing_part
from infinite_memory.search.index import SearchIndex
from tests.search.test_index import EMBEDDER, ask, filled, snapshot_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")

BINARY = 1 << 30


def is_in_use(path: Path) -> bool:
    """Return whether this process has the file open or mapped."""
    if path.is_dir():
        return any(is_in_use(part) for part in path.iterdir())
    if not path.exists():
        return False
    inode = path.stat().st_ino
    for link in Path("/proc/self/fd").iterdir():
        try:
            if os.fstat(int(link.name)).st_ino == inode:
                return True
        except OSError:
            continue  # the descriptor of the listing itself
    maps = Path("/proc/self/maps").read_text().splitlines()
    return any(line.split()[4] == str(inode) for line in maps)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    real_open, real_write, in_text_mode = os.open, os.write, set()

    def refusing(real: Callable[..., None]) -> Callable[..., None]:
        def call(*paths: str | Path, **options: object) -> None:
            if any(is_in_use(Path(path)) for path in paths):
                raise PermissionError(errno.EACCES, "it is used by another process")
            real(*paths, **options)

        return call

    def open_file(path: str | Path, flags: int, mode: int = 0o777, **options: object) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "it is a folder")
        descriptor = real_open(path, flags & ~BINARY, mode, **options)
        (in_text_mode.discard if flags & BINARY else in_text_mode.add)(descriptor)
        return descriptor

    def write(descriptor: int, content: bytes) -> int:
        if descriptor not in in_text_mode:
            return real_write(descriptor, content)
        real_write(descriptor, bytes(content).replace(b"\n", b"\r\n"))
        return len(content)

    monkeypatch.setattr(os, "O_BINARY", BINARY, raising=False)
    monkeypatch.setattr(os, "open", open_file)
    monkeypatch.setattr(os, "write", write)
    for name in ("rename", "replace", "unlink"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    for name in ("fchmod", "pread"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(sys, "platform", "win32")


@pytest.mark.usefixtures("windows")
def test_a_snapshot_is_replaced_and_deleted_while_an_index_uses_it(tmp_path: Path) -> None:
    storage = filled(40)
    snapshot = snapshot_for(storage, tmp_path)
    assert snapshot.write(SearchIndex(storage, EMBEDDER).refresh().compact())
    user = SearchIndex(storage, EMBEDDER, snapshot=snapshot)
    expected = ask(user, "number 7")
    later = filled(50)
    assert snapshot.write(SearchIndex(later, EMBEDDER).refresh().compact())
    assert len(snapshot.read() or ()) == 50
    assert ask(user, "number 7") == expected
    snapshot.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("windows")
def test_a_file_of_an_archive_has_its_bytes_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    content = bytes(range(256))
    with writing_part(tmp_path / "whole") as part:
        part.write(content)
        part.finish()
    with pytest.raises(ZeroDivisionError), writing_part(tmp_path / "broken"):
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]
    assert (tmp_path / "whole").read_bytes() == content
    (tmp_path / ".killed.part").write_bytes(b"half")
    remove_abandoned(tmp_path)
    assert not (tmp_path / ".killed.part").exists()


@pytest.mark.usefixtures("windows")
def test_the_lock_of_an_exported_folder_is_gone_afterwards(tmp_path: Path) -> None:
    with writing_folder(tmp_path / "export", force=False) as folder, folder.writing("a.md") as file:
        file.write("text\n")
    assert [path.name for path in tmp_path.iterdir()] == ["export"]
    assert (tmp_path / "export" / "a.md").read_bytes() == b"text\n"


@pytest.mark.usefixtures("windows")
def test_a_lock_that_another_waits_for_is_not_deleted(tmp_path: Path) -> None:
    lock, path = FileLock(tmp_path / "some.lock"), tmp_path / "some.lock"
    assert lock.try_acquire()
    with path.open("rb"):  # another process is about to take it
        lock.remove()
        assert path.exists()
    assert FileLock(path).try_acquire()


@pytest.mark.usefixtures("windows")
def test_a_file_is_replaced_once_its_reader_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.json"
    write_atomically(path, b"first\n")
    reader = path.open("rb")
    monkeypatch.setattr(time, "sleep", lambda _: reader.close())
    write_atomically(path, b"second\n")
    assert path.read_bytes() == b"second\n"


@pytest.mark.usefixtures("windows")
def test_a_file_whose_reader_does_not_end_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.json"
    write_atomically(path, b"first\n")
    slept: list[float] = []
    monkeypatch.setattr(atomic.time, "sleep", slept.append)
    with path.open("rb"), pytest.raises(PermissionError):
        write_atomically(path, b"second\n")
    assert sum(slept) == pytest.approx(1)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [
        ("some.json", b"first\n")
    ]
