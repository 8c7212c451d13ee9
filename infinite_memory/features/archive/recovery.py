"""The way back from a damaged store: the newest backup, in place of the damaged files."""

from __future__ import annotations

import shlex
from pathlib import Path

from attrs import evolve

from infinite_memory.core.config import Config, find_default_home
from infinite_memory.core.errors import (
    ConfigurationError,
    InvalidInput,
    StorageError,
    install_hint,
)
from infinite_memory.core.values.address import is_folder, masked
from infinite_memory.core.values.archive.backup import Backup, Restored, RestoreMode
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.features.archive.backup_folder import BackupFolder, describe_places
from infinite_memory.features.archive.restore import RestoreRequest, fill_storage
from infinite_memory.storage.open import address_of, marked_identity, replacing_damaged


def restore_damaged(config: Config, request: RestoreRequest) -> Restored | None:
    """Restore the archive in place of a store that cannot be opened, and set its files aside.

    The archive is verified, and the new store is complete, before the damaged files are moved into
    a folder of their own. Return None for a store that is not in a folder.

    Raises:
        ArchiveError: the archive cannot be used; nothing was changed.
        StorageError: the new store cannot be written, or the files cannot be moved.
    """
    address = address_of(config)
    if not is_folder(address):
        return None
    checked = request.verify()
    with replacing_damaged(address) as replacement:
        left_out = fill_storage(replacement.storage, request, checked)
        aside = replacement.swap_aside(request.now)
    return evolve(request, mode=RestoreMode.OVERWRITE).describe(
        checked, set_aside=str(aside), left_out=(*checked.left_out, *left_out)
    )


def describe_way_back(config: Config, address: str) -> str:
    """Return the newest backup of the damaged store at `address`, and how to restore it."""
    folder = BackupFolder.of(config)
    try:
        identity = marked_identity(address)
        backup, of_it = folder.newest(identity), "of it"
        # A store that was set aside before has had another identity since.
        if backup is None:
            backup, of_it = folder.newest(), "of another store in the same folder"
    except StorageError:
        return ""
    if backup is None:
        return f" There is no backup of it in {folder.path}."
    command = _write_command(config, address, backup)
    return f" The newest backup {of_it} is {_name_backup(backup)}: {command}."


def diagnose_backups(config: Config) -> Diagnosis:
    """Return which backups there are, and how to restore the newest."""
    folder = BackupFolder.of(config)
    try:
        backups, places = folder.backups(), describe_places(config)
    except (StorageError, InvalidInput) as error:
        return Diagnosis("backups", State.WARNING, f"{error}.")
    if not backups:
        return Diagnosis(
            "backups",
            State.OK,
            f"There is no backup yet: infinite-memory backup makes one.{places}",
        )
    newest = backups[0]
    command = _write_command(config, address_of(config), newest)
    return Diagnosis(
        "backups",
        State.OK,
        f"The newest of {format_count(len(backups), 'backup')} is"
        f" {_name_backup(newest)}: {command}.{places}",
    )


def _name_backup(backup: Backup) -> str:
    if backup.encrypted:
        holds = "encrypted"
    elif backup.counts is None:
        holds = f"in zstd: first run {install_hint('zstd')}"
    else:
        holds = format_count(backup.counts.get("memories", 0), "memory", "memories")
    return f"{backup.name} of {iso(backup.created_at.replace(microsecond=0))} ({holds})"


def _write_command(config: Config, address: str, backup: Backup) -> str:
    words = ["infinite-memory"]
    if not _is_default(config.home):
        words += ["--home", str(config.home)]
    if not is_folder(address):
        command = shlex.join([*words, "--store", "mongodb://HOST/ANOTHER", "restore", backup.name])
        return f"`{command}` restores it into another database than {masked(address)}"
    if address != str(config.home):
        words += ["--store", address]
    command = shlex.join([*words, "restore", backup.name, "--overwrite"])
    return f"`{command}` puts it in place, and sets files that are damaged aside"


def _is_default(home: Path) -> bool:
    try:
        return home == find_default_home()
    except ConfigurationError:
        return False
