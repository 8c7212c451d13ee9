"""A port of this machine in the place of a socket in a folder, where there are none, as on Windows.

The file in the folder of the sockets holds the port and a secret, and only the user can read it. A
hook sends a number, and the server proves with it that it knows the secret before it is told
anything: another program may have the port of a server that is gone. The hook then shows the
secret in its request.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
from pathlib import Path

from infinite_memory.core.files.regular import read_regular

_MAX_BYTES = 1024
_HOST = "127.0.0.1"


def listen(path: Path) -> tuple[socket.socket, str]:
    """Listen on a free port, and write it to `path` with a secret; return both.

    Raises:
        OSError: there is no port, or the file cannot be written.
    """
    listener = socket.create_server((_HOST, 0))
    secret = secrets.token_hex(16)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"port": listener.getsockname()[1], "secret": secret}, file)
    except OSError:
        listener.close()
        raise
    return listener, secret


def connect(path: Path, seconds: float) -> tuple[socket.socket, str]:
    """Connect to the server that wrote `path`, once it has proved itself; return its secret too.

    Raises:
        OSError: nobody answers in `seconds`, or it is another program.
        ValueError: the file is none of ours.
    """
    values = json.loads(read_regular(path, max_bytes=_MAX_BYTES))
    if not isinstance(values, dict):
        raise ValueError(f"{path} holds no object")
    secret, number = str(values.get("secret")), secrets.token_hex(16)
    connection = socket.create_connection((_HOST, int(values.get("port", 0))), seconds)
    try:
        connection.sendall(f"{number}\n".encode())
        if not hmac.compare_digest(connection.recv(128), _prove(secret, number)):
            raise ConnectionRefusedError("another program has the port of the server")
    except OSError:
        connection.close()
        raise
    return connection, secret


def _prove(secret: str, number: str) -> bytes:
    return hmac.new(secret.encode(), number.encode(), "sha256").hexdigest().encode() + b"\n"


def greet(connection: socket.socket, secret: str) -> None:
    """Prove to a hook that has connected that this is the server whose secret it knows.

    Raises:
        OSError: the hook says nothing.
    """
    number = connection.recv(128).decode(errors="replace").rstrip("\n")
    connection.sendall(_prove(secret, number))
