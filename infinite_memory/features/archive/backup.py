"""Backups: write a whole store into a file, and verify such a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from attrs import frozen

from infinite_memory.core.errors import DISTRIBUTION, StorageUnavailable
from infinite_memory.core.protocols import Storage, SupportsSnapshot
from infinite_memory.core.values.archive.backup import Backup, BackupProgress, BackupStep
from infinite_memory.features.archive.container.files import (
    open_archive,
    read_outline,
    writing_archive,
)
from infinite_memory.features.archive.container.layout import RecordType
from infinite_memory.features.archive.container.manifest import Head, Manifest
from infinite_memory.features.archive.container.writer import ArchiveWriter
from infinite_memory.features.archive.part_file import PartFile, writing_part
from infinite_memory.features.archive.transfer.decoding import Decoder
from infinite_memory.features.archive.transfer.export import Export, Progress, report_step

_ATTEMPTS = 5
_MOST_FINDINGS = 100


@frozen(kw_only=True)
class Ends:
    """Where the feed and the journal of a store ended at the moment of an export."""

    position: int
    entries: int

    @classmethod
    def of(cls, storage: Storage) -> Ends:
        """Return where they end now."""
        return cls(position=storage.position(), entries=storage.journal_end().number)


def write_backup(
    storage: Storage,
    path: Path,
    *,
    now: datetime,
    passphrase: str | None = None,
    embeddings: bool = True,
    progress: BackupProgress | None = None,
    step: BackupStep = BackupStep.READING,
) -> tuple[Backup, Ends]:
    """Write everything that `storage` holds into the new file `path`; others may write meanwhile.

    The file is read back before it gets its name. Return the backup, and the ends of the feed and
    of the journal at its moment.

    Raises:
        Conflict: there is a file at `path`.
        StorageUnavailable: the store cannot be read, or the file cannot be written.
    """
    with writing_part(path) as part:
        manifest, ends = _write_until_stable(
            part, storage, now, passphrase, embeddings=embeddings, progress=progress, step=step
        )
        with open_archive(part.part, passphrase) as reader:
            for _ in reader.records():
                pass
        part.finish()
    return _describe_backup(path, manifest, encrypted=passphrase is not None), ends


def _write_until_stable(
    part: PartFile,
    storage: Storage,
    now: datetime,
    passphrase: str | None,
    *,
    embeddings: bool,
    progress: BackupProgress | None,
    step: BackupStep,
) -> tuple[Manifest, Ends]:
    """Write the archive; without snapshots, begin again if somebody wrote meanwhile."""
    for _ in range(_ATTEMPTS):
        part.start_again()
        with exporting(storage) as frozen_storage:
            ends = Ends.of(frozen_storage)
            head = make_head(frozen_storage, now, embeddings=embeddings)
            with writing_archive(part, passphrase) as writer:
                manifest = _write_archive(
                    writer, frozen_storage, head, report_step(progress, step, head.memories)
                )
            if Ends.of(frozen_storage) == ends:
                return manifest, ends
    raise StorageUnavailable(
        f"the store was written during each of {_ATTEMPTS} attempts to read it as it is at one"
        " moment, and nothing was backed up: repeat this when it is quiet"
    )


@contextmanager
def exporting(storage: Storage) -> Iterator[Storage]:
    """Give a snapshot of `storage`, or the storage itself if it has none."""
    if isinstance(storage, SupportsSnapshot):
        with storage.snapshot() as snapshot:
            yield snapshot
    else:
        yield storage


def make_head(storage: Storage, now: datetime, *, embeddings: bool) -> Head:
    """Return the head of an archive of `storage`."""
    return Head(
        created_at=now,
        software=_name_software(),
        identity=storage.identity,
        active_model=storage.active_model(),
        embeddings=embeddings,
        memories=sum(storage.measure().memories.values()),
    )


def _name_software() -> str:
    try:
        return f"infinite-memory {version(DISTRIBUTION)}"
    except PackageNotFoundError:
        return "infinite-memory"


def _write_archive(
    writer: ArchiveWriter, storage: Storage, head: Head, progress: Progress | None
) -> Manifest:
    export = Export(storage, embeddings=head.embeddings, progress=progress)
    writer.add(RecordType.HEAD, head.to_json())
    for record_type, content in export.records():
        writer.add(record_type, content)
    findings = export.left_out
    manifest = Manifest(
        head=head,
        parts=writer.totals.parts(),
        counts=writer.totals.counts(export.memories),
        left_out=findings[:_MOST_FINDINGS],
        left_out_count=len(findings),
    )
    writer.finish(manifest)
    return manifest


def verify_file(
    path: Path,
    passphrase: str | None = None,
    progress: BackupProgress | None = None,
    *,
    allow_plain: bool = False,
) -> Backup:
    """Read and check every record of an archive, and return what it holds.

    Raises:
        ArchiveError: it is no archive, is damaged, or cannot be read.
        NotEncrypted, WrongPassphrase: see `open_archive`.
    """
    with open_archive(path, passphrase, allow_plain=allow_plain) as reader:
        decoder = Decoder(str(path))
        for record_type, content in reader.records():
            decoder.decode(record_type, content)
            head = decoder.head
            if progress is not None and head is not None and not decoder.memories % 500:
                progress(BackupStep.CHECKING, min(decoder.memories, head.memories), head.memories)
        manifest = reader.manifest
        assert manifest is not None
        decoder.check_manifest(manifest, reader.totals)
    return _describe_backup(path, manifest, encrypted=reader.encrypted)


def describe_file(path: Path) -> Backup | None:
    """Return what the ends of a file say about a backup, None if it is none or is gone."""
    outline = read_outline(path)
    if outline is None:
        return None
    try:
        return _describe_backup(path, outline.manifest, encrypted=outline.is_encrypted)
    except FileNotFoundError:
        return None


def _describe_backup(path: Path, manifest: Manifest | None, *, encrypted: bool) -> Backup:
    status = path.stat()
    if manifest is None:
        return Backup(
            name=path.name,
            path=str(path),
            created_at=_read_time(path.name) or datetime.fromtimestamp(status.st_mtime, UTC),
            size_bytes=status.st_size,
            encrypted=encrypted,
        )
    return Backup(
        name=path.name,
        path=str(path),
        created_at=manifest.head.created_at,
        size_bytes=status.st_size,
        encrypted=encrypted,
        store=manifest.head.identity,
        counts=manifest.counts,
        left_out=manifest.left_out,
        left_out_count=manifest.left_out_count,
    )


def _read_time(name: str) -> datetime | None:
    """Return the time in the name of a backup; a copy on another disk has its own time of file."""
    try:
        return datetime.strptime(name.partition("-")[0], "%Y%m%dT%H%M%S%z")
    except ValueError:
        return None
