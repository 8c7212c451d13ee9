"""Sign-in by an identity provider (OAuth 2.1): whose token a client shows, and where to get one.

It is loaded only where an identity provider is configured, which is the only host that it asks.
"""

from __future__ import annotations

import json
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx2
import jwt
from attrs import evolve, frozen
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.shared.auth import ProtectedResourceMetadata

from infinite_memory.core.errors import NotFound
from infinite_memory.core.values.access.key import AccessKey, Right
from infinite_memory_mcp.http.address import is_loopback_host
from infinite_memory_mcp.http.responses import CHALLENGE, Refusal
from infinite_memory_mcp.lazy_store import LazyStore

if TYPE_CHECKING:
    from infinite_memory.core.config import OAuth

_log = logging.getLogger(__name__)
# No "none", and none with a shared secret: a public key could be taken for that.
_ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split()
_KEY_TYPES = ("RSA", "EC", "OKP")
_LEEWAY_SECONDS = 30
_FRESH_SECONDS = 3600.0
_PAUSE_SECONDS = 10.0
_LIST_SECONDS = 1.0
_KEEP_SECONDS = 24 * 3600.0
_FETCH_SECONDS = 10.0
_MAX_BYTES = 256 << 10
_SCOPE = "memory:"
# What fetching the keys may come upon: the network, or an answer of another form.
_DEFECTS = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    jwt.PyJWTError,
    OSError,
    ValueError,
    RecursionError,
)
_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_PATH = "/mcp"
# Of any other error the signature is the cause.
_REASONS: Mapping[type[Exception], str] = {
    jwt.ExpiredSignatureError: "it has expired",
    jwt.ImmatureSignatureError: "it is not valid yet",
    jwt.InvalidAudienceError: "it was made for another audience",
    jwt.InvalidIssuerError: "it is of another issuer",
    jwt.MissingRequiredClaimError: "it lacks a claim: it needs iss, aud and exp",
    jwt.InvalidAlgorithmError: "it is signed in a way that is not accepted",
}


class IssuerAway(Exception):
    """The identity provider cannot be asked for its keys; the text says why."""


class IssuerKeys:
    """The public keys of an identity provider, at the address that its metadata name.

    They are fetched every hour, and for a token of an unknown key, but at most every ten seconds.
    While the provider is away, known keys are good for a day. All belongs to one event loop.
    """

    def __init__(self, issuer: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer, self._clock = issuer, clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = self._asked_at = -_KEEP_SECONDS
        self._problem: str | None = "nobody has asked it yet"
        self._asking = anyio.Lock()

    async def find(self, name: str) -> jwt.PyJWK | None:
        """Return the key with an id, None if the provider has none.

        Raises:
            IssuerAway: it cannot be asked, and the key is not known.
        """
        is_fresh = self._clock() - self._fetched_at < _FRESH_SECONDS
        # Whoever needs no new key does not wait while another asks for them.
        if name not in self._keys or not (is_fresh or self._asking.locked()):
            async with self._asking:
                if self._clock() - self._asked_at >= _PAUSE_SECONDS:
                    await self._renew()
        if name not in self._keys and self._problem is not None:
            raise IssuerAway(self._problem)
        return self._keys.get(name)

    async def _renew(self) -> None:
        self._asked_at = self._clock()
        try:
            with anyio.fail_after(_FETCH_SECONDS):
                self._keys = await self._fetch_keys()
        except _DEFECTS as error:
            self._problem = f"{error or type(error).__name__}"
            _log.warning("the keys of %s cannot be fetched: %s", self._issuer, self._problem)
            if self._clock() - self._fetched_at > _KEEP_SECONDS:
                self._keys = {}
        else:
            self._problem, self._fetched_at = None, self._asked_at

    async def _fetch_keys(self) -> dict[str, jwt.PyJWK]:
        # No proxy and no certificates of the environment, and no redirect is followed.
        async with httpx2.AsyncClient(
            verify=ssl.create_default_context(), trust_env=False, timeout=_FETCH_SECONDS / 2
        ) as client:
            address = str((await self._fetch_metadata(client)).get("jwks_uri"))
            if urlsplit(address)[:2] != urlsplit(self._issuer)[:2]:
                raise ValueError(f"its keys are at {address:.200}, which is another host")
            answer = await _fetch_object(client, address)
        return {
            key.key_id: key
            for key in jwt.PyJWKSet.from_dict(answer or {}).keys
            if key.key_id and key.key_type in _KEY_TYPES and key.public_key_use in (None, "sig")
        }

    async def _fetch_metadata(self, client: httpx2.AsyncClient) -> Mapping[str, Any]:
        urls = build_oauth_authorization_server_metadata_discovery_urls(self._issuer, "")
        for url in urls:
            if (metadata := await _fetch_object(client, url)) is not None:
                if (named := metadata.get("issuer")) != self._issuer:
                    raise ValueError(f"it calls itself {named!r:.200}: write oauth.issuer so")
                return metadata
        raise ValueError(f"it has no metadata at {', '.join(urls)}")


async def _fetch_object(client: httpx2.AsyncClient, url: str) -> dict[str, Any] | None:
    """Return the JSON object at an address, None if nothing is there."""
    async with client.stream("GET", url, headers={"accept": "application/json"}) as response:
        if 400 <= response.status_code < 500:
            return None
        if response.status_code != 200:
            raise ValueError(f"{url} was answered with {response.status_code}")
        content = b""
        async for part in response.aiter_bytes():
            content += part
            if len(content) > _MAX_BYTES:
                raise ValueError(f"{url} has more than {_MAX_BYTES:,} bytes")
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError(f"{url} is no JSON object")
    return found


class TokenCheck:
    """Decides which access key a token of the identity provider stands for.

    A claim of it names the key, whose rights, scopes and end it has. Where its `scope` says
    `memory:read` or `memory:write`, it has no other rights.
    """

    def __init__(self, memory: LazyStore, settings: OAuth) -> None:
        """Check tokens of the issuer in `settings` against the keys of the store of `memory`."""
        self._memory, self._settings = memory, settings
        self._keys = IssuerKeys(settings.issuer or "")
        self._ids: dict[str, str] = {}
        self._listed_at = -_LIST_SECONDS

    async def find_key(self, token: str) -> AccessKey:
        """Return the access key that a token stands for.

        Raises:
            Refusal: it is not accepted (401), gives no right (403), or its issuer is away (503).
        """
        claims = await self._verify(token)
        return await anyio.to_thread.run_sync(self._find_key_of, claims)

    async def _verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token that the issuer signed, for this audience and for now."""
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in _ALGORITHMS:
                raise jwt.InvalidAlgorithmError
            key = await self._keys.find(str(header.get("kid")))
            if key is None:
                raise jwt.InvalidSignatureError
            return jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["iss", "aud", "exp"]},
            )
        except IssuerAway as away:
            raise Refusal(
                503,
                "the identity provider cannot be asked for the key that signed the token: try again"
                " in a few seconds; access keys are accepted meanwhile",
                headers={"retry-after": f"{_PAUSE_SECONDS:g}"},
            ) from away
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            unsigned = "it is not signed by the identity provider of this server"
            reason = _REASONS.get(type(error), unsigned)
            _log.warning("refused a token: %s", reason)
            challenge = f'{CHALLENGE}, error="invalid_token", error_description="{reason}"'
            raise Refusal(
                401,
                f"the token is not accepted: {reason}; sign in again",
                headers={"www-authenticate": challenge},
            ) from error

    def _find_key_of(self, claims: Mapping[str, Any]) -> AccessKey:
        """Return the key that the claims of a token give: the one place that reads them."""
        claim = self._settings.claim
        name = claims.get(claim)
        is_unsure = claim == "email" and claims.get("email_verified") not in (True, "true")
        key = None if not isinstance(name, str) or is_unsure else self._ask_store(name)
        if key is None:
            raise Refusal(
                403,
                f"the token is good, but its claim {claim!r:.60} is {name!r:.100}, and no access"
                " key has this name: whoever runs this server makes one",
            )
        return _narrow(key, claims)

    def _ask_store(self, name: str) -> AccessKey | None:
        """Return the active key with exactly this name."""
        with self._memory.call() as store:
            for is_last in (False, True):
                with suppress(KeyError, NotFound):
                    if (key := store.keys.find(self._ids[name])).name == name:
                        return key
                if not is_last and time.monotonic() - self._listed_at >= _LIST_SECONDS:
                    # All at once: with ten thousand keys this takes a third of a second.
                    self._listed_at = time.monotonic()
                    present = [key for key in store.keys.list() if key.revoked_at is None]
                    self._ids = {key.name: key.id for key in present}
        return None


def _narrow(key: AccessKey, claims: Mapping[str, Any]) -> AccessKey:
    """Return a key with no other rights than those that the scopes of a token name, if any do."""
    given = [claims.get("scope"), claims.get("scp")]
    # A provider writes scopes as a text with spaces between them, or as a list.
    words = [each.split() if isinstance(each, str) else each for each in given if each]
    scopes = [str(word) for part in words if isinstance(part, list) for word in part]
    named = [scope.removeprefix(_SCOPE) for scope in scopes if scope.startswith(_SCOPE)]
    if not named:
        return key
    order = list(map(str, Right))
    most = max(order.index(name) if name in order else -1 for name in named)
    if most < 0:
        raise Refusal(403, f"the scope 'memory:{named[0]:.60}' of the token gives no right here")
    return evolve(key, rights=tuple(right for right in key.rights if right in order[: most + 1]))


@frozen
class ProtectedResource:
    """What a server tells clients that are to sign in (RFC 9728)."""

    settings: OAuth
    root_path: str = ""

    def is_at(self, path: str) -> bool:
        """Return whether the metadata are served at a path, which is without the prefix."""
        start, found, rest = path.partition(_WELL_KNOWN)
        return bool(found) and not start and rest in ("", _PATH, f"{self.root_path}{_PATH}")

    def challenge(self, host: str) -> str:
        """Return where the metadata are, for the header WWW-Authenticate of a refusal."""
        return f'resource_metadata="{self._base(host)}{_WELL_KNOWN}{_PATH}"'

    def describe(self, host: str) -> dict[str, Any]:
        """Return the metadata for clients that reach the server as `host`."""
        audience = str(self.settings.audience)
        is_ours = urlsplit(audience).netloc == host
        named = {
            "resource": audience if is_ours else f"{self._base(host)}{_PATH}",
            "authorization_servers": [self.settings.issuer],
            "scopes_supported": self.settings.ask_for or None,
            "resource_name": "Infinite Memory",
        }
        metadata = ProtectedResourceMetadata.model_validate(named)
        return metadata.model_dump(mode="json", exclude_none=True)

    def _base(self, host: str) -> str:
        # What a proxy claims is not believed. Beyond this machine OAuth needs https in any case.
        name = urlsplit(f"//{host}").hostname or ""
        return f"{'http' if is_loopback_host(name) else 'https'}://{host}{self.root_path}"
