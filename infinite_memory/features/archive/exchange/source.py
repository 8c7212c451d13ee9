"""A source of an import: a file, a folder or a zip file, read with limits.

Zip files in a folder, or in a zip file, are opened too, each once for the whole import: to open one
reads the names of all its files. What a file holds is given as UTF-8, whatever its encoding is.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from attrs import define, field, frozen

from infinite_memory.core.errors import InvalidInput, NotFound
from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.features.archive.exchange.opening import (
    DecodedStream,
    Fault,
    Value,
    read_values,
)

_HEAD_BYTES = 1 << 16
_BUFFER_BYTES = 1 << 16
_MOST_FILES = 1_000_000
_MOST_ZIP_NAMES = 100_000
_MOST_ZIP_BYTES = 64 << 30
# Texts and JSON compress to a tenth; a bomb compresses to a thousandth.
_MOST_RATIO = 200
_RATIO_FREE_BYTES = 16 << 20
_MOST_ARCHIVES = 200
_DEEPEST = 4
_ZIP = ".zip"
_SKIPPED_FOLDERS = {"__MACOSX", "node_modules", "__pycache__"}


@frozen(kw_only=True)
class _Member:
    """A file inside a zip file, which is at `path` or inside the one there."""

    archive: zipfile.ZipFile = field(eq=False, repr=False)
    name: str
    path: Path


@define(kw_only=True)
class Source:
    """A file, a folder or a zip file.

    `files` are the names of the regular files in it, sorted, relative and with slashes; a single
    file has its own name. Hidden files and folders are left out, and symbolic links, whose names
    are `links`. `unopened` are zip files in it that cannot be opened, with the reasons, and
    `guesses` says of files what their encoding was taken for. `formats` is for those who find out
    in which formats a file may be. `whole` is the whole path, or what stands for it.
    """

    path: Path
    files: tuple[str, ...]
    is_single: bool = False
    links: tuple[str, ...] = ()
    unopened: dict[str, str] = field(factory=dict)
    guesses: dict[str, str] = field(factory=dict)
    formats: dict[str, frozenset[str]] = field(factory=dict)
    _members: dict[str, _Member] = field(factory=dict, eq=False, repr=False)
    whole: str = field(init=False)

    @whole.default
    def _resolve_path(self) -> str:
        return str(self.path.resolve())

    def show(self, file: str) -> str:
        """Return the path of a file as errors name it."""
        return str(self.path) if self.is_single else str(self.path / file)

    def place(self, file: str) -> str:
        """Return the whole path of a file, the same from whatever folder above it is given."""
        return self.whole if self.is_single else f"{self.whole}/{file}"

    def changed_at(self, file: str) -> datetime:
        """Return when a file was changed last; in a zip file that is a time without a zone."""
        member = self._members.get(file)
        if member is None:
            return datetime.fromtimestamp(self._locate(file).stat().st_mtime, UTC)
        try:
            return datetime(*member.archive.getinfo(member.name).date_time, tzinfo=UTC)
        except ValueError:  # a date that no calendar has
            return datetime.fromtimestamp(member.path.stat().st_mtime, UTC)

    def _locate(self, file: str) -> Path:
        return self.path if self.is_single else self.path / file

    @contextmanager
    def open_bytes(self, file: str) -> Iterator[IO[bytes]]:
        """Open a file for reading, as it is.

        Raises:
            InvalidInput: it is damaged, is encrypted, or unpacks to far more than it should.
            OSError: it cannot be read.
        """
        member = self._members.get(file)
        if member is None:
            with open_regular(self._locate(file)) as stream:
                yield stream
            return
        with _raise_typed_zip_errors(member.path), member.archive.open(member.name) as opened:
            yield opened

    @contextmanager
    def open(self, file: str) -> Iterator[IO[bytes]]:
        """Open a file of text for reading, as UTF-8 without a byte order mark.

        Raises:
            InvalidInput, OSError: as `open_bytes`.
        """
        with self.open_bytes(file) as stream:
            decoded = DecodedStream(stream)
            yield io.BufferedReader(decoded, _BUFFER_BYTES)
        if decoded.guess:
            self.guesses[file] = decoded.guess

    def load_text(self, file: str, max_bytes: int) -> str:
        """Return the text of a file, whose lines end with line feeds.

        Raises:
            ValueError: it has more than `max_bytes`.
            InvalidInput, OSError: as `open`.
        """
        with self.open(file) as stream:
            content = stream.read(max_bytes + 1)
            if len(content) > max_bytes:
                raise ValueError(f"the file is larger than {max_bytes:,} bytes")
            text = content.decode(errors="replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def head(self, file: str) -> bytes:
        """Return the first 64 KiB of a file of text.

        Raises:
            InvalidInput, OSError: as `open`.
        """
        with self.open(file) as stream:
            return stream.read(_HEAD_BYTES)

    def values(self, file: str) -> Iterator[Value | ImportProblem]:
        """Yield the records of a file of JSON, and what of it cannot be read.

        Raises:
            InvalidInput, OSError: as `open`.
            ConfigurationError: the package that reads a long array is not installed.
        """
        shown = self.show(file)
        for found in read_values(partial(self.open, file)):
            if isinstance(found, Fault):
                yield ImportProblem(file=shown, where=found.where, what=found.what)
            else:
                yield Value(found.where, found.value, shown)

    @contextmanager
    def on_disk(self, file: str) -> Iterator[Path]:
        """Give the path of a file on the disk, for a copy if it is inside a zip file.

        Raises:
            InvalidInput, OSError: as `open_bytes`.
        """
        if file not in self._members:
            yield self._locate(file)
            return
        with tempfile.TemporaryDirectory() as folder, self.open_bytes(file) as stream:
            path = Path(folder, PurePosixPath(file).name)
            with path.open("wb") as copy:
                shutil.copyfileobj(stream, copy)
            yield path


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
    with ExitStack() as stack:
        opening = _Opening(stack)
        if stat.S_ISDIR(status.st_mode):
            opening.add_folder(path)
        elif not stat.S_ISREG(status.st_mode):
            raise InvalidInput(f"{path} is neither a file nor a folder: give one of these")
        elif not zipfile.is_zipfile(path):
            yield Source(path=path, files=(path.name,), is_single=True)
            return
        else:
            opening.add_zip(path, "", path, _Budget(path=path))
        yield Source(
            path=path,
            files=tuple(sorted(opening.files)),
            links=tuple(sorted(opening.links)),
            unopened=opening.unopened,
            members=opening.members,
        )


@define
class _Budget:
    """How much the zip file at `path` may unpack to, with all zip files in it."""

    path: Path
    _spent: int = 0

    def spend(self, infos: Sequence[zipfile.ZipInfo]) -> None:
        self._spent += sum(info.file_size for info in infos)
        most = _RATIO_FREE_BYTES + _MOST_RATIO * self.path.stat().st_size
        if self._spent > min(_MOST_ZIP_BYTES, most):
            raise InvalidInput(
                f"{self.path} would unpack to {self._spent:,} bytes, far more than such a file"
                " holds: it may be a decompression bomb. If you trust it, unpack it and import the"
                " folder"
            )


@define
class _Opening:
    """Collects the files of a source, and opens the zip files among them."""

    _stack: ExitStack
    files: list[str] = field(factory=list)
    links: list[str] = field(factory=list)
    unopened: dict[str, str] = field(factory=dict)
    members: dict[str, _Member] = field(factory=dict)
    _archives: int = 0

    def add_folder(self, folder: Path) -> None:
        """Add the regular files below a folder; links are not followed."""
        for root, folders, files in os.walk(folder):
            links = [name for name in folders if Path(root, name).is_symlink()]
            folders[:] = [name for name in folders if not _is_hidden(name) and name not in links]
            for name in (*files, *links):
                path = Path(root, name)
                shown = path.relative_to(folder).as_posix()
                mode = path.lstat().st_mode
                if name.startswith("."):
                    continue
                if stat.S_ISLNK(mode):
                    self.links.append(shown)
                elif stat.S_ISREG(mode):
                    self._add_file(shown, path, folder)

    def _add_file(self, shown: str, path: Path, folder: Path) -> None:
        if len(self.files) >= _MOST_FILES:
            raise InvalidInput(
                f"{folder} holds more than {_MOST_FILES:,} files: import its folders one by one"
            )
        if shown.lower().endswith(_ZIP) and zipfile.is_zipfile(path):
            self._try_zip(path, shown, path, _Budget(path=path))
        else:
            self.files.append(shown)

    def _try_zip(self, file: Path | IO[bytes], shown: str, path: Path, budget: _Budget) -> None:
        if self._archives >= _MOST_ARCHIVES or shown.count(_ZIP) > _DEEPEST:
            self.unopened[shown] = "too many zip files: unpack it, and import its folder"
            return
        try:
            self.add_zip(file, shown, path, budget)
        except zipfile.BadZipFile as error:
            self.unopened[shown] = f"it is damaged as a zip file ({error}): get it again"

    def add_zip(self, file: Path | IO[bytes], shown: str, path: Path, budget: _Budget) -> None:
        """Add the files in the zip file `shown` in the source, which is at `path` or inside it."""
        self._archives += 1
        whole = path if not shown else f"{path}, {shown}," if file is not path else path
        with _raise_typed_zip_errors(path) if not shown else ExitStack():
            archive = self._stack.enter_context(zipfile.ZipFile(file))
        infos = archive.infolist()
        names = _check_zip(str(whole), infos)
        budget.spend(infos)
        for name in names:
            inner = f"{shown}/{name}" if shown else name
            if name.lower().endswith(_ZIP):
                self._add_inner_zip(archive, name, inner, path, budget)
            else:
                self.files.append(inner)
                self.members[inner] = _Member(archive=archive, name=name, path=path)

    def _add_inner_zip(
        self, archive: zipfile.ZipFile, name: str, shown: str, path: Path, budget: _Budget
    ) -> None:
        # To jump back in a compressed stream would unpack it from its beginning each time.
        copy = tempfile.TemporaryFile()  # noqa: SIM115 -- it is open as long as the source
        self._stack.enter_context(copy)
        with _raise_typed_zip_errors(path), archive.open(name) as stream:
            shutil.copyfileobj(stream, copy)
        self._try_zip(copy, shown, path, budget)


def _check_zip(shown: str, infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the names of the files in a zip file, sorted, after a check of all names."""
    if len(infos) > _MOST_ZIP_NAMES:
        raise InvalidInput(
            f"{shown} holds {len(infos):,} files and the limit is {_MOST_ZIP_NAMES:,}: unpack"
            " it, and import its folders"
        )
    for info in infos:
        _check_name(shown, info)
    names = [info.filename for info in infos if not info.is_dir()]
    if len(set(names)) < len(names):
        raise InvalidInput(f"{shown} holds two files of the same name: unpack it, and look at them")
    return sorted(name for name in names if not any(map(_is_hidden, PurePosixPath(name).parts)))


def _check_name(shown: str, info: zipfile.ZipInfo) -> None:
    name = info.filename
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not name or name.startswith(("/", "\\")) or ".." in parts or ":" in (parts or ("",))[0]:
        raise InvalidInput(
            f"{shown} holds the name {name!r:.100}, which leaves the folder: refused"
        )
    if stat.S_ISLNK(info.external_attr >> 16):
        raise InvalidInput(
            f"{shown} holds the link {name!r:.100}: refused; unpack it without links"
        )


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED_FOLDERS


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
