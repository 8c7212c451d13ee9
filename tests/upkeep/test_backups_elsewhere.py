"""Backups in a chosen folder, on a disk that may be away, encrypted with a passphrase of a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from stopped_clock import StoppedClock

from infinite_memory import Config, InvalidInput, MemoryStore
from infinite_memory.core.errors import NotEncrypted, WrongPassphrase
from infinite_memory.core.values.verification import State
from infinite_memory.features.background.upkeep.report import JobReport
from infinite_memory.testing.embedders import HashingEmbedder

SECRET = "correct horse battery staple"
Open = Callable[..., MemoryStore]


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(datetime(2024, 1, 1, tzinfo=UTC))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "disk" / "memory"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "passphrase"
    file.write_text(SECRET + "\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def open_store(tmp_path: Path, clock: StoppedClock) -> Iterator[Open]:
    with ExitStack() as owned:

        def call(home: str = "home", **backup: Any) -> MemoryStore:
            config = Config(
                home=tmp_path / home,
                backup=backup,
                upkeep={"daily_backups": 2, "weekly_backups": 1},
            )
            return owned.enter_context(
                MemoryStore.open(config=config, embedder=HashingEmbedder(), clock=clock)
            )

        yield call


def run_backup(store: MemoryStore) -> JobReport:
    (report,) = store.upkeep.optimize(jobs=["backup"]).jobs
    return report


def warnings(store: MemoryStore) -> dict[str, str]:
    found = store.health().findings
    return {each.about: each.sentence for each in found if each.state is not State.OK}


def test_scheduled_backups_go_encrypted_into_the_chosen_folder_and_outdated_ones_are_deleted(
    open_store: Open, clock: StoppedClock, elsewhere: Path, key_file: Path, tmp_path: Path
) -> None:
    store = open_store(folder=elsewhere, passphrase_file=key_file)
    store.remember("The ferry leaves at ten", id="ferry")
    other = open_store("another", folder=elsewhere, passphrase_file=key_file)
    run_backup(other)
    (others,) = elsewhere.iterdir()
    for _ in range(4):
        clock.now += timedelta(days=1)
        report = run_backup(store)
        assert report.failure is None
        assert ", encrypted)" in report.done[0]
    kept = {backup.name for backup in store.backups.list()} - {others.name}
    assert sorted(name[:8] for name in kept) == ["20240104", "20240105"]
    assert not (tmp_path / "home" / "backups").exists()
    assert all(b"ferry" not in file.read_bytes() for file in elsewhere.iterdir())
    newest = store.backups.list()[0]
    assert (newest.created_at, newest.encrypted) == (clock.now, True)
    assert store.health().last_backup == clock.now
    assert store.backups.verify(newest.name).counts is not None
    fresh = open_store("fresh", passphrase_file=key_file)
    assert fresh.backups.restore(newest.path).encrypted
    assert fresh.get("ferry").text == "The ferry leaves at ten"


def test_another_key_or_none_is_a_typed_error_and_changes_nothing(
    open_store: Open, elsewhere: Path, key_file: Path, tmp_path: Path
) -> None:
    store = open_store(folder=elsewhere, passphrase_file=key_file)
    store.remember("The ferry leaves at ten", id="ferry")
    backup = store.backups.create()
    other_key = tmp_path / "other"
    other_key.write_text("another horse battery staple")
    for settings in ({}, {"passphrase_file": other_key}):
        target = open_store("target", **settings)
        for call in (target.backups.verify, target.backups.restore):
            with pytest.raises(WrongPassphrase) as caught:
                call(backup.path)
            assert "horse" not in str(caught.value)
        assert target.stats().memories == 0
    plain = open_store("plain").backups.create()
    with pytest.raises(NotEncrypted):
        store.backups.restore(plain.path, mode="merge")


@pytest.mark.parametrize("content", [None, "", "short", "two\nlines of it"])
def test_without_a_readable_passphrase_no_backup_is_made_in_the_clear(
    open_store: Open, elsewhere: Path, tmp_path: Path, content: str | None
) -> None:
    key_file = tmp_path / "passphrase"
    if content is not None:
        key_file.write_text(content)
    store = open_store(folder=elsewhere, passphrase_file=key_file)
    store.remember("The ferry leaves at ten")
    assert run_backup(store).failure
    with pytest.raises(InvalidInput):
        store.backups.create()
    assert list(elsewhere.iterdir()) == []
    said = warnings(store)["job backup"]
    assert "passphrase" in said
    assert content is None or content not in said or not content


def test_a_disk_that_is_away_is_said_by_the_job_and_by_health_until_it_is_back(
    open_store: Open, clock: StoppedClock, elsewhere: Path
) -> None:
    store = open_store(folder=elsewhere)
    store.remember("The ferry leaves at ten")
    assert run_backup(store).failure is None
    assert warnings(store) == {}
    away = elsewhere.parent.with_name("away")
    elsewhere.parent.rename(away)
    clock.now += timedelta(days=1)
    assert "mount its disk" in str(run_backup(store).failure)
    assert not elsewhere.exists()
    said = warnings(store)
    assert "is not there" in said["backup"]
    assert said["job backup"].startswith("It was given up at 2024-01-02T00:00:00")
    away.rename(elsewhere.parent)
    assert run_backup(store).failure is None
    assert warnings(store) == {}


def test_the_empty_folder_in_which_a_disk_was_mounted_gets_no_backup(
    open_store: Open, elsewhere: Path
) -> None:
    store = open_store(folder=elsewhere)
    store.remember("The ferry leaves at ten")
    assert run_backup(store).failure is None
    shutil.rmtree(elsewhere)
    elsewhere.mkdir()
    assert "is empty: mount its disk" in str(run_backup(store).failure)
    assert list(elsewhere.iterdir()) == []
    assert "is empty" in warnings(store)["job backup"]
    store.backups.create()
    assert run_backup(store).failure is None


def test_a_folder_on_the_disk_of_the_store_is_said_and_another_disk_is_not(
    open_store: Open, elsewhere: Path, tmp_path: Path
) -> None:
    def said(folder: Path) -> bool:
        found = open_store(folder=folder).health().findings
        return any("on the same disk" in each.sentence for each in found)

    assert said(elsewhere)
    other_disk = Path("/dev/shm")
    if other_disk.is_dir() and other_disk.stat().st_dev != tmp_path.stat().st_dev:
        assert not said(other_disk)


def test_what_a_store_held_before_a_restore_is_encrypted_with_its_own_key(
    open_store: Open, elsewhere: Path, key_file: Path
) -> None:
    plain = open_store("plain").backups.create()
    store = open_store(folder=elsewhere, passphrase_file=key_file)
    store.remember("The ferry leaves at ten")
    restored = store.backups.restore(plain.path, mode="overwrite", allow_plain=True)
    assert restored.safety_backup is not None
    assert store.backups.verify(restored.safety_backup).encrypted


def test_a_passphrase_that_others_can_read_is_said(open_store: Open, key_file: Path) -> None:
    def said() -> bool:
        findings = open_store(passphrase_file=key_file).health().findings
        return any(f"chmod 600 {key_file}" in each.sentence for each in findings)

    assert not said()
    key_file.chmod(0o644)
    assert said()


def test_a_lost_file_of_the_passphrase_stops_no_restore_that_is_given_it(
    open_store: Open, key_file: Path
) -> None:
    store = open_store(passphrase_file=key_file)
    store.remember("kept", id="kept")
    made = store.backups.create()
    key_file.unlink()
    other = open_store("other", passphrase_file=key_file)
    for dry_run in (True, False):
        other.backups.restore(made.path, passphrase=SECRET, dry_run=dry_run)
    assert other.get("kept").text == "kept"
