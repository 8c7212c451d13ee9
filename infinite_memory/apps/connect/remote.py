"""Reads the address and the key with which a person names a server over HTTP."""

from __future__ import annotations

import ipaddress
import re
from contextlib import suppress
from urllib.parse import SplitResult, parse_qsl, urlsplit, urlunsplit

from infinite_memory.core.errors import InvalidInput

DEFAULT_PATH = "/mcp"
"""Where a server answers, at its address or below the prefix of a proxy."""

_HOST_AND_PORT = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}(?:/.*)?", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ACCESS_KEY = re.compile(r"im_[a-z2-7]{8}_.+")
_MAX_KEY_CHARS = 4096
_EXAMPLE = "http://127.0.0.1:8765/mcp"


def read_url(text: str) -> str:
    """Return the URL of a server; HOST:PORT/PREFIX is `http://HOST:PORT/PREFIX/mcp`.

    Raises:
        InvalidInput: the text is no such URL, or holds a secret.
    """
    text = text.strip()
    url = f"http://{text}" if _HOST_AND_PORT.fullmatch(text) else text
    parts = _split_url(url)
    if "@" in parts.netloc or any(name == "key" for name, _ in parse_qsl(parts.query)):
        raise InvalidInput(
            f"the URL of {parts.hostname!r:.100} holds a secret: leave the secret out of the URL,"
            " and give an access key with --key-from-env or --key"
        )
    if parts.fragment:
        raise InvalidInput(f"{url!r:.200} has a fragment (#...), which no client sends: leave it")
    path = parts.path.rstrip("/")
    is_whole = path.endswith((DEFAULT_PATH, "/sse"))
    return urlunsplit(parts._replace(path=parts.path if is_whole else path + DEFAULT_PATH))


def _split_url(url: str) -> SplitResult:
    shown = url.rpartition("@")[2].partition("?")[0]
    refusal = InvalidInput(f"{shown!r:.200} is no URL of a server, such as {_EXAMPLE}")
    try:
        parts = urlsplit(url)
        is_complete = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise refusal from error
    if not is_complete or not url.isascii() or not url.isprintable() or " " in url:
        raise refusal
    return parts


def is_this_machine(url: str) -> bool:
    """Return whether the host of a URL is this machine, by its name or its address."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def show_url(url: str) -> str:
    """Return a URL without its user, its password and its query, any of which may be a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("?")[0].rpartition("@")[2]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def check_key(key: str) -> str:
    """Return an access key as a header can carry it; messages never show the key.

    Raises:
        InvalidInput: a header cannot carry it, or it is the name of a variable.
    """
    key = key.strip()
    if key.startswith("$"):
        raise InvalidInput(
            f"the key {key!r:.100} names a variable of the environment: give its name with"
            " --key-from-env"
        )
    if not key:
        raise InvalidInput("the key is empty: give the key that `infinite-memory keys create` made")
    if len(key) > _MAX_KEY_CHARS or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput(
            f"the key of {len(key):,} characters is no access key: a key has letters, digits and"
            " signs of ASCII, without spaces"
        )
    return key


def check_variable(name: str) -> str:
    """Return the name of a variable of the environment.

    Raises:
        InvalidInput: no variable can have the name, or the text looks like a key itself.
    """
    name = name.strip().removeprefix("$")
    if _ACCESS_KEY.fullmatch(name):
        raise InvalidInput(
            "--key-from-env takes the name of a variable, and was given an access key: put the key"
            " into a variable, or give --key"
        )
    if not _VARIABLE.fullmatch(name):
        raise InvalidInput(
            f"{name!r:.100} is no name of a variable, such as INFINITE_MEMORY_KEY: a name has"
            " letters, digits and _"
        )
    return name
