"""Signing in: codes that work once, and sessions that stand for an access key or for the owner."""

from __future__ import annotations

import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from hmac import compare_digest, digest

from starlette.types import Scope

from infinite_memory_mcp.http.bodies import header

_CODE_SECONDS = 120.0
_IDLE_SECONDS = 12 * 3600.0
_MAX_CODES = 1024
_MAX_SESSIONS = 16
# No cookie: browsers send those to every port of a host, and so to other programs.
_HEADER = b"x-memory-session"


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
        self._codes[_hash(code)] = self._clock()
        if len(self._codes) > _MAX_CODES:
            self._codes.popitem(last=False)
        return code

    def take_code(self, code: str) -> bool:
        """Return whether a code is good, and use it up."""
        made_at = self._codes.pop(_hash(code), None)
        return made_at is not None and self._clock() - made_at <= _CODE_SECONDS

    def begin(self, secret: str | None) -> str:
        """Return the id of a new session with the secret of an access key, None for the owner.

        A secret has sixteen at most: another ends the one that was unused for longest.
        """
        name = secrets.token_urlsafe(32)
        held = [each for each, (whose, _) in self._sessions.items() if whose == secret]
        if len(held) >= _MAX_SESSIONS:
            del self._sessions[held[0]]
        self._sessions[_hash(name)] = secret, self._clock()
        return name

    def find(self, scope: Scope) -> tuple[str | None] | None:
        """Return the session of a request, which has the secret of a key; None without one."""
        name = _hash(header(scope, _HEADER) or "")
        secret, used_at = self._sessions.pop(name, (None, -math.inf))
        if self._clock() - used_at > _IDLE_SECONDS:
            return None
        self._sessions[name] = secret, self._clock()
        return (secret,)

    def end(self, scope: Scope) -> None:
        """End the session of a request."""
        self._sessions.pop(_hash(header(scope, _HEADER) or ""), None)


def prove(secret: str, *words: str) -> str:
    """Return a proof that who says these words knows a secret, which it does not show."""
    return digest(secret.encode(), "\n".join(words).encode("utf-8", "replace"), "sha256").hex()


def is_proof(proof: str, secret: str, *words: str) -> bool:
    """Return whether `proof` proves that who says these words knows the secret."""
    return compare_digest(proof.encode("utf-8", "replace"), prove(secret, *words).encode())


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()
