"""A source of an import: a file, a folder or a zip file, read with limits.

A zip file is opened once for the whole import: to open it reads the names of all its files.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO

from attrs import field, frozen

from infinite_memory.core.errors import InvalidInput, NotFound
from infinite_memory.core.files.regular import open_regular

_HEAD_BYTES = 1 << 16
_MOST_FILES = 1_000_000
_MOST_ZIP_NAMES = 100_000
_MOST_ZIP_BYTES = 64 << 30
# Texts and JSON compress to a tenth; a bomb compresses to a thousandth.
_MOST_RATIO = 200
_RATIO_FREE_BYTES = 16 << 20
_SKIPPED_FOLDERS = {"__MACOSX", "node_modules", "__pycache__"}


@frozen(kw_only=True)
class Source:
    """A file, a folder or a zip file.

    `files` are the names of the regular files in it, sorted, relative and with slashes; a single
    file has its own name. Hidden files and folders, and symbolic links, are left out.
    """

    path: Path
    files: tuple[str, ...]
    is_folder: bool = False
    _archive: zipfile.ZipFile | None = field(default=None, eq=False, repr=False)

    @property
    def is_zip(self) -> bool:
        """Whether the files are inside a zip file."""
        return self._archive is not None

    def find(self, name: str) -> str | None:
        """Return the file called `name` that is nearest to the top, None if there is none."""
        named = [file for file in self.files if PurePosixPath(file).name == name]
        return min(named, key=lambda file: (file.count("/"), file), default=None)

    def with_ending(self, *endings: str) -> list[str]:
        """Return the files whose names end with one of `endings`, in any letter case."""
        return [file for file in self.files if file.lower().endswith(endings)]

    def show(self, file: str) -> str:
        """Return the path of a file as errors name it."""
        if self.is_folder:
            return str(self.path / file)
        return f"{self.path}/{file}" if self.is_zip else str(self.path)

    def place(self, file: str) -> str:
        """Return the whole path of a file, the same from whatever folder above it is given."""
        path = self.path.resolve()
        return f"{path}/{file}" if self.is_folder or self.is_zip else str(path)

    def locate(self, file: str) -> Path:
        """Return the path on the disk of a file that is not inside a zip file."""
        return self.path / file if self.is_folder else self.path

    def changed_at(self, file: str) -> datetime:
        """Return when a file was changed last; in a zip file that is a time without a zone."""
        if self._archive is None:
            return datetime.fromtimestamp(self.locate(file).stat().st_mtime, UTC)
        try:
            return datetime(*self._archive.getinfo(file).date_time, tzinfo=UTC)
        except ValueError:  # a date that no calendar has
            return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)

    @contextmanager
    def open(self, file: str) -> Iterator[IO[bytes]]:
        """Open a file for reading.

        Raises:
            InvalidInput: it is damaged, is encrypted, or unpacks to far more than it should.
            OSError: it cannot be read.
        """
        if self._archive is None:
            with open_regular(self.locate(file)) as stream:
                yield stream
            return
        with _raise_typed_zip_errors(self.path), self._archive.open(file) as member:
            yield member

    def head(self, file: str) -> bytes:
        """Return the first 64 KiB of a file.

        Raises:
            InvalidInput, OSError: as `open`.
        """
        with self.open(file) as stream:
            return stream.read(_HEAD_BYTES)


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Give what is at `path` for the length of a block, after a check of its names.

    Raises:
        NotFound: there is nothing.
        InvalidInput: it is neither a file nor a folder, or is a zip file with names that leave it,
            with links, or with more content than it should have.
        OSError: it cannot be read.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise NotFound(f"there is no file or folder {path}: check the path") from None
    if stat.S_ISDIR(status.st_mode):
        yield Source(path=path, files=tuple(sorted(_walk_folder(path))), is_folder=True)
        return
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput(f"{path} is neither a file nor a folder: give one of these")
    if not zipfile.is_zipfile(path):
        yield Source(path=path, files=(path.name,))
        return
    with _raise_typed_zip_errors(path):
        archive = zipfile.ZipFile(path)
    with archive:
        yield Source(path=path, files=tuple(_check_zip(path, archive.infolist())), archive=archive)


def _walk_folder(folder: Path) -> Iterator[str]:
    """Yield the regular files below a folder; links are not followed."""
    count = 0
    for root, folders, files in os.walk(folder):
        folders[:] = [
            name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS
        ]
        for name in files:
            path = Path(root, name)
            if name.startswith(".") or not stat.S_ISREG(path.lstat().st_mode):
                continue
            count += 1
            if count > _MOST_FILES:
                raise InvalidInput(
                    f"{folder} holds more than {_MOST_FILES:,} files: import its folders one by one"
                )
            yield path.relative_to(folder).as_posix()


def _check_zip(path: Path, infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the names of the files in a zip file, sorted, after a check of all names and sizes."""
    if len(infos) > _MOST_ZIP_NAMES:
        raise InvalidInput(
            f"{path} holds {len(infos):,} files and the limit is {_MOST_ZIP_NAMES:,}: unpack"
            " it, and import its folders"
        )
    for info in infos:
        _check_name(path, info)
    total = sum(info.file_size for info in infos)
    if total > _MOST_ZIP_BYTES or total > _RATIO_FREE_BYTES + _MOST_RATIO * path.stat().st_size:
        raise InvalidInput(
            f"{path} would unpack to {total:,} bytes, far more than such a file holds: it may be a"
            " decompression bomb. If you trust it, unpack it and import the folder"
        )
    names = [info.filename for info in infos if not info.is_dir()]
    if len(set(names)) < len(names):
        raise InvalidInput(f"{path} holds two files of the same name: unpack it, and look at them")
    return sorted(name for name in names if not _is_hidden(name))


def _check_name(path: Path, info: zipfile.ZipInfo) -> None:
    name = info.filename
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not name or name.startswith(("/", "\\")) or ".." in parts or ":" in (parts or ("",))[0]:
        raise InvalidInput(f"{path} holds the name {name!r:.100}, which leaves the folder: refused")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise InvalidInput(f"{path} holds the link {name!r:.100}: refused; unpack it without links")


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any(part.startswith(".") or part in _SKIPPED_FOLDERS for part in parts)


@contextmanager
def _raise_typed_zip_errors(path: Path) -> Iterator[None]:
    try:
        yield
    # A member that is encrypted raises RuntimeError; zipfile never returns more than it declares.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InvalidInput(f"{path} is damaged as a zip file ({error}): get it again") from error
    except RuntimeError as error:
        if "encrypted" not in str(error):
            raise
        raise InvalidInput(f"{path} is encrypted: unpack it, and import the folder") from error
