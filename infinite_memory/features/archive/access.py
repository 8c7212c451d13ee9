"""Who may make and restore backups, and where they are."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from infinite_memory.core.errors import AccessDenied, InvalidInput, StorageError
from infinite_memory.core.paths import absolute_path, expand_path
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.engine.services import Services
from infinite_memory.features.archive.backup_folder import SUFFIX, BackupFolder, describe_places
from infinite_memory.storage.read_only import ReadOnlyStorage


def refuse_narrow_handles(services: Services) -> None:
    """Refuse a handle that does not show the whole store, or may only read it.

    Raises:
        AccessDenied: the handle is such a handle.
    """
    if services.confinement is not None or isinstance(services.storage, ReadOnlyStorage):
        raise AccessDenied(
            "a backup holds the whole store, and this store was opened for some scopes or for"
            " reading only: open it without scopes"
        )


def check_backups(services: Services) -> tuple[datetime | None, list[Diagnosis]]:
    """Return when the newest backup of the store was made, and a finding about it.

    A handle of some scopes learns neither.
    """
    if services.confinement is not None:
        return None, []
    try:
        newest = backup_folder(services).newest(services.storage.identity)
        places = describe_places(services.config)
    except (StorageError, InvalidInput) as error:
        return None, [Diagnosis("backup", State.WARNING, f"{error}.")]
    if newest is None:
        sentence = "There is no backup of this store yet: infinite-memory backup makes one."
        return None, [Diagnosis("backup", State.OK, f"{sentence}{places}")]
    sentence = f"The newest backup is {newest.name}, of {iso(newest.created_at)}."
    return newest.created_at, [Diagnosis("backup", State.OK, f"{sentence}{places}")]


def backup_folder(services: Services) -> BackupFolder:
    """Return the folder of the backups."""
    return BackupFolder.of(services.config)


def find_archive(services: Services, file: str | os.PathLike[str]) -> Path:
    """Return the path of an archive; see `resolve_archive`."""
    return resolve_archive(backup_folder(services), file)


def resolve_archive(folder: BackupFolder, file: str | os.PathLike[str]) -> Path:
    """Return the path of an archive: a path, or the name of a backup in the folder.

    Raises:
        InvalidInput: it is neither.
        NotFound: no backup has the name.
    """
    if not isinstance(file, str | os.PathLike) or not os.fspath(file):
        raise InvalidInput(f"{file!r:.200} is no file: give the name or the path of a backup")
    path = expand_path(file)
    is_name = path.name == os.fspath(file) and path.name.endswith(SUFFIX)
    if is_name and not path.exists():
        return folder.find(path.name)
    return absolute_path(path)
