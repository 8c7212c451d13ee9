"""Parse addresses of stores and servers, and mask their passwords."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_plus, urlsplit

IN_MEMORY = "memory://"
MANAGED = "mongodb+managed://"
MONGODB_SCHEMES = ("mongodb://", "mongodb+srv://")

_MONGODB = r"mongo(?:db)?(?:\+\w+)?"
_USER = r"[^\\/:@]*:[^@]*@"
# A scheme of one letter is a drive of Windows, unless two slashes follow.
_SCHEME = (
    rf"(?:[A-Za-z][\w+.\-]+:[\\/]+|[A-Za-z]://"
    rf"|\b{_MONGODB}(?::[\\/]*|[;.,]?[\\/]{{2,}}|[\\/](?={_USER})))"
)
_MONGODB_INSIDE = re.compile(rf"(?:^|.*[\\/]){_MONGODB}:[\\/]", re.I | re.S)
_FOLDER = re.compile(r"[\\/~](?![\\/][^\\/]*@)|\.{1,2}[\\/]|[A-Za-z]:(?:\\|/(?!/)|$)")
_ADDRESS_LIKE = re.compile(
    rf"""
    .*://
    | {_SCHEME}
    | (?:memory|file|https?|postgres(?:ql)?|mysql|mariadb|rediss?|sqlite3?):
    | [\\/]*{_USER}
    | (?:localhost|[\w\-]+(?:\.[\w\-]+)+|\[[0-9a-f:]+\]):\d+(?:[,/?]|$)  # HOST:PORT
    """,
    re.I | re.S | re.X,
)

_BEFORE_USER = re.compile(
    rf".*?{_SCHEME}|[\\/]{{2}}(?={_USER})|(?![A-Za-z]:[\\/])(?={_USER})", re.I | re.S
)
_PORT = re.compile(r"\d{1,5}|.*\]|")
_SECRET_OPTIONS = re.compile(
    r"\b([\w\-]*(?:password|passwd|pwd|secret|token)[\w\-]*|authMechanismProperties)=([^&]*)", re.I
)


class Address(str):
    """The address of a store: a string whose repr masks the password."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(masked(str(self)))


def is_folder(address: str) -> bool:
    """Return whether a valid address names a folder, which SQLite serves."""
    return address not in (IN_MEMORY, MANAGED) and not address.startswith(MONGODB_SCHEMES)


def find_problem(address: str) -> str | None:
    """Return why `address` cannot be the address of a store, None if it can.

    Without this check a mistyped address would become a folder of that name. A path that is
    absolute, or begins with ~ or ./, is always a folder, unless it contains the beginning of a
    MongoDB address.
    """
    if not is_folder(address):
        return None
    suspect = _MONGODB_INSIDE.match(address)
    if not suspect and (_FOLDER.match(address) or not _ADDRESS_LIKE.match(address)):
        return None
    return (
        f"{masked(address)!r:.200} looks like an address, but not like the address of a"
        " store: give mongodb://USER:PASSWORD@HOST/DATABASE, mongodb+srv://HOST/DATABASE,"
        f" {MANAGED}, {IN_MEMORY}, or the absolute path of a folder; nothing was created"
    )


def masked(address: str) -> str:
    """Return an address, even a malformed one, with its password masked.

    A password may contain an unescaped /, : or @, so it is taken to extend to the last @. Some
    options are secrets as well. A text that is not an address is returned unchanged.
    """
    before = _BEFORE_USER.match(address)
    if before is None:
        return address
    rest = address[before.end() :]
    user, at, hosts = rest.rpartition("@")
    if at:
        name, colon, _ = user.partition(":")
        rest = f"{name}:***@{hosts}" if colon else f"***@{hosts}"
    else:
        # Without a host, the password is in the place of the port.
        for secret in _find_wrong_ports(rest):
            rest = rest.replace(f":{secret}", ":***")
    return before[0] + _SECRET_OPTIONS.sub(r"\1=***", rest)


def secrets_in(address: str) -> frozenset[str]:
    """Return the secrets that `masked` hides in an address, as written there and decoded."""
    before = _BEFORE_USER.match(address)
    rest = address if before is None else address[before.end() :]
    user, _, _ = rest.rpartition("@")
    values = [match[2] for match in _SECRET_OPTIONS.finditer(rest)]
    parts = [part.partition(":")[2] for value in values for part in value.split(",")]
    ports = [] if user else _find_wrong_ports(rest)
    written = filter(None, (user.partition(":")[2], *values, *parts, *ports))
    return frozenset(form for secret in written for form in (secret, unquote_plus(secret)))


def _find_wrong_ports(hosts: str) -> list[str]:
    """Return the texts that stand in the place of a port and are not a port."""
    ports = [
        host.rpartition(":")[2] for host in re.split(r"[/?]", hosts)[0].split(",") if ":" in host
    ]
    return [port for port in ports if not _PORT.fullmatch(port)]


def mask_arguments(message: str, arguments: Iterable[str]) -> str:
    """Return a message about a command line with the passwords in its arguments hidden."""
    for argument in arguments:
        for piece in (argument, argument.partition("=")[2]):
            shown = masked(piece)
            if shown != piece:
                message = message.replace(repr(piece)[1:-1], shown).replace(piece, shown)
    return message


def check_issuer(url: str) -> str:
    """Return the URL of an identity provider; raises ValueError unless it is safe to ask."""
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" and parts.hostname
    is_near = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not (is_safe or is_near) or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("give its URL as its tokens do, with https, or http on this machine")
    return url


def check_engine(url: str | None) -> str | None:
    """Return the address of a search engine; raises ValueError for any but PostgreSQL."""
    if url is not None and not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("give postgresql://USER:PASSWORD@HOST/DATABASE")
    return None if url is None else Address(url)
