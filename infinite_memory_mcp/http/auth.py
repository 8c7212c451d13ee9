"""Who makes a request: the key that it shows, checked at most a second ago."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

import anyio.to_thread
from starlette.types import Scope

from infinite_memory.core.errors import AccessDenied, InfiniteMemoryError
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory_mcp.http.responses import CHALLENGE, Refusal
from infinite_memory_mcp.lazy_store import LazyStore

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore
    from infinite_memory_mcp.http.oauth import TokenCheck

_log = logging.getLogger(__name__)
_FRESH_SECONDS = 1.0
_MAX_REMEMBERED = 1024
_WAYS = "send it as the header 'x-memory-key: KEY' or 'Authorization: Bearer KEY', or as ?key=KEY"


class KeyCheck:
    """Decides whether a request needs a key, and which key it shows.

    Once keys are required, they are required as long as the process lives: to revoke the last key
    does not open the store. What the store said of a key, or of keys, is used for one second.
    """

    def __init__(
        self,
        memory: LazyStore,
        *,
        required: bool,
        tokens: TokenCheck | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Check against the keys of the store of `memory`; `required` even while there is none.

        Tokens of an identity provider are accepted beside keys, unless `tokens` is None.
        """
        self._memory = memory
        self._tokens = tokens
        self._required = required
        self._clock = clock
        self._looked_at = -_FRESH_SECONDS
        self._results: OrderedDict[bytes, tuple[float, AccessKey | None]] = OrderedDict()

    @property
    def is_undecided(self) -> bool:
        """Whether nobody knows yet if a key is needed, and to know it takes the opening of a store.

        What says nothing of the store need not wait for that.
        """
        return not self._required and not self._memory.is_open

    async def authenticate(self, secret: str | None) -> AccessKey | None:
        """Return the key of a request, None where no key is needed and none is shown.

        Raises:
            Refusal: a key is needed (401), or is not accepted (401), or the store cannot be asked
                (503).
        """
        try:
            if secret is not None:
                return await self._check_secret(secret)
            if not await self._is_required():
                return None
        except InfiniteMemoryError as error:
            raise Refusal(
                503,
                "the store cannot be opened to look for the key: try again in a few seconds; the"
                " log of the server has the reason",
                headers={"retry-after": "5"},
            ) from error
        raise Refusal(401, f"a key is needed: {_WAYS}", headers={"www-authenticate": CHALLENGE})

    async def _check_secret(self, secret: str) -> AccessKey:
        # A digest, so that no secret stays in memory for longer than its request.
        name = sha256(secret.encode("utf-8", "surrogatepass")).digest()
        at, key = self._results.get(name, (0.0, None))
        if name not in self._results or self._clock() - at >= _FRESH_SECONDS:
            now = self._clock()
            # An access key has no dots.
            if self._tokens is not None and secret.count(".") == 2:
                key = await self._tokens.find_key(secret)
            else:
                key = await anyio.to_thread.run_sync(self._ask_store, secret)
            self._results[name] = now, key
            self._results.move_to_end(name)
            if len(self._results) > _MAX_REMEMBERED:
                self._results.popitem(last=False)
        if key is None:
            raise Refusal(
                401,
                "the key is not accepted: it is unknown, has expired or was revoked; ask whoever"
                " runs this server for another",
                headers={"www-authenticate": f'{CHALLENGE}, error="invalid_token"'},
            )
        self._required = True
        return key

    def _ask_store(self, secret: str) -> AccessKey | None:
        with self._memory.call() as store:
            try:
                return store.keys.check(secret)
            except AccessDenied as error:
                _log.warning("refused a key: %s", error.detail)
                return None

    async def _is_required(self) -> bool:
        if not self._required and self._clock() - self._looked_at >= _FRESH_SECONDS:
            now = self._clock()
            self._required = await anyio.to_thread.run_sync(self._look_at_keys)
            self._looked_at = now
        return self._required

    def _look_at_keys(self) -> bool:
        with self._memory.call() as store:
            return has_keys(store)


def has_keys(store: MemoryStore) -> bool:
    """Return whether there is a key that was not revoked; an expired key counts."""
    return any(key.revoked_at is None for key in store.keys.list())


def take_secret(scope: Scope) -> tuple[Scope, str | None]:
    """Return a request without its key, so that nothing behind can log it, and the key."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    in_query = [value for name, value in pairs if name == "key"]
    in_headers = [_find_secret(name, value) for name, value in scope["headers"]]
    kept = [
        line for line, secret in zip(scope["headers"], in_headers, strict=True) if secret is None
    ]
    shown = [secret for secret in in_headers if secret] + in_query
    query = scope["query_string"]
    if in_query:
        query = urlencode([pair for pair in pairs if pair[0] != "key"]).encode()
    stripped = {**scope, "headers": kept, "query_string": query}
    return stripped, shown[0] if shown else None


def _find_secret(name: bytes, value: bytes) -> str | None:
    text = value.decode("latin-1").strip()
    if name == b"x-memory-key":
        return text
    if name == b"authorization":
        kind, _, rest = text.partition(" ")
        return rest.strip() if kind.casefold() == "bearer" else ""
    return None
