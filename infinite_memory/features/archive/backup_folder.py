"""The folder of the backups, their names and a list of them, and their passphrase."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from infinite_memory.core.config import Config
from infinite_memory.core.errors import (
    InfiniteMemoryError,
    InvalidInput,
    NotFound,
    StorageUnavailable,
)
from infinite_memory.core.files.atomic import sync_folder
from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.values.archive.backup import Backup
from infinite_memory.core.values.messages import suggest_name
from infinite_memory.features.archive.backup import describe_file
from infinite_memory.features.archive.part_file import name_part, remove_abandoned

SUFFIX = ".imarchive"
_MOST_NAMES = 1000
_MAX_BYTES = 8192


@frozen
class BackupFolder:
    """The folder of the backups of every store with the same home folder.

    A folder that somebody `chose` is never created: its disk may not be mounted.
    """

    path: Path
    chosen: bool = False

    @classmethod
    def of(cls, config: Config) -> BackupFolder:
        """Return the folder of the settings, by default the one in the home folder."""
        chosen = config.backup.folder
        return cls(config.home / "backups") if chosen is None else cls(chosen, chosen=True)

    def create(self) -> None:
        """Create the folder for its owner alone, and remove what killed processes left in it.

        Raises:
            StorageUnavailable: it cannot be created, or was chosen and is not there.
        """
        if self.chosen and not os.path.isdir(self.path):  # noqa: PTH112 -- that of Path may raise
            raise self._miss()
        try:
            if not self.path.is_dir():
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
                # A backup in a folder whose name is lost with the power would be lost too.
                sync_folder(self.path.parent)
        except OSError as error:
            raise StorageUnavailable(
                f"the folder {self.path} cannot be created ({error.strerror}), and nothing was"
                " backed up: check its permissions, or name a file elsewhere"
            ) from error
        remove_abandoned(self.path)

    def _miss(self) -> StorageUnavailable:
        return StorageUnavailable(
            f"the folder of the backups, {self.path}, is not there: mount its disk, make the"
            " folder, or change the setting backup.folder"
        )

    def new_path(self, now: datetime, identity: str, label: str = "") -> Path:
        """Return a path that is free, whose name begins with the time."""
        stem = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{identity[:8]}{label}"
        for number in range(1, _MOST_NAMES):
            path = self.path / f"{stem}{'' if number == 1 else f'-{number}'}{SUFFIX}"
            if not (path.exists() or name_part(path).exists()):
                return path
        raise StorageUnavailable(f"{self.path} has too many backups of one second: wait a second")

    def backups(self) -> list[Backup]:
        """Return the backups in the folder, the newest first."""
        backups = [describe_file(path) for path in self._list_paths()]
        whole = [backup for backup in backups if backup is not None]
        return sorted(whole, key=lambda backup: (backup.created_at, backup.name), reverse=True)

    def newest(self, identity: str | None = None) -> Backup | None:
        """Return the newest backup, None if there is none.

        Backups of the store `identity` come first, and backups without damage before others.
        """
        backups = self.backups()
        named = [b for b in backups if identity is None or b.store == identity]
        # Of an encrypted one, and of one in zstd without its reader, only the name says it.
        named += [b for b in backups if b.store is None and identity and identity[:8] in b.name]
        return min(
            sorted(named, key=lambda backup: backup.created_at, reverse=True),
            key=lambda backup: backup.whole is False,
            default=None,
        )

    def find(self, name: object) -> Path:
        """Return the path of the backup called `name`.

        Raises:
            InvalidInput: it is no name of a file in the folder.
            NotFound: there is no such backup.
        """
        if not isinstance(name, str) or name != Path(name).name or not name.endswith(SUFFIX):
            raise InvalidInput(
                f"{name!r:.200} is no name of a backup: give a name from the list, such as"
                f" 20260605T031500Z-1a2b3c4d{SUFFIX}"
            )
        path = self.path / name
        if not path.is_file():
            known = [each.name for each in self._list_paths()]
            hint = f"the nearest is {suggest_name(name, known)!r}" if known else "there are none"
            raise NotFound(f"there is no backup {name!r:.200} in {self.path}: {hint}")
        return path

    def delete(self, name: object) -> None:
        """Remove the backup called `name`.

        Raises:
            InvalidInput, NotFound: as `find`.
            StorageUnavailable: the file cannot be removed.
        """
        path = self.find(name)
        try:
            path.unlink()
        except OSError as error:
            raise StorageUnavailable(
                f"{path} cannot be removed: {error.strerror}: check the permissions of its folder"
            ) from error

    def _list_paths(self) -> list[Path]:
        try:
            return [
                path
                for path in self.path.iterdir()
                # `is_file` is false for a file that was removed meanwhile, and for a broken link.
                if path.name.endswith(SUFFIX) and not path.name.startswith(".") and path.is_file()
            ]
        except FileNotFoundError:
            if self.chosen:
                raise self._miss() from None
            return []
        except OSError as error:
            raise StorageUnavailable(
                f"{self.path} cannot be read: {error.strerror}: check its permissions"
            ) from error


def describe_places(config: Config) -> str:
    """Return sentences on a chosen folder that is on the disk of the home folder, and on a
    passphrase that other users of the machine can read; "" without such.

    Raises:
        InvalidInput: as `choose_passphrase`.
    """
    choose_passphrase(config, None)
    folder, file = config.backup.folder, config.backup.passphrase_file
    said = ""
    with suppress(OSError):
        if folder is not None and folder.stat().st_dev == config.home.stat().st_dev:
            said += f" {folder} is on the same disk as the home folder: one loss takes both."
        if file is not None and os.name == "posix" and file.stat().st_mode & 0o077:
            said += f" Other users can read the passphrase: chmod 600 {file}."
    return said


def choose_passphrase(config: Config, given: str | None) -> str | None:
    """Return the passphrase that was given, else that of the settings, None without one.

    Raises:
        InvalidInput: the file of the settings cannot be read, or holds no passphrase.
    """
    file = config.backup.passphrase_file
    if given is not None or file is None:
        return given
    return read_passphrase_file(str(file), partial(open_regular, file))


def read_passphrase_file(name: str, open_file: Callable[[], BinaryIO]) -> str:
    """Return the passphrase in the file `name`, without the end of its line.

    Raises:
        InvalidInput: the file cannot be read, is empty, or has several lines.
        ConfigurationError: the path begins with ~, and there is no home folder.
    """
    try:
        with open_file() as stream:
            content = stream.read(_MAX_BYTES + 1)
        passphrase = content.decode().rstrip("\r\n")
    except InfiniteMemoryError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8, or its name is none"
        raise InvalidInput(
            f"the passphrase cannot be read from {name!r:.200}: {reason}: name a file that holds"
            " the passphrase on one line"
        ) from error
    if not passphrase or len(content) > _MAX_BYTES or "\n" in passphrase:
        raise InvalidInput(
            f"{name!r:.200} is empty, long, or has several lines: write the passphrase on one line"
        )
    return passphrase
