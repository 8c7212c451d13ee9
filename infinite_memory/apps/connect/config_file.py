"""Reads the file of a client, and replaces it so that nothing else in it or beside it is lost."""

from __future__ import annotations

import codecs
import os
import stat
import sys
from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path

from attrs import field, frozen

from infinite_memory.apps.connect.jsonc import Extra, find_extras, remove_extras
from infinite_memory.core.errors import ConfigurationError
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.regular import read_regular


class FileChanged(Exception):
    """Another program wrote the file since it was read; nothing was written."""


@frozen(kw_only=True)
class FileContent:
    """A file as it was read: `path` without links, `content` None if there is no file."""

    path: Path
    content: bytes | None = field(repr=False)

    @property
    def text(self) -> str:
        """The text without the byte order mark, empty where there is no file."""
        return (self.content or b"").decode("utf-8-sig")

    @property
    def has_mark(self) -> bool:
        """Whether the text follows a byte order mark."""
        return (self.content or b"").startswith(codecs.BOM_UTF8)


def read_file(path: Path) -> FileContent:
    """Read the file of a client, or the file that a link there points to.

    Raises:
        ConfigurationError: it cannot be read, is no text in UTF-8, or is too large.
    """
    try:
        target = path.resolve()
        if not target.exists():
            return FileContent(path=target, content=None)
        content = read_regular(target)
        content.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path} is no text in UTF-8 (byte {error.start}): it is not changed; save it as UTF-8"
        ) from error
    except (OSError, RuntimeError) as error:  # a RuntimeError is a link in a circle
        raise ConfigurationError(
            f"{path} cannot be read ({_find_reason(error)}): it is not changed; put a readable file"
            " of text there, or remove it"
        ) from error
    return FileContent(path=target, content=content)


def make_readable(
    file: FileContent, title: str, accepts: Collection[Extra], *, clean: bool
) -> tuple[str, tuple[Extra, ...]]:
    """Return the text of a JSON file as its client reads it, and what was taken out of it.

    `title` names the client, which accepts nothing beyond JSON but `accepts`.

    Raises:
        ConfigurationError: the client would drop the file, and `clean` is false.
    """
    found = dict(find_extras(file.text))
    if file.has_mark:
        found = {Extra.BYTE_ORDER_MARK: 1, **found}
    refused = {extra: line for extra, line in found.items() if extra not in accepts}
    if refused and not clean:
        named = " and ".join(f"{extra} in line {line}" for extra, line in refused.items())
        raise ConfigurationError(
            f"{file.path} holds {named}, for which {title} will not read the file: it is not"
            " changed; repeat the command with --clean, which writes the file without that and"
            " keeps a copy, or take it out by hand"
        )
    return remove_extras(file.text, refused), tuple(refused)


def replace_file(file: FileContent, content: bytes, *, now: datetime, new_mode: int) -> Path | None:
    """Write the new content of a file, atomically; return where the former content is kept.

    The mode and, as far as this process may, the owner stay; a new file gets `new_mode`.

    Raises:
        ConfigurationError: it cannot be written; nothing was changed.
        FileChanged: it is not what was read.
    """
    path = file.path
    try:
        mode = new_mode
        backup = None
        if file.content is None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            status = path.stat()
            mode = stat.S_IMODE(status.st_mode)
            if not mode & 0o222 or not os.access(path, os.W_OK):
                raise ConfigurationError(
                    f"{path} is read-only: make it writable (`chmod u+w`), or add the server where"
                    " the file is made"
                )
            backup = _keep_backup(file, now, mode)
        try:
            write_atomically(
                path,
                content,
                mode=mode,
                temporary_suffix=f".{os.getpid()}.new",
                before_rename=_make_guard(file, mode),
            )
        except BaseException:
            if backup is not None:
                backup.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({_find_reason(error)}): nothing was changed; make the file"
            " and its folder writable"
        ) from error
    return backup


def _keep_backup(file: FileContent, now: datetime, mode: int) -> Path:
    assert file.content is not None
    stem = f"{file.path.name}.{now:%Y%m%dT%H%M%S}"
    for number in range(1, 1000):
        backup = file.path.with_name(f"{stem}.bak" if number == 1 else f"{stem}-{number}.bak")
        try:
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o700)
        except FileExistsError:
            continue
        with open(descriptor, "wb") as copy:  # noqa: PTH123 -- a descriptor, for its mode
            copy.write(file.content)
        return backup
    raise ConfigurationError(f"{file.path.parent} holds a thousand backups: delete some")


def _make_guard(file: FileContent, mode: int) -> Callable[[Path], None]:
    """Return a check to be made just before the new file takes its place."""

    def check(temporary: Path) -> None:
        current = read_regular(file.path) if file.path.exists() else None
        if current != file.content:
            raise FileChanged(str(file.path))
        if file.content is None:
            return
        # The mode of a file is narrowed by the mask of the process when it is created.
        temporary.chmod(mode)
        if sys.platform != "win32" and os.geteuid() == 0:
            owner = file.path.stat()
            os.chown(temporary, owner.st_uid, owner.st_gid)

    return check


def _find_reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
