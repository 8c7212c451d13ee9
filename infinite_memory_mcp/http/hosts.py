"""Refuse requests that a web page makes under a foreign name (DNS rebinding) or origin."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from infinite_memory_mcp.http.address import HttpAddress, is_loopback_host
from infinite_memory_mcp.http.responses import Refusal


class HostCheck:
    """Checks the headers Host and Origin.

    A page that rebinds its own name to this machine sends that name as the host. So a name is
    refused unless the operator allows it. An address cannot be rebound; it is accepted where the
    server listens beyond this machine. An origin must be the host itself, or an allowed name.
    """

    def __init__(self, address: HttpAddress, names: Iterable[str] = ()) -> None:
        """Accept the names of this machine, those in `names`, and the host of `address`."""
        self._names = {_find_host(name) for name in names} | {address.host.casefold()}
        self._accepts_addresses = not address.is_loopback

    def check(self, host: str | None, origin: str | None) -> None:
        """Check the values of the two headers; None for a header that is missing.

        Raises:
            Refusal: the host (421) or the origin (403) is not accepted.
        """
        if host is None:
            raise Refusal(421, "the request names no host: send the header Host")
        if not self._accepts_host(_find_host(host)):
            raise Refusal(
                421,
                f"the host {host!r:.100} is not served here: connect by an address of this machine,"
                f" or start the server with --allow-host {_find_host(host) or 'NAME':.100}, which"
                " demands a key",
            )
        if origin is None or _find_authority(origin) == host.casefold():
            return
        name = _find_host(_find_authority(origin))
        if not name:
            raise Refusal(
                403,
                f"pages of the origin {origin!r:.100}, which names no host, may not use this"
                " server: open the page from a web server, or send no Origin",
            )
        if name not in self._names:
            raise Refusal(
                403,
                f"pages of the origin {origin!r:.100} may not use this server: start it with"
                f" --allow-host {name:.100}, which demands a key",
            )

    def _accepts_host(self, host: str) -> bool:
        if host in self._names or is_loopback_host(host):
            return True
        return self._accepts_addresses and _is_address(host)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _find_authority(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.casefold()
    except ValueError:
        return ""


def _find_host(authority: str) -> str:
    """Return the host of "HOST" or "HOST:PORT", without the brackets of an IPv6 address."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""
