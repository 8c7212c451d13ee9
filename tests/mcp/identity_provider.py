"""A small identity provider on the loopback: its metadata, its keys, and a sign-in with PKCE."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

AUDIENCE = "https://memory.example.org/mcp"


def make_key(algorithm: str) -> PrivateKeyTypes:
    """Return a new private key."""
    if algorithm.startswith("ES"):
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class IdentityProvider:
    """Signs tokens; who signs in is always `person`, and gets a token for the resource asked for.

    `asked` are the paths that were asked for. Its metadata can be changed in `metadata`, and its
    published keys in `published`.
    """

    def __init__(self, *, algorithm: str = "RS256", path: str = "", port: int = 0) -> None:
        self.algorithm, self.person = algorithm, "anna"
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._make_handler())
        self._server.daemon_threads = True
        self.port, self.path = self._server.server_port, path
        self.url = f"http://127.0.0.1:{self.port}{path}"
        self.metadata: dict[str, Any] = {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }
        self.published: list[dict[str, Any]] = []
        self._codes: dict[str, dict[str, str]] = {}
        self.rotate()

    def rotate(self) -> None:
        """Publish a new key in place of the old one, and sign with it from now on."""
        self.kid, self.key = secrets.token_hex(4), make_key(self.algorithm)
        algorithm = jwt.get_algorithm_by_name(self.algorithm)
        public = algorithm.to_jwk(self.key.public_key(), as_dict=True)
        self.published = [{**public, "kid": self.kid, "use": "sig"}]

    def sign(
        self,
        claims: Mapping[str, Any] | None = None,
        *,
        key: Any = None,
        algorithm: str | None = None,
        kid: str | None = None,
        **changed: Any,
    ) -> str:
        """Return a token of `person` for AUDIENCE; a changed claim that is None is left out."""
        now = int(time.time())
        good = {"iss": self.url, "sub": self.person, "aud": AUDIENCE, "iat": now, "exp": now + 300}
        stated = {**good, **(claims or {}), **changed}
        return jwt.encode(
            {name: value for name, value in stated.items() if value is not None},
            self.key if key is None else key,
            algorithm=algorithm or self.algorithm,
            headers={"kid": kid or self.kid},
        )

    @contextmanager
    def running(self) -> Iterator[IdentityProvider]:
        """Serve for the duration of the block: before it a client waits, after it none gets in."""
        thread = Thread(target=self._server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self.close()

    def close(self) -> None:
        """Go away: whoever connects from now on is refused."""
        self._server.server_close()

    def answer(self, path: str, form: Mapping[str, str]) -> tuple[int, Any]:
        """Return the status, and an object, or the address of a redirect."""
        if not path.startswith(f"{self.path}/"):
            return 404, {"error": "not_found"}
        below = path.removeprefix(self.path)
        if below == "/.well-known/openid-configuration":
            return 200, self.metadata
        if below == "/keys":
            return 200, {"keys": self.published}
        if below == "/register":
            return 201, {**json.loads(form[""]), "client_id": "a-client"}
        if below == "/authorize":
            code = secrets.token_hex(8)
            self._codes[code] = dict(form)
            query = urlencode({"code": code, "state": form["state"], "iss": self.url})
            return 302, f"{form['redirect_uri']}?{query}"
        if below == "/token":
            return self._exchange_code(form)
        return 404, {"error": "not_found"}

    def _exchange_code(self, form: Mapping[str, str]) -> tuple[int, Any]:
        asked = self._codes.pop(form.get("code", ""), None)
        digest = sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked["code_challenge"] != challenge:
            return 400, {"error": "invalid_grant"}
        token = self.sign(aud=asked["resource"])
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": 300}

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def handle_request(self) -> None:
                parts = urlsplit(self.path)
                provider.asked.append(parts.path)
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                given = parse_qs(f"{parts.query}&{body}" if "=" in body else parts.query)
                form = {name: values[0] for name, values in given.items()}
                status, found = provider.answer(parts.path, {**form, "": body})
                content = b"" if status == 302 else json.dumps(found).encode()
                self.send_response(status)
                if status == 302:
                    self.send_header("location", found)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = handle_request  # noqa: N815 - the names of the base class

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        return Handler
