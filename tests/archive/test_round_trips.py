"""What goes into an archive comes out of it, from any storage into any storage, to the byte."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from infinite_memory.core.protocols import Storage
from infinite_memory.features.archive.backup import verify_file, write_backup
from infinite_memory.features.archive.backup_folder import BackupFolder
from infinite_memory.features.archive.restore import RestoreRequest, replace_content
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.everything import dump, fill
from tests.harness.random_stores import commits, fill_from

NOW = datetime(2026, 6, 5, tzinfo=UTC)
OPENERS: dict[str, Callable[[Path], Storage]] = {
    "memory": lambda _: InMemoryStorage(),
    "sqlite": SqliteStorage.open,
}


def pass_on(source: Storage, target: Storage, folder: Path, passphrase: str | None = None) -> None:
    """Back up the source, verify the file, and restore it into the target."""
    path = folder / "one.imarchive"
    backup, _ = write_backup(source, path, now=NOW, passphrase=passphrase)
    assert verify_file(path, passphrase) == backup
    request = RestoreRequest(
        archive=path,
        passphrase=passphrase,
        with_keys=True,
        folder=BackupFolder(folder / "backups"),
        now=NOW,
    )
    assert replace_content(target, request).whole
    path.unlink()


@pytest.mark.parametrize("source", OPENERS)
@pytest.mark.parametrize("target", OPENERS)
@given(steps=commits)
@settings(max_examples=10, deadline=None)
def test_a_backup_of_anything_is_restored_to_the_byte(
    source: str, target: str, steps: list[object]
) -> None:
    with TemporaryDirectory() as folder, ExitStack() as owned:
        one = owned.enter_context(closing(OPENERS[source](Path(folder) / "one")))
        other = owned.enter_context(closing(OPENERS[target](Path(folder) / "other")))
        fill_from(one, steps)
        pass_on(one, other, Path(folder))
        assert list(dump(other)) == list(dump(one))


@pytest.mark.thorough
@pytest.mark.parametrize("passphrase", [None, "correct horse battery"])
def test_everything_comes_back_over_several_frames(tmp_path: Path, passphrase: str | None) -> None:
    with (
        closing(SqliteStorage.open(tmp_path / "one")) as one,
        closing(SqliteStorage.open(tmp_path / "other")) as other,
    ):
        fill(one, plain=2500)
        pass_on(one, other, tmp_path, passphrase)
        assert list(dump(other)) == list(dump(one))
        assert other.verify().sound
        assert other.identity != one.identity


def test_without_embeddings_the_texts_wait_for_them(tmp_path: Path) -> None:
    path = tmp_path / "one.imarchive"
    with closing(InMemoryStorage()) as one, closing(InMemoryStorage()) as other:
        fill(one, plain=10)
        write_backup(one, path, now=NOW, embeddings=False)
        request = RestoreRequest(archive=path, folder=BackupFolder(tmp_path), now=NOW)
        assert "embeddings" not in replace_content(other, request).counts
        assert other.measure().embedded == {}
        assert other.active_model() is None
        assert len(other.pending("a/1", limit=99)) == 18
        assert other.measure().memories == one.measure().memories
