"""Restore: make an archive the whole content of a store."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from infinite_memory.core.errors import Conflict, InvalidInput, StorageUnavailable, StoreDamaged
from infinite_memory.core.protocols import Storage, SupportsReplacement
from infinite_memory.core.values.archive.backup import (
    Backup,
    BackupProgress,
    BackupStep,
    Restored,
    RestoreMode,
)
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import Finding
from infinite_memory.features.archive.backup import Ends, verify_file, write_backup
from infinite_memory.features.archive.backup_folder import BackupFolder
from infinite_memory.features.archive.container.files import open_archive
from infinite_memory.features.archive.container.reader import ArchiveReader
from infinite_memory.features.archive.transfer.export import report_step
from infinite_memory.features.archive.transfer.feed_batches import FeedBatches
from infinite_memory.features.archive.transfer.importing import Import, erase_ids

_BEFORE = "-before-restore"


@frozen(kw_only=True)
class RestoreRequest:
    """An archive to restore, and where a backup of the present content goes.

    With a passphrase, an archive that is not encrypted needs `allow_plain`. That backup is
    encrypted with `own_passphrase`, else with the one that opened the archive. Without `with_keys`
    the access keys of the archive are left out: whoever holds one of them would be let in. With a
    `scope` only what belongs to it is merged; it has no access keys.
    """

    archive: Path
    mode: RestoreMode = RestoreMode.EMPTY
    passphrase: str | None = field(default=None, repr=False)
    own_passphrase: str | None = field(default=None, repr=False)
    allow_plain: bool = False
    with_keys: bool = False
    scope: str | None = field(default=None)
    folder: BackupFolder
    now: datetime
    progress: BackupProgress | None = None

    @scope.validator
    def _check_scope(self, _: object, scope: str | None) -> None:
        if scope is not None and (self.with_keys or self.mode is not RestoreMode.MERGE):
            raise InvalidInput(
                f"one scope of a backup, {scope!r:.200}, is merged, and has no access keys: give"
                " the mode merge, and leave the keys out"
            )

    @property
    def reason(self) -> str:
        """What the entry of the journal says of a merge."""
        alone = "" if self.scope is None else f", {self.scope} alone"
        return f"merged {self.archive.name}{alone}"

    def verify(self) -> Backup:
        """Read and check every record of the archive; see `verify_file`."""
        return verify_file(
            self.archive, self.passphrase, self.progress, allow_plain=self.allow_plain
        )

    def open(self) -> AbstractContextManager[ArchiveReader]:
        """Open the archive; see `open_archive`."""
        return open_archive(self.archive, self.passphrase, allow_plain=self.allow_plain)

    def describe(self, checked: Backup, **outcome: Any) -> Restored:
        """Return the result of the restore of an archive that was checked."""
        counts = checked.counts or {}
        keys = counts.get("access_keys", 0)
        return Restored(
            mode=self.mode,
            archive=str(self.archive),
            counts=counts,
            encrypted=checked.encrypted,
            **{
                "access_keys": keys if self.with_keys else 0,
                "access_keys_left_out": 0 if self.with_keys else keys,
                **outcome,
            },
        )


def is_empty(storage: Storage) -> bool:
    """Return whether a store holds nothing, and never did."""
    return not (
        storage.position()
        or storage.journal_end().number
        or storage.access_keys()
        or storage.scopes() != {GLOBAL: Scope(name=GLOBAL)}
    )


def replace_content(storage: Storage, request: RestoreRequest) -> Restored:
    """Make the archive the content of `storage`, for every process at once.

    The archive is verified first. What the store holds is backed up, and afterwards its ids count
    as erased where the archive does not have them, so that every process drops them. The access
    keys of the store stay as they are. With the keys of the archive in their place, a key that was
    revoked in the store stays revoked.

    Raises:
        ArchiveError: the archive cannot be used.
        Conflict: the store is not empty and the mode does not allow it, or was written meanwhile.
        StoreDamaged: the store is damaged, so that its backup is not whole.
        InvalidInput: the storage can only be filled, and is not empty.
        StorageError: the store or the backup cannot be read or written.
    """
    checked = request.verify()
    ends, safety = Ends.of(storage), None
    if not is_empty(storage):
        refuse_filled(storage, request.mode)
        safety, ends = _back_up(storage, request, encrypted=checked.encrypted)
    if not isinstance(storage, SupportsReplacement):
        left_out = fill_storage(storage, request, checked)
    else:
        with storage.replacement() as replacement:
            left_out = fill_storage(replacement.storage, request, checked)
            if safety is not None:
                if request.with_keys:
                    _keep_revocations(storage, replacement.storage)
                else:
                    keep_keys(storage, replacement.storage)
                erase_vanished(storage, replacement.storage)
            replacement.swap(position=ends.position, entries=ends.entries)
    return request.describe(
        checked,
        safety_backup=None if safety is None else safety.path,
        left_out=(*checked.left_out, *left_out),
    )


def refuse_filled(storage: Storage, mode: RestoreMode) -> None:
    """Refuse a store that is not empty, unless the mode allows it."""
    if mode is not RestoreMode.OVERWRITE:
        memories = sum(storage.measure().memories.values())
        raise Conflict(
            f"the store is not empty: it holds {format_count(memories, 'memory', 'memories')}, and"
            " nothing was restored: choose to merge (--merge) or to overwrite it (--overwrite),"
            " which backs it up first"
        )
    if not isinstance(storage, SupportsReplacement):
        raise InvalidInput(
            "this storage cannot be replaced as a whole: restore into an empty one; nothing was"
            " changed"
        )


def _back_up(storage: Storage, request: RestoreRequest, *, encrypted: bool) -> tuple[Backup, Ends]:
    request.folder.create()
    backup, ends = write_backup(
        storage,
        request.folder.new_path(request.now, storage.identity, _BEFORE),
        now=request.now,
        passphrase=request.own_passphrase or (request.passphrase if encrypted else None),
        progress=request.progress,
        step=BackupStep.BACKING_UP,
    )
    if not backup.whole:
        raise StoreDamaged(
            f"{format_count(backup.left_out_count or 0, 'record')} of the store cannot be read, so"
            f" nothing was overwritten; the rest is in {backup.path}. Run `infinite-memory restore`"
            " with --overwrite on the folder of the store, which sets its files aside, or restore"
            " into another folder"
        )
    return backup, ends


def fill_storage(target: Storage, request: RestoreRequest, checked: Backup) -> tuple[Finding, ...]:
    """Import an archive that was checked into an empty storage, and compare; return what lacks.

    Raises:
        StorageUnavailable: the storage does not hold what was written into it.
    """
    total = (checked.counts or {}).get("memories", 0)
    with request.open() as reader:
        importer = Import(
            target,
            str(request.archive),
            with_keys=request.with_keys,
            progress=report_step(request.progress, BackupStep.WRITING, total),
        )
        importer.run(reader.records())
        parts = reader.totals.parts()
    different = importer.compare(parts, report_step(request.progress, BackupStep.COMPARING, total))
    if different:
        raise StorageUnavailable(
            f"what was written differs from {request.archive} ({different[0].what}), so nothing was"
            " restored: check the disk, then repeat this"
        )
    return importer.left_out


def keep_keys(storage: Storage, new: Storage) -> None:
    """Give `new` the access keys of `storage`."""
    new.commit(Commit(access_keys=list(storage.access_keys().values())))


def _keep_revocations(storage: Storage, new: Storage) -> None:
    present = storage.access_keys()
    revoked = [
        evolve(key, revoked_at=present[key.id].revoked_at)
        for key in new.access_keys().values()
        if key.revoked_at is None and key.id in present and present[key.id].revoked_at is not None
    ]
    new.commit(Commit(access_keys=revoked))


def erase_vanished(storage: Storage, new: Storage) -> None:
    """Let the ids of a store that its new content does not have count as erased.

    The feed goes on, so that every process that has the store open drops them.
    """
    for changes in FeedBatches(storage, models=()):
        ids = [change.id for change in changes.items]
        known = {*new.get(ids, models=()), *new.erased(ids)}
        vanished = [memory_id for memory_id in ids if memory_id not in known]
        if vanished:
            erase_ids(new, vanished)
