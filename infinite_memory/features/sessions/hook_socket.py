"""The sockets on which running servers answer hooks, in the folder `run` of the home folder.

A hook sends one line of JSON and gets one back. The server first sends an empty line at once, so
that the hook knows within a moment whether anybody is there. Only the standard library is imported,
because a client waits for the hook. Windows has no such sockets; there every hook does what it can
alone.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

MAX_LINE_BYTES = 1 << 20
"""A longer line is no request and no answer."""

SUFFIX = ".sock"
_RUN = "run"
_CONNECT_SECONDS = 0.15
# The address of a socket has 108 bytes on Linux and 104 elsewhere, and its name takes 25.
_MAX_PATH_BYTES = 78


def find_socket_folder(home: Path) -> Path:
    """Return the folder of the sockets of a home folder; where its path is too long, another."""
    folder = home / _RUN
    if len(os.fsencode(folder)) <= _MAX_PATH_BYTES:
        return folder
    digest = sha256(os.fsencode(home)).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"infinite-memory-{digest}"


def name_host() -> str:
    """Return a short name for this host, which begins the name of each of its sockets."""
    return sha256(socket.gethostname().encode()).hexdigest()[:6]


def check_owner(folder: Path) -> None:
    """Refuse a folder of somebody else, or a link to one.

    Raises:
        PermissionError: it is no folder of this user.
    """
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(f"{folder} is no folder of this user")


def ask_server(
    home: Path, request: Mapping[str, object], *, seconds: float
) -> dict[str, Any] | None:
    """Return the answer of any running server of `home`, None if none answers in `seconds`.

    The newest server is asked first. A socket that nobody listens on any more is removed.
    """
    deadline = time.monotonic() + seconds
    line = json.dumps(request).encode() + b"\n"
    for path in _list_sockets(home):
        if time.monotonic() >= deadline:
            break
        with suppress(OSError, ValueError):
            return _ask(path, line, deadline)
    return None


def _list_sockets(home: Path) -> Iterator[Path]:
    """Yield the sockets of this user on this host, those of the newest servers first."""
    if not hasattr(socket, "AF_UNIX"):
        return
    folder = find_socket_folder(home)
    found = []
    with suppress(OSError):
        check_owner(folder)
        for path in folder.glob(f"{name_host()}-*{SUFFIX}"):
            with suppress(OSError):  # a server that ends removes its own
                status = path.lstat()
                if stat.S_ISSOCK(status.st_mode) and status.st_uid == os.getuid():
                    found.append((status.st_mtime, path))
    yield from (path for _, path in sorted(found, reverse=True))


def _ask(path: Path, line: bytes, deadline: float) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_SECONDS)
        try:
            connection.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            raise
        if connection.recv(1) != b"\n":
            raise ConnectionError("the server does not speak")
        connection.sendall(line)
        answer = json.loads(_read_line(connection, deadline))
    if not isinstance(answer, dict):
        raise ValueError("the answer is no object")
    return answer


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


def read_request(connection: socket.socket, *, seconds: float) -> dict[str, Any]:
    """Greet a hook that has connected, and return its request.

    Raises:
        OSError: the connection breaks off, or the request does not come in time.
        ValueError: the request is no object of JSON.
    """
    connection.settimeout(seconds)
    connection.sendall(b"\n")
    request = json.loads(_read_line(connection, time.monotonic() + seconds))
    if not isinstance(request, dict):
        raise ValueError("the request is no object")
    return request
