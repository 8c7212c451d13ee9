"""The address that a server listens at. Importing this module loads nothing heavy."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from infinite_memory_mcp.tool_filter import ToolFilter

if TYPE_CHECKING:
    from infinite_memory.core.config import OAuth

_BACKLOG = 2048
_EVERYWHERE = ("0.0.0.0", "::")


class AddressTaken(OSError):
    """Nothing can listen at the address; the message says why, and the way out."""


@frozen
class HttpAddress:
    """A host and a port; port 0 is any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> HttpAddress:
        """Read "HOST:PORT"; an IPv6 address stands in square brackets.

        Raises:
            ValueError: the text is no address; the message has an example.
        """
        host, colon, port = text.strip().rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            host = ""
        is_port = port.isascii() and port.isdigit() and int(port) <= 65535 if port else False
        if not (host and colon and is_port) or any(mark in host for mark in "/@ ?#"):
            raise ValueError(
                f"{text!r:.100} is not HOST:PORT, such as {DEFAULT_ADDRESS} or [::1]:8765"
            )
        return cls(host, int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine can connect."""
        return is_loopback_host(self.host)

    def url(self, port: int) -> str:
        """Return the URL with the port that was given, or found."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"

    def own_url(self, port: int) -> str:
        """Return the URL for a program of this machine."""
        return HttpAddress("127.0.0.1" if self.host in _EVERYWHERE else self.host, port).url(port)

    def listen(self) -> socket.socket:
        """Return a socket that listens here.

        Raises:
            AddressTaken: another program listens here, or the host is not of this machine.
        """
        try:
            family, kind, number, _, where = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listener = socket.socket(family, kind, number)
        except OSError as error:
            raise AddressTaken(f"the host {self.host!r:.100} is unknown: {error}") from error
        try:
            if os.name != "nt":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6 and sys.platform != "win32":
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(where)
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            raise AddressTaken(self._explain_error(error)) from error
        return listener

    def _explain_error(self, error: OSError) -> str:
        if error.errno == errno.EADDRINUSE:
            return (
                f"port {self.port} of {self.host} is in use by another program, or by a server"
                f" that still runs: stop that, or give another port, --http {self.host}:PORT"
            )
        if error.errno == errno.EACCES:
            return f"port {self.port} is not for ordinary users: give a port from 1024 on"
        return f"cannot listen at {self.host}:{self.port}: {error.strerror}"


DEFAULT_ADDRESS = "127.0.0.1:8765"


@frozen(kw_only=True)
class HttpOptions:
    """How a server is reached over HTTP, and its offer of tools.

    With `require_keys` every client needs a key, even while there is none, and also with
    `host_names`, under which clients reach the server besides addresses and localhost: a proxy on
    this machine looks like a local program. `scopes` confines every
    client; None opens all. `call_seconds` is how long a client waits for a call. A file in `home`,
    unless that is None, lets the page be found. `opens_page` says that the server runs for the
    page, which is opened in the browser of the `environment`, None for none. Clients sign in with
    the identity provider of `oauth` too, unless that is None. `root_path` is the prefix, such as
    /memory, of every path before a proxy.
    """

    address: HttpAddress
    toolsets: Sequence[str]
    tool_filter: ToolFilter = field(factory=ToolFilter)
    require_keys: bool = False
    host_names: Sequence[str] = ()
    scopes: Sequence[str] | None = None
    structured: bool = False
    call_seconds: float = 60.0
    home: Path | None = None
    opens_page: bool = False
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    oauth: OAuth | None = None
    root_path: str = ""

    @property
    def demands_keys(self) -> bool:
        """Whether a client needs a key even while the store has none."""
        return self.require_keys or bool(self.host_names) or not self.address.is_loopback


def is_loopback_host(host: str) -> bool:
    """Return whether a host, as in a URL, is this machine alone."""
    if host.casefold() == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
