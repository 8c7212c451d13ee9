"""A Markdown export: a folder with a file for each scope or each day."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TextIO

from attrs import define, field

from infinite_memory.core.errors import Conflict, StorageUnavailable
from infinite_memory.core.files.atomic import sync_folder
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.files.regular import open_regular
from infinite_memory.features.archive.exchange.formats.markdown import MARK

_UNSAFE = re.compile(r'[\x00-\x1f\x7f"*/:<>?\\|%]|^[. ]|[. ]$')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)", re.IGNORECASE)
_MAX_NAME_BYTES = 180
_NEW = ".new"


def file_name(name: str) -> str:
    """Return the name of the file of a scope: no two scopes have the same, on any system."""
    safe = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", name)
    if _RESERVED.match(safe):
        safe = f"%{ord(safe[0]):02X}{safe[1:]}"
    if len(safe.encode()) > _MAX_NAME_BYTES:
        digest = sha256(name.encode()).hexdigest()[:12]
        safe = f"{safe.encode()[: _MAX_NAME_BYTES - 14].decode(errors='ignore')}~{digest}"
    return f"{safe}.md"


@define
class ExportFolder:
    """A folder into which files are written; `written` counts changed files."""

    path: Path
    written: int = 0
    removed: int = 0
    _names: set[str] = field(factory=set)

    @property
    def files(self) -> int:
        """The number of files of this export."""
        return len(self._names)

    @contextmanager
    def writing(self, name: str) -> Iterator[TextIO]:
        """Write a file; it replaces an earlier file when the block ends, if it differs.

        Raises:
            Conflict: there is a file of that name that no export wrote.
        """
        path = self.path / name
        if path.is_symlink() or (path.exists() and not _is_ours(path)):
            raise Conflict(f"{path} is no file of an export, and was left alone: move it away")
        new = path.with_name(name + _NEW)
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
                yield file
                file.flush()
                os.fsync(file.fileno())
        except BaseException:  # whatever interrupts the export
            new.unlink(missing_ok=True)
            raise
        self._names.add(name)
        if path.exists() and filecmp.cmp(new, path, shallow=False):
            new.unlink()
        else:
            new.replace(path)
            self.written += 1

    def remove_stale(self) -> None:
        """Remove the files of earlier exports whose memories are not exported any more."""
        for path in self.path.glob("*.md"):
            if path.name not in self._names and not path.is_symlink() and _is_ours(path):
                path.unlink()
                self.removed += 1


def _is_ours(path: Path) -> bool:
    with open_regular(path) as file:
        start = file.read(200).replace(b"\r\n", b"\n")
    return start.startswith(f"---\n{MARK}: ".encode())


@contextmanager
def writing_folder(path: Path, *, force: bool) -> Iterator[ExportFolder]:
    """Prepare a folder; a new one appears when the block ends without an error.

    Raises:
        Conflict: there is something at `path`, with `force` something that is no folder.
        StorageUnavailable: the disk is full, or the folder cannot be written.
    """
    if os.path.lexists(path) and not path.is_dir():
        raise Conflict(f"{path} is no folder, and nothing was written: choose another name")
    is_new = not path.exists()
    if not is_new and not force and any(path.iterdir()):
        raise Conflict(
            f"{path} holds files already, and nothing was written: choose another name, or bring an"
            " earlier export up to date (--force)"
        )
    if not path.parent.is_dir():
        raise StorageUnavailable(f"there is no folder {path.parent}: create it, or choose another")
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        if not lock.try_acquire():
            raise Conflict(f"another process writes {path} at the moment: wait for it")
        try:
            yield from _prepare_folder(path, is_new=is_new)
        finally:
            lock.remove()
    except OSError as error:
        if type(error).__module__ != "builtins":
            raise
        raise StorageUnavailable(
            f"{path} could not be written ({error.strerror}): check the disk and the permissions of"
            " its folder, and repeat this"
        ) from error


def _prepare_folder(path: Path, *, is_new: bool) -> Iterator[ExportFolder]:
    if not is_new:
        folder = ExportFolder(path)
        yield folder
        folder.remove_stale()
        sync_folder(path)
        return
    part = path.with_name(f".{path.name}.part")
    if part.exists():
        shutil.rmtree(part)  # what a killed export left
    part.mkdir(mode=0o700)
    try:
        yield ExportFolder(part)
        sync_folder(part)
        part.rename(path)
    except BaseException:  # whatever interrupts the export
        shutil.rmtree(part, ignore_errors=True)
        raise
    sync_folder(path.parent)
