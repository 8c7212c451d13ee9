"""Signing in: codes that work once, and sessions that stand for an access key or for the owner."""

from __future__ import annotations

import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import sha256
from hmac import compare_digest, digest
from typing import TypeVar

from starlette.types import Scope

from infinite_memory_mcp.http.bodies import header

_CODE_SECONDS = 120.0
_IDLE_SECONDS = 12 * 3600.0
_MAX_KEPT = 1024
_Kept = TypeVar("_Kept")


class SignIns:
    """The codes and the sessions of a server, which end with it.

    A code is good for two minutes and for one session; a session for twelve hours after its last
    request. Of their names only digests are kept.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without any, with a new secret of the server."""
        self.secret = secrets.token_hex(32)
        self._clock = clock
        self._codes: OrderedDict[bytes, float] = OrderedDict()
        self._sessions: OrderedDict[bytes, tuple[str | None, float]] = OrderedDict()

    def make_code(self) -> str:
        """Return a new code, for whoever may read the files of the home folder."""
        code = secrets.token_urlsafe(24)
        _keep(self._codes, _hash(code), self._clock())
        return code

    def take_code(self, code: str) -> bool:
        """Return whether a code is good, and use it up."""
        made_at = self._codes.pop(_hash(code), None)
        return made_at is not None and self._clock() - made_at <= _CODE_SECONDS

    def begin(self, secret: str | None) -> str:
        """Return the id of a new session with the secret of an access key, None for the owner."""
        name = secrets.token_urlsafe(32)
        _keep(self._sessions, _hash(name), (secret, self._clock()))
        return name

    def find(self, scope: Scope) -> tuple[str | None] | None:
        """Return the session of a request, which has the secret of a key; None without one."""
        for name in map(_hash, _list_cookies(scope)):
            secret, used_at = self._sessions.pop(name, (None, -math.inf))
            if self._clock() - used_at <= _IDLE_SECONDS:
                self._sessions[name] = secret, self._clock()
                return (secret,)
        return None

    def end(self, scope: Scope) -> None:
        """End the session of a request."""
        for name in _list_cookies(scope):
            self._sessions.pop(_hash(name), None)


def prove(secret: str, *words: str) -> str:
    """Return a proof that who says these words knows a secret, which it does not show."""
    return digest(secret.encode(), "\n".join(words).encode("utf-8", "replace"), "sha256").hex()


def is_proof(proof: str, secret: str, *words: str) -> bool:
    """Return whether `proof` proves that who says these words knows the secret."""
    return compare_digest(proof.encode("utf-8", "replace"), prove(secret, *words).encode())


def write_cookie(scope: Scope, session: str | None) -> str:
    """Return the header that sets the cookie of a session; None removes it."""
    # Only a browser that came over TLS has an origin of that kind.
    is_secure = (header(scope, b"origin") or "").startswith("https://")
    age = "; Max-Age=0" if session is None else ""
    secure = "; Secure" if is_secure else ""
    return f"{_name_cookie(scope)}={session or ''}; HttpOnly; SameSite=Strict; Path=/{age}{secure}"


def _name_cookie(scope: Scope) -> str:
    # Browsers share cookies among the ports of a host.
    return f"infinite_memory_{(scope.get('server') or ('', 0))[1]}"


def _list_cookies(scope: Scope) -> Iterator[str]:
    for name, value in scope["headers"]:
        for pair in value.decode("latin-1").split(";") if name == b"cookie" else ():
            key, _, content = pair.strip().partition("=")
            if key == _name_cookie(scope):
                yield content


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()


def _keep(kept: OrderedDict[bytes, _Kept], name: bytes, value: _Kept) -> None:
    kept[name] = value
    if len(kept) > _MAX_KEPT:
        kept.popitem(last=False)
