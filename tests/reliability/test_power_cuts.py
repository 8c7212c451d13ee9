from __future__ import annotations

import os
import stat
from pathlib import Path
from random import Random

import pytest

from benchmarks.soak.power_cuts import run
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract.base import put
from tests.harness.power import FragileDisk, restore


@pytest.mark.parametrize(
    "cuts", [60, pytest.param(500, marks=pytest.mark.slow("sqlite-endurance"))]
)
def test_no_power_cut_loses_what_was_acknowledged(quick_folder: Path, cuts: int) -> None:
    outcome = run(quick_folder, cuts=cuts, seed=11)
    assert outcome.faults == ()
    assert outcome.cuts >= cuts
    assert outcome.acknowledged > cuts


@pytest.mark.slow("broken-storage")
@pytest.mark.parametrize("broken", ["normal", "lying"])
def test_power_cuts_are_noticed_where_syncs_are_left_out(quick_folder: Path, broken: str) -> None:
    outcome = run(quick_folder, cuts=60, seed=12, broken=broken)
    assert len(outcome.faults) > outcome.cuts // 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


def test_a_file_that_was_not_synced_may_be_there_in_part_or_not_at_all(folder: Path) -> None:
    disk = FragileDisk("fragile-file", folder)
    (folder / "note").write_bytes(b"x" * 2000)
    left = {disk.cut(Random(seed)).get("note") for seed in range(100)}
    assert {None, b"", b"x" * 2000} <= left
    assert len(left) > 3
    disk.unregister()


def test_a_synced_file_in_a_synced_folder_is_always_there(folder: Path) -> None:
    disk = FragileDisk("fragile-synced", folder)
    with disk.watching():
        _write_synced(folder / "note")
        assert {"note" in disk.cut(Random(seed)) for seed in range(50)} == {True, False}
        _sync(folder)
    assert {disk.cut(Random(seed))["note"] for seed in range(50)} == {b"kept"}
    disk.unregister()


def test_a_rename_happens_as_a_whole(folder: Path) -> None:
    disk = FragileDisk("fragile-rename", folder)
    with disk.watching():
        _write_synced(folder / "old")
        _sync(folder)
    (folder / "old").rename(folder / "new")
    left = {tuple(sorted(disk.cut(Random(seed)))) for seed in range(50)}
    assert left == {("old",), ("new",)}
    (folder / "new").unlink()
    assert {len(disk.cut(Random(seed))) for seed in range(50)} == {0, 1}
    disk.unregister()


def test_syncs_elsewhere_go_to_the_real_disk(tmp_path: Path, folder: Path) -> None:
    disk = FragileDisk("fragile-elsewhere", folder)
    with disk.watching():
        _write_synced(tmp_path / "elsewhere")
        assert disk.cut(Random(1)) == {}
    disk.unregister()
    assert stat.S_ISREG((tmp_path / "elsewhere").stat().st_mode)


def test_a_store_goes_on_from_what_a_cut_left(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    disk = FragileDisk("fragile-going-on", work)
    with disk.watching():
        storage = SqliteStorage.open(work, vfs=disk.name)
        storage.commit(Commit(puts=[put("a")]))
        images = [disk.cut(Random(seed)) for seed in range(20)]
        storage.close()
    disk.unregister()
    for number, image in enumerate(images):
        restore(image, tmp_path / str(number))
        again = SqliteStorage.open(tmp_path / str(number))
        again.commit(Commit(puts=[put("b")]))
        assert sorted(again.get(["a", "b"])) == ["a", "b"]
        again.close()


def _write_synced(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"kept")
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def test_a_checkpoint_that_was_cut_in_the_middle_of_a_page_is_made_again(
    quick_folder: Path,
) -> None:
    work = quick_folder / "work"
    work.mkdir()
    disk = FragileDisk("fragile-checkpoint", work)
    with disk.watching():
        storage = SqliteStorage.open(work, vfs=disk.name)
        storage.commit(Commit(puts=[put("a")]))
        image = dict(disk.cut(Random(1)))
        storage.close()
    disk.unregister()
    whole = image["memory.db"]
    place = whole.index(storage.identity.encode()) // 512 * 512
    for number, rubbish in enumerate((bytes(512), b"\xff" * 512, whole[place + 1 : place + 513])):
        image["memory.db"] = whole[:place] + rubbish + whole[place + 512 :]
        restore(image, quick_folder / str(number))
        again = SqliteStorage.open(quick_folder / str(number))
        assert again.identity == storage.identity
        assert list(again.get(["a"])) == ["a"]
        again.close()


def test_no_cut_brings_back_what_was_erased_for_good(quick_folder: Path) -> None:
    work = quick_folder / "work"
    work.mkdir()
    disk = FragileDisk("fragile-erased", work)
    with disk.watching():
        storage = SqliteStorage.open(work, vfs=disk.name)
        storage.commit(Commit(puts=[put("a", text="very secret")]))
        storage.commit(Commit(erases=[Erase(id="a")]))
        storage.scrub()
        for seed in range(100):
            image = disk.cut(Random(seed))
            assert not [name for name, content in image.items() if b"very secret" in content]
        storage.close()
    disk.unregister()
