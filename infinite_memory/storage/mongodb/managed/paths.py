"""The paths of the files of a managed server, and its secrets, readable only by the user."""

from __future__ import annotations

import base64
import os
import re
import secrets
import stat
import tempfile
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from attrs import field, frozen

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.files.atomic import write_atomically
from infinite_memory.core.files.regular import read_regular
from infinite_memory.core.paths import user_id

# No port is opened; the name of the socket has the number.
_SOCKET = "mongodb-27017.sock"
# The path of a socket may have 107 characters on Linux and 103 on macOS.
_LONGEST_SOCKET = 100
# Other characters mean something in an address, or to the server.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/-]+")
_LONGEST_LOG_BYTES = 10_000_000


def _resolve_path(path: Path) -> Path:
    return path.resolve()


@frozen
class ServerPaths:
    """The files of the server of a home folder."""

    home: Path = field(converter=_resolve_path)

    @property
    def folder(self) -> Path:
        """The folder of the files that are neither data nor log."""
        return self.home / "mongo_server"

    @property
    def data(self) -> Path:
        """The folder of the data."""
        return self.home / "mongo_data"

    @property
    def log(self) -> Path:
        """The log of the server."""
        return self.home / "logs" / "mongo.log"

    @property
    def output(self) -> Path:
        """The output of the program before it opened its log."""
        return self.folder / "output"

    @property
    def password(self) -> Path:
        """The file with the password."""
        return self.folder / "password"

    @property
    def key(self) -> Path:
        """The key that a replica set with access control must have."""
        return self.folder / "keyfile"

    @property
    def pid(self) -> Path:
        """The file in which the server writes its process id."""
        return self.folder / "pid"

    @property
    def lock(self) -> Path:
        """The file that is locked as long as the server runs."""
        return self.folder / "server.lock"

    @property
    def _socket_record(self) -> Path:
        return self.folder / "socket"

    def has_data(self) -> bool:
        """Return whether a server ever stored data here."""
        return (self.data / "WiredTiger").exists()

    def prepare(self) -> None:
        """Make the folders, which only the user can read.

        Raises:
            StorageUnavailable: a folder cannot be made.
        """
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (self.folder, self.data, self.log.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageUnavailable(
                f"{error.filename} cannot be created: {error.strerror}; check the home folder and "
                "its permissions"
            ) from error

    def write_secrets(self) -> None:
        """Write a random password and key, unless they exist; under `hold_start_lock`."""
        _write_secret(self.password, secrets.token_urlsafe(32), mode=0o600)
        _write_secret(self.key, base64.b64encode(os.urandom(510)).decode(), mode=0o400)

    def socket(self) -> Path:
        """Return the socket of the server: the recorded path while the server has users.

        The socket is in `folder`, or, if the path of `folder` is too long, in a temporary folder
        named after it. The path is recorded because users may have different temporary folders,
        and must find the socket of a restarted server.
        """
        short_name = "infinite-memory-" + blake2b(bytes(self.folder), digest_size=8).hexdigest()
        with suppress(OSError, ValueError):
            recorded = Path(read_regular(self._socket_record).decode())
            is_ours = recorded.parent == self.folder or recorded.parent.name == short_name
            if is_ours and _is_usable_socket(recorded):
                return recorded
        for folder in (self.folder, Path(tempfile.gettempdir()).resolve() / short_name):
            if _is_usable_socket(folder / _SOCKET):
                return folder / _SOCKET
        return Path("/tmp") / short_name / _SOCKET

    def prepare_socket(self) -> Path:
        """Make the folder of the socket and record its path; under `hold_start_lock`.

        Raises:
            StorageUnavailable: the folder belongs to another user.
        """
        path = self.socket()
        with suppress(FileExistsError):
            path.parent.mkdir(mode=0o700)
        folder = path.parent.lstat()
        if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != user_id():
            raise StorageUnavailable(
                f"{path.parent} belongs to another user: remove it, or choose a home folder with a "
                "shorter path"
            )
        if path.parent != self.folder:
            path.parent.chmod(0o700)
        write_atomically(self._socket_record, bytes(path))
        path.unlink(missing_ok=True)
        return path

    def remove_runtime_files(self) -> None:
        """Remove the files that only a running server needs.

        Call it under `hold_start_lock`, when no server runs.
        """
        path = self.socket()
        for file in (path, self.pid, self._socket_record, self.output):
            file.unlink(missing_ok=True)
        if path.parent != self.folder:
            with suppress(OSError):
                path.parent.rmdir()

    def rotate_log(self) -> None:
        """Rotate a long log, replacing the earlier rotated log."""
        with suppress(OSError):
            if self.log.stat().st_size > _LONGEST_LOG_BYTES:
                self.log.replace(self.log.with_name("mongo.log.1"))


def _is_usable_socket(socket: Path) -> bool:
    """Return whether the path is short enough for a socket, and needs no escapes."""
    path = str(socket)
    return len(path) <= _LONGEST_SOCKET and _PLAIN_PATH.fullmatch(path) is not None


def _write_secret(path: Path, content: str, *, mode: int) -> None:
    if not path.exists():
        write_atomically(path, content.encode(), mode=mode)
