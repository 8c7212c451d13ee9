"""The sockets on which running servers answer hooks, in the folder `run` of the home folder.

A hook sends one line of JSON and gets one back. The server first sends an empty line at once, so
that the hook knows within a moment whether anybody is there. Only the standard library is imported,
because a client waits for the hook. Where there are no such sockets, as on Windows, a file in the
folder names a port; see `hook_loopback`.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

from infinite_memory.core.paths import user_id

MAX_LINE_BYTES = 1 << 20
"""A longer line is no request and no answer."""

_SUFFIX, _PORT_SUFFIX = ".sock", ".port"
_RUN = "run"
_CONNECT_SECONDS = 0.15
# The address of a socket has 108 bytes on Linux and 104 elsewhere, and its name takes 25.
_MAX_PATH_BYTES = 78


def find_socket_folder(home: Path) -> Path:
    """Return the folder of the sockets of a home folder; where its path is too long, another."""
    folder = home / _RUN
    if len(os.fsencode(folder)) <= _MAX_PATH_BYTES:
        return folder
    # Late, since it takes as long to import as all else together.
    import tempfile  # noqa: PLC0415

    return Path(tempfile.gettempdir()) / f"infinite-memory-{crc32(os.fsencode(home)):08x}"


def name_host() -> str:
    """Return a short name for this host, which begins the name of each of its sockets."""
    return f"{crc32(socket.gethostname().encode()):08x}"[:6]


def check_owner(folder: Path) -> None:
    """Refuse a folder of somebody else, or a link to one.

    Raises:
        PermissionError: it is no folder of this user.
    """
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != user_id():
        raise PermissionError(f"{folder} is no folder of this user")


def has_sockets() -> bool:
    """Return whether this system has sockets that are files."""
    return hasattr(socket, "AF_UNIX")


def listen(folder: Path, most: int) -> tuple[socket.socket, Path, str]:
    """Listen for hooks in `folder`, for `most` at once; return the file of it and its secret.

    Raises:
        OSError: that is not possible.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_owner(folder)
    folder.chmod(0o700)
    suffix = _SUFFIX if has_sockets() else _PORT_SUFFIX
    path = folder / f"{name_host()}-{os.getpid()}-{os.urandom(2).hex()}{suffix}"
    # Named only once it listens: a hook removes a socket that nobody listens on.
    begun, secret = path.with_suffix(""), ""
    if has_sockets():
        listener = socket.socket(vars(socket)["AF_UNIX"], socket.SOCK_STREAM)
    else:
        from infinite_memory.features.sessions import hook_loopback  # noqa: PLC0415

        listener, secret = hook_loopback.listen(begun)
    try:
        if has_sockets():
            listener.bind(os.fspath(begun))
        listener.listen(most)
        begun.rename(path)
    except OSError:
        listener.close()
        raise
    return listener, path, secret


def ask_server(
    home: Path, request: Mapping[str, object], *, seconds: float
) -> dict[str, Any] | None:
    """Return the answer of any running server of `home`, None if none answers in `seconds`.

    The newest server is asked first. A socket that nobody listens on any more is removed.
    """
    deadline = time.monotonic() + seconds
    for path in _list_sockets(home):
        if time.monotonic() >= deadline:
            break
        with suppress(OSError, ValueError):
            return _ask(path, request, deadline)
    return None


def _list_sockets(home: Path) -> Iterator[Path]:
    """Yield the sockets of this user on this host, those of the newest servers first."""
    folder = find_socket_folder(home)
    suffix, is_kind = (_SUFFIX, stat.S_ISSOCK) if has_sockets() else (_PORT_SUFFIX, stat.S_ISREG)
    found = []
    with suppress(OSError):
        check_owner(folder)
        for path in folder.glob(f"{name_host()}-*{suffix}"):
            with suppress(OSError):  # a server that ends removes its own
                status = path.lstat()
                if is_kind(status.st_mode) and status.st_uid == user_id():
                    found.append((status.st_mtime, path))
    yield from (path for _, path in sorted(found, reverse=True))


def _ask(path: Path, request: Mapping[str, object], deadline: float) -> dict[str, Any]:
    try:
        connection, secret = _connect(path)
    except (ConnectionRefusedError, FileNotFoundError):
        path.unlink(missing_ok=True)
        raise
    with connection:
        connection.sendall(json.dumps({**request, "secret": secret}).encode() + b"\n")
        answer = json.loads(_read_line(connection, deadline))
    if not isinstance(answer, dict):
        raise ValueError("the answer is no object")
    return answer


def _connect(path: Path) -> tuple[socket.socket, str]:
    """Connect to a server that says at once that it is there; return its secret, "" without."""
    if not has_sockets():
        from infinite_memory.features.sessions import hook_loopback  # noqa: PLC0415

        return hook_loopback.connect(path, _CONNECT_SECONDS)
    connection = socket.socket(vars(socket)["AF_UNIX"], socket.SOCK_STREAM)
    connection.settimeout(_CONNECT_SECONDS)
    try:
        connection.connect(os.fspath(path))
        if connection.recv(1) != b"\n":
            raise ConnectionError("the server does not speak")
    except OSError:
        connection.close()
        raise
    return connection, ""


def _read_line(connection: socket.socket, deadline: float) -> bytes:
    """Return what a connection sends up to the end of the line or of the connection.

    Raises:
        OSError: it does not end in time, or is too long.
    """
    parts, size = [], 0
    while size <= MAX_LINE_BYTES:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the line took too long")
        connection.settimeout(left)
        part = connection.recv(65536)
        parts.append(part)
        size += len(part)
        if not part or part.endswith(b"\n"):
            return b"".join(parts)
    raise ConnectionError("the line is too long")


def read_request(connection: socket.socket, *, seconds: float, secret: str = "") -> dict[str, Any]:
    """Greet a hook that has connected, and return its request, which shows the secret.

    Raises:
        OSError: the connection breaks off, or the request does not come in time.
        ValueError: the request is no object of JSON.
    """
    connection.settimeout(seconds)
    if secret:
        from infinite_memory.features.sessions import hook_loopback  # noqa: PLC0415

        hook_loopback.greet(connection, secret)
    else:
        connection.sendall(b"\n")
    request = json.loads(_read_line(connection, time.monotonic() + seconds))
    if not isinstance(request, dict):
        raise ValueError("the request is no object")
    if secret and request.get("secret") != secret:
        raise ValueError("the request shows no secret")
    return request
