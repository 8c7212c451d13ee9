"""`store.backups`: files that hold the whole store."""

from __future__ import annotations

import os

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.paths import absolute_path
from infinite_memory.core.values.archive.backup import Backup, BackupProgress, Restored, RestoreMode
from infinite_memory.core.values.checks import check_choice, check_flag
from infinite_memory.engine.calls import count_call
from infinite_memory.features.archive.access import (
    backup_folder,
    find_archive,
    refuse_narrow_handles,
)
from infinite_memory.features.archive.backup import verify_file, write_backup
from infinite_memory.features.archive.backup_folder import choose_passphrase
from infinite_memory.features.archive.container.encryption import check_passphrase
from infinite_memory.features.archive.merge import merge_archive, preview_restore
from infinite_memory.features.archive.restore import RestoreRequest, replace_content
from infinite_memory.store.lifetime import Group


@measure_calls("backups.")
class Backups(Group):
    """Backups of a store, by default in the folder `backups` of the home folder.

    A backup holds everything: memories with their history and vectors, links, usage, scopes, access
    keys, the journal and the erased ids. A handle that was opened for some scopes, or for reading
    only, raises AccessDenied.
    """

    @count_call
    def create(
        self,
        to: str | os.PathLike[str] | None = None,
        *,
        passphrase: str | None = None,
        embeddings: bool = True,
        progress: BackupProgress | None = None,
    ) -> Backup:
        """Write everything as it is at this moment into a new file, while others go on writing.

        The file appears under its name when it is whole, durable and read back, for its owner
        alone. `to` is a path; None means a name with the time, in the folder of the backups. With a
        `passphrase` of 8 characters or more, or that of the settings, the file is encrypted; the
        passphrase is kept nowhere.
        Without `embeddings` the file is smaller, and a restored store embeds its texts again.

        Raises:
            InvalidInput: the passphrase is too short.
            Conflict: there is a file of that name.
            AccessDenied: this handle does not show the whole store.
            StorageUnavailable: the disk is full, or the folder or the store cannot be used.
            ConfigurationError: the package for the encryption is missing.
        """
        services = self._services
        refuse_narrow_handles(services)
        check_flag(embeddings, "embeddings")
        secret = choose_passphrase(services.config, passphrase)
        if secret is not None:
            check_passphrase(secret)
        if services.usage is not None:
            services.usage.flush()
        now = services.clock()
        if to is None:
            folder = backup_folder(services)
            folder.create()
            path = folder.new_path(now, services.storage.identity)
        else:
            path = absolute_path(to)
        backup, _ = write_backup(
            services.storage,
            path,
            now=now,
            passphrase=secret,
            embeddings=embeddings,
            progress=progress,
        )
        return backup

    def list(self) -> list[Backup]:
        """Return the backups in the folder of the home folder, the newest first.

        Raises:
            AccessDenied: this handle does not show the whole store.
        """
        refuse_narrow_handles(self._services)
        return backup_folder(self._services).backups()

    def verify(
        self,
        file: str | os.PathLike[str],
        *,
        passphrase: str | None = None,
        allow_plain: bool = False,
        progress: BackupProgress | None = None,
    ) -> Backup:
        """Read and check every record of a backup, given by its name or its path.

        Raises:
            ArchiveError: the file is damaged, or is no backup, or a newer version wrote it.
            NotEncrypted: it is not encrypted, a `passphrase` was given, and not `allow_plain`.
            WrongPassphrase: it is encrypted, and the passphrase is missing or another.
            NotFound: there is no backup of that name.
            AccessDenied: this handle does not show the whole store.
        """
        refuse_narrow_handles(self._services)
        path = find_archive(self._services, file)
        is_allowed = check_flag(allow_plain, "allow_plain")
        secret = choose_passphrase(self._services.config, passphrase)
        return verify_file(path, secret, progress, allow_plain=is_allowed)

    @count_call
    def delete(self, name: str) -> None:
        """Remove the backup called `name` from the folder of the home folder.

        Raises:
            NotFound: there is no such backup.
            InvalidInput: it is no name of a backup.
            AccessDenied: this handle does not show the whole store.
        """
        refuse_narrow_handles(self._services)
        backup_folder(self._services).delete(name)

    @count_call
    def restore(
        self,
        file: str | os.PathLike[str],
        *,
        mode: str = RestoreMode.EMPTY,
        passphrase: str | None = None,
        allow_plain: bool = False,
        with_keys: bool = False,
        scope: str | None = None,
        dry_run: bool = False,
        progress: BackupProgress | None = None,
    ) -> Restored:
        """Bring back the content of a backup, given by its name or its path; it is verified first.

        `mode` "empty" needs a store that holds nothing. "overwrite" backs up what the store holds,
        and replaces it for every process at once: an interruption leaves the former content or the
        new one. "merge" adds what is missing; of two states of a memory the newer one counts, and
        both are in its history; what was erased here stays erased. One `undo` reverses up to 20,000
        memories. With a `scope`, a name or a pattern such as "team/*", "merge" adds that scope and
        the scopes within it alone. Access keys come in only `with_keys`: "overwrite" then replaces
        those of the store, and "merge" adds those that are missing. A `dry_run`
        says what would be added, changed and removed, also by scope, and changes nothing.

        Raises:
            ArchiveError, NotEncrypted, WrongPassphrase, NotFound: as `verify`; nothing was changed.
            Conflict: the store is not empty, or was written while its new content was prepared.
            UnknownScope, AccessDenied: the backup has no such scope; as `verify`.
            StorageError: the store is damaged, or it or the backup cannot be written; as it was.
        """
        services = self._services
        refuse_narrow_handles(services)
        request = RestoreRequest(
            archive=find_archive(services, file),
            mode=check_choice(mode, RestoreMode, "mode"),
            passphrase=choose_passphrase(services.config, passphrase),
            own_passphrase=choose_passphrase(services.config, None)
            if mode == RestoreMode.OVERWRITE and not dry_run
            else None,
            allow_plain=check_flag(allow_plain, "allow_plain"),
            with_keys=check_flag(with_keys, "with_keys"),
            scope=scope,
            folder=backup_folder(services),
            now=services.clock(),
            progress=progress,
        )
        if check_flag(dry_run, "dry_run"):
            return preview_restore(services, request)
        if request.mode is RestoreMode.MERGE:
            return merge_archive(services, request)
        return replace_content(services.storage, request)
