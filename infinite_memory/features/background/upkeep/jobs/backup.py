"""Scheduled backups, of which the last days and weeks are kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.values.archive.backup import Backup, describe_encryption
from infinite_memory.core.values.messages import format_size
from infinite_memory.features.archive.access import backup_folder
from infinite_memory.features.archive.backup import write_backup
from infinite_memory.features.archive.backup_folder import BackupFolder, choose_passphrase
from infinite_memory.features.archive.container.encryption import check_passphrase
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan

_LABEL = "-scheduled"
_LACKING = "-incomplete"
_FOLDER = "backup/folder"
"""The note of the folder that the last scheduled backup went into."""

_Name = TypeVar("_Name")


def choose_outdated(
    backups: Sequence[tuple[_Name, datetime]], *, daily: int, weekly: int
) -> list[_Name]:
    """Return the scheduled backups to delete, given with the times at which they were made.

    The newest backup is kept of each of the last `daily` days, and of the last `weekly` weeks, that
    have a backup. Days and weeks are in UTC, and weeks begin on Monday.
    """
    newest_first = sorted(backups, key=lambda backup: backup[1], reverse=True)
    days: dict[object, _Name] = {}
    weeks: dict[object, _Name] = {}
    for name, made_at in newest_first:
        day = made_at.astimezone(UTC).date()
        days.setdefault(day, name)
        weeks.setdefault(day.isocalendar()[:2], name)
    kept = [*list(days.values())[:daily], *list(weeks.values())[:weekly]]
    return [name for name, _ in newest_first if name not in kept]


def _plan_backup(context: JobContext) -> Plan:
    settings = context.settings
    if not settings.daily_backups and not settings.weekly_backups:
        return Plan()
    # A store in memory ends with its process: nobody would look for its backups.
    if context.services.backend == "memory":
        return Plan()
    kept = f"{settings.daily_backups} daily and {settings.weekly_backups} weekly ones are kept"
    return Plan(
        work=lambda: _back_up(context),
        intends=(f"Make a backup; {kept}.",),
        notes={_FOLDER: str(backup_folder(context.services).path)},
    )


def _back_up(context: JobContext) -> Sequence[str]:
    services, settings = context.services, context.settings
    folder = backup_folder(services)
    folder.create()
    _refuse_emptied(context, folder)
    passphrase = choose_passphrase(services.config, None)
    if passphrase is not None:
        check_passphrase(passphrase)
    path = folder.new_path(context.now, services.storage.identity, _LABEL)
    backup, _ = write_backup(services.storage, path, now=context.now, passphrase=passphrase)
    if backup.whole is False:
        # Of an encrypted one the name alone says it, before it is opened.
        path = path.rename(folder.new_path(context.now, services.storage.identity, _LACKING))
    encryption = describe_encryption(encrypted=backup.encrypted)
    done = [f"Made the backup {path.name} ({format_size(backup.size_bytes)}, {encryption})."]
    if backup.whole is False:
        return [*done, f"It lacks {backup.left_out_count} records that could not be read."]
    own = [(each.name, each.created_at) for each in folder.backups() if _is_own(context, each)]
    for name in choose_outdated(own, daily=settings.daily_backups, weekly=settings.weekly_backups):
        folder.delete(name)
        done.append(f"Deleted the scheduled backup {name}.")
    return done


def _refuse_emptied(context: JobContext, folder: BackupFolder) -> None:
    """Refuse a chosen folder that had backups and has none: it is where a disk was mounted.

    Raises:
        StorageUnavailable: it is such a folder.
    """
    if folder.chosen and context.notes.get(_FOLDER) == str(folder.path) and not folder.backups():
        raise StorageUnavailable(
            f"{folder.path} had scheduled backups, and is empty: mount its disk, or begin anew"
            " with `infinite-memory backup`; nothing was backed up"
        )


def _is_own(context: JobContext, backup: Backup) -> bool:
    """Return whether the schedule made a backup of this store, and all of it is there."""
    identity = context.services.storage.identity
    if backup.encrypted:
        return f"-{identity[:8]}{_LABEL}" in backup.name
    return backup.store == identity and backup.whole is True and _LABEL in backup.name


BACKUP = Job(
    name="backup",
    summary="Back up everything, and delete outdated scheduled backups.",
    every=timedelta(days=1),
    plan=_plan_backup,
    is_heavy=True,
    whole_store=True,
)
