"""Clients that sign in with an identity provider: whose tokens are accepted, and for what."""

from __future__ import annotations

import base64
import hmac
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from http_server import WAYS, Answer, HttpServer, call_body, connect
from hypothesis import given, settings
from hypothesis import strategies as st
from identity_provider import AUDIENCE, IdentityProvider, make_key
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from page_clients import PageServer
from talking import call

from infinite_memory import MemoryStore
from infinite_memory.core.config import OAuth
from infinite_memory_mcp.http.oauth import IssuerAway, IssuerKeys, TokenCheck
from infinite_memory_mcp.http.responses import Refusal
from infinite_memory_mcp.lazy_store import LazyStore

NAME = "memory.example.org"
WELL_KNOWN = "/.well-known/oauth-protected-resource"
QUESTION = call_body("retrieve_memory", query="what is the plan?")
NOTE = call_body("store_memory", text="The plan is to sail on Monday", scope="team/plans")


@pytest.fixture(scope="module", params=["RS256", pytest.param("ES256", marks=pytest.mark.thorough)])
def provider(request: pytest.FixtureRequest) -> Iterator[IdentityProvider]:
    with IdentityProvider(algorithm=request.param).running() as provider:
        yield provider


def sign_in_options(provider: IdentityProvider, audience: str = AUDIENCE) -> list[str]:
    return ["--oauth-issuer", provider.url, "--oauth-audience", audience]


class Signed:
    """A server with people's keys, and the identity provider with which they sign in."""

    def __init__(self, home: Path, server: HttpServer, provider: IdentityProvider) -> None:
        self.home, self.server, self.provider = home, server, provider
        self.secret = ""

    def ask(self, token: str, body: bytes = QUESTION) -> Answer:
        headers = {"authorization": f"Bearer {token}", "host": NAME}
        return self.server.ask(body, headers=headers)


@pytest.fixture(scope="module")
def signed(
    tmp_path_factory: pytest.TempPathFactory, provider: IdentityProvider
) -> Iterator[Signed]:
    home = tmp_path_factory.mktemp("sign-in") / "home"
    with MemoryStore.open(home) as store:
        store.remember("A secret of the house", id="secret", scope="house")
        secret = store.keys.create("anna", rights="write", scopes="team/*").secret
        store.keys.create("ben", scopes="team/*")
    with HttpServer(home, "--allow-host", NAME, *sign_in_options(provider)) as server:
        signed = Signed(home, server, provider)
        signed.secret = secret
        yield signed
        assert server.stop() == 0
        assert "Traceback" not in server.log
        # No token, and no part of one.
        assert "eyJ" not in server.log


def test_a_token_has_the_rights_and_the_scopes_of_the_key_that_it_names(signed: Signed) -> None:
    stored = signed.ask(signed.provider.sign(), NOTE)
    assert stored.status == 200
    memory_id = json.loads(stored.body)["result"]["structuredContent"]["id"]
    by_ben = signed.provider.sign(sub="ben")
    assert "sail on Monday" in signed.ask(by_ben, QUESTION).text
    assert "needs the right 'write'" in signed.ask(by_ben, NOTE).message
    hidden = signed.ask(by_ben, call_body("retrieve_memory", ids=["secret"]))
    assert "no memory 'secret'" in hidden.text
    with MemoryStore.open(signed.home) as store:
        entry = next(iter(store.journal.entries(memory_id=memory_id)))
    assert entry.action.actor.client == "anna"


@pytest.mark.anyio
@pytest.mark.parametrize("way", WAYS)
async def test_a_token_is_shown_over_each_transport(signed: Signed, way: str) -> None:
    headers = {"authorization": f"Bearer {signed.provider.sign()}"}
    async with connect(signed.server, way, headers=headers) as client:
        stored = await call(client, "store_memory", text=f"Told by {way}", scope="team/plans")
        assert (await call(client, "retrieve_memory", ids=[stored["id"]]))["hits"]


def test_access_keys_go_on_beside_tokens(signed: Signed) -> None:
    assert signed.ask(signed.secret).status == 200
    assert signed.ask(signed.secret[:-1] + "0").status == 401
    assert signed.server.ask(QUESTION, headers={"host": NAME}).status == 401


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"exp": 1}, "it has expired"),
        ({"nbf": 1 << 40}, "it is not valid yet"),
        ({"aud": "https://other.example.org"}, "it was made for another audience"),
        ({"iss": "https://other.example.org"}, "it is of another issuer"),
        ({"exp": None}, "it lacks a claim"),
        ({"aud": None}, "it lacks a claim"),
        ({"kid": "unknown"}, "it is not signed by the identity provider"),
        ({"key": make_key("RS256"), "algorithm": "RS256"}, "not signed"),
        ({"key": "", "algorithm": "none"}, "it is signed in a way that is not accepted"),
        ({"key": "x" * 64, "algorithm": "HS256"}, "it is signed in a way that is not accepted"),
    ],
)
def test_a_token_that_is_not_good_is_refused_with_its_reason(
    signed: Signed, changed: dict[str, object], reason: str
) -> None:
    answer = signed.ask(signed.provider.sign(**changed), NOTE)  # type: ignore[arg-type]
    if reason == "not signed" and signed.provider.algorithm == "ES256":
        # It says RS256 of a key of another kind.
        reason = ""
    assert answer.status == 401
    assert reason in answer.message
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert "resource_metadata=" in answer.headers["www-authenticate"]


def test_the_public_key_is_no_shared_secret(signed: Signed) -> None:
    # The oldest confusion: a token that was signed with what everybody may read.
    public = signed.provider.key.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head, body, _ = signed.provider.sign().split(".")
    header = {"alg": "HS256", "typ": "JWT", "kid": signed.provider.kid}
    head = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    mark = hmac.digest(pem, f"{head}.{body}".encode(), "sha256")
    forged = f"{head}.{body}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}"
    assert signed.ask(forged).status == 401
    # A claim that was changed under a good signature.
    good, evil = signed.provider.sign().split("."), signed.provider.sign(sub="ben").split(".")
    assert signed.ask(f"{good[0]}.{evil[1]}.{good[2]}").status == 401


@pytest.mark.parametrize("token", ["..", "a.b.c", "e30.e30.", f"{'a' * 20000}.b.c", "e30.e30.e30"])
def test_what_only_looks_like_a_token_is_refused(signed: Signed, token: str) -> None:
    assert signed.ask(token).status == 401


@pytest.mark.parametrize("name", ["carl", "ANNA", "", 7, None, ["anna"]])
def test_a_token_of_somebody_without_a_key_gives_no_right(signed: Signed, name: object) -> None:
    subject = {"sub": name} if isinstance(name, str | None) else {"sub": f"{name}"}
    answer = signed.ask(signed.provider.sign(subject))
    assert answer.status == 403
    assert "no access key has this name" in answer.message
    assert "www-authenticate" not in answer.headers


def test_the_scopes_of_a_token_only_take_rights_away(signed: Signed) -> None:
    reading = signed.provider.sign(scope="openid memory:read")
    assert signed.ask(reading).status == 200
    assert "needs the right 'write'" in signed.ask(reading, NOTE).message
    # In the same moment her other token writes, and Ben's gains nothing.
    assert b'"id"' in signed.ask(signed.provider.sign(scp=["memory:write"]), NOTE).body
    foreign = signed.provider.sign(scope="memory:read other-memory:admin")
    assert "needs the right 'write'" in signed.ask(foreign, NOTE).message
    greedy = signed.provider.sign(sub="ben", scope="memory:admin")
    assert "needs the right 'write'" in signed.ask(greedy, NOTE).message
    answer = signed.ask(signed.provider.sign(scope="memory:everything"))
    assert (answer.status, "gives no right here" in answer.message) == (403, True)


def test_a_token_ends_with_the_key_that_it_names(signed: Signed) -> None:
    token = signed.provider.sign(sub="dora")
    with MemoryStore.open(signed.home) as store:
        store.keys.create("dora", scopes="team/*")
        # What the store said of its keys is used for a second.
        time.sleep(1.1)
        assert signed.ask(token).status == 200
        store.keys.revoke("dora")
        # What the store said is used for a second.
        time.sleep(1.1)
        assert signed.ask(token).status == 403
        store.keys.create("dora", scopes="team/*")
        time.sleep(1.1)
        assert signed.ask(token).status == 200


def test_the_metadata_name_the_provider_and_the_resource(signed: Signed) -> None:
    for path in (WELL_KNOWN, f"{WELL_KNOWN}/mcp"):
        answer = signed.server.ask(path=path, headers={"host": NAME})
        assert json.loads(answer.body) == {
            "resource": AUDIENCE,
            "authorization_servers": [signed.provider.url],
            "bearer_methods_supported": ["header"],
            "resource_name": "Infinite Memory",
        }
    refused = signed.server.ask(QUESTION, headers={"host": NAME})
    where = f'resource_metadata="https://{NAME}{WELL_KNOWN}/mcp"'
    assert where in refused.headers["www-authenticate"]
    local = json.loads(signed.server.ask(path=WELL_KNOWN).body)
    assert local["resource"] == f"{signed.server.url}/mcp"
    assert signed.server.ask(path=f"{WELL_KNOWN}/other").status == 404
    assert signed.server.ask(path=WELL_KNOWN, headers={"host": "evil.example"}).status == 421
    assert signed.server.ask(b"{}", WELL_KNOWN).status == 405


class Tokens:
    """What a client keeps of its sign-in."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def make_sign_in(url: str) -> OAuthClientProvider:
    """Return the sign-in of a client of the SDK, which knows the address of the server alone."""
    answers: list[dict[str, str]] = []

    async def open_browser(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            answered = await browser.get(address)
        answers.append(dict(httpx2.URL(answered.headers["location"]).params))

    async def wait_for_browser() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**answers.pop())

    return OAuthClientProvider(
        url,
        OAuthClientMetadata(
            redirect_uris=["http://127.0.0.1:1/done"],
            client_name="tests",
            token_endpoint_auth_method="none",
        ),
        Tokens(),
        open_browser,
        wait_for_browser,
    )


@pytest.mark.process
@pytest.mark.anyio
@pytest.mark.parametrize("prefix", ["", "/memory"])
async def test_a_client_that_knows_only_the_address_signs_in(tmp_path: Path, prefix: str) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home) as store:
        store.keys.create("anna", rights="write", scopes="*")
    with IdentityProvider(path="/realms/team").running() as provider:
        options = ["--oauth-issuer", provider.url, "--root-path", prefix]
        # An audience that is no address, as some providers want it.
        with HttpServer(home, *options, "--oauth-audience", "memory") as server:
            url = f"{server.url}{prefix}/mcp"
            original = provider.sign
            provider.sign = lambda **_: original(aud=["memory", url])  # type: ignore[method-assign]
            async with httpx2.AsyncClient(auth=make_sign_in(url), timeout=60) as http_client:
                transport = streamable_http_client(url, http_client=http_client)
                async with Client(transport) as client:
                    stored = await call(client, "store_memory", text="Told after a sign-in")
            assert stored["id"]
            assert "/realms/team/token" in provider.asked
    with MemoryStore.open(home) as store:
        entry = next(iter(store.journal.entries(memory_id=stored["id"])))
    assert entry.action.actor.client == "anna"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


CLAIMS = st.sampled_from(["iss", "aud", "exp", "nbf", "iat", "jti", "sub", "scope", "scp"])
HEADERS = st.sampled_from(["alg", "typ", "crit", "b64", "jku", "jwk", "x5c"])


@settings(max_examples=30, deadline=None)
@given(claims=st.dictionaries(CLAIMS, VALUES), header=st.dictionaries(HEADERS, VALUES))
def test_no_token_breaks_the_check(
    provider: IdentityProvider, claims: dict[str, object], header: dict[str, object]
) -> None:
    good = jwt.decode(provider.sign(), options={"verify_signature": False})
    content = json.dumps({**good, **claims}).encode()
    key = {"kid": provider.kid}
    signed = jwt.PyJWS().encode(content, provider.key, provider.algorithm, key)
    forged = base64.urlsafe_b64encode(json.dumps({**key, **header}).encode()).rstrip(b"=")

    async def check() -> set[int]:
        with MemoryStore.open("memory://") as store, LazyStore(lambda: store) as memory:
            store.keys.create("anna", scopes="*")
            tokens = TokenCheck(memory, OAuth(issuer=provider.url, audience=AUDIENCE))
            statuses = set()
            for token in (signed, f"{forged.decode()}.{signed.partition('.')[2]}"):
                try:
                    await tokens.find_key(token)
                except Refusal as refusal:
                    statuses.add(refusal.status)
            return statuses

    assert anyio.run(check) <= {401, 403}


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.anyio
async def test_new_keys_are_fetched_when_a_token_names_one_and_not_more_often() -> None:
    clock = Clock()
    with IdentityProvider().running() as provider:
        keys = IssuerKeys(provider.url, clock=clock)
        first, found = provider.kid, []

        async def find() -> None:
            found.append(await keys.find(first))

        # Many who come at once ask once: for the metadata, at two places, and for the keys.
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(find)
        assert None not in found
        asked = len(provider.asked)
        assert asked == 3
        for _ in range(5):
            assert await keys.find("unknown") is None
        assert len(provider.asked) == asked
        provider.rotate()
        clock.now += 11
        assert await keys.find(provider.kid) is not None
        # The one that was taken back is good no more.
        assert await keys.find(first) is None
        asked, clock.now = len(provider.asked), clock.now + 3601
        assert await keys.find(provider.kid) is not None
        assert len(provider.asked) > asked


@pytest.mark.anyio
async def test_while_the_provider_is_away_its_known_keys_are_good_for_a_day() -> None:
    clock = Clock()
    with IdentityProvider().running() as provider:
        keys = IssuerKeys(provider.url, clock=clock)
        assert await keys.find(provider.kid) is not None
    for hours in (1, 23):
        clock.now += hours * 3600 - 10
        assert await keys.find(provider.kid) is not None
        with pytest.raises(IssuerAway):
            await keys.find("unknown")
    clock.now += 7200
    with pytest.raises(IssuerAway):
        await keys.find(provider.kid)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda own: own.metadata.update(jwks_uri="http://127.0.0.1:9/keys"), "another host"),
        (
            lambda own: own.metadata.update(jwks_uri=f"{own.url}/nothing"),
            "did not contain any keys",
        ),
        (lambda own: own.metadata.update(issuer=f"{own.url}/"), "it calls itself"),
        (lambda own: own.metadata.update(filler="x" * (1 << 20)), "more than 262,144 bytes"),
        (lambda own: setattr(own, "metadata", []), "is no JSON object"),
        (lambda own: setattr(own, "published", "x"), "Invalid JWK Set value"),
        (lambda own: own.published.clear(), "did not contain any keys"),
        (lambda own: setattr(own, "path", "/elsewhere"), "it has no metadata"),
        (lambda own: setattr(own, "published", [{"kty": "oct", "k": "eA", "kid": "x"}]), None),
    ],
)
async def test_what_the_provider_says_is_checked(
    change: Callable[[IdentityProvider], object], reason: str | None
) -> None:
    with IdentityProvider().running() as provider:
        change(provider)
        keys = IssuerKeys(provider.url)
        if reason is None:
            # A shared secret is no public key.
            assert await keys.find("x") is None
            return
        with pytest.raises(IssuerAway, match=reason):
            await keys.find(provider.kid)


@pytest.mark.thorough
def test_a_server_whose_provider_is_away_serves_the_keys_and_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home) as store:
        secret = store.keys.create("anna", scopes="*").secret
    provider = IdentityProvider()
    with provider.running():
        token = provider.sign()
    with HttpServer(home, *sign_in_options(provider)) as server:
        answer = server.ask(QUESTION, headers={"authorization": f"Bearer {token}"})
        assert (answer.status, answer.headers["retry-after"]) == (503, "10")
        assert "the identity provider cannot be asked" in answer.message
        assert server.ask(QUESTION, headers={"x-memory-key": secret}).status == 200
        with IdentityProvider(port=provider.port).running() as back:
            back.kid, back.key, back.published = provider.kid, provider.key, provider.published
            deadline = time.monotonic() + 60
            while (
                answer := server.ask(QUESTION, headers={"authorization": f"Bearer {token}"})
            ).status == 503:
                assert time.monotonic() < deadline
                time.sleep(0.5)
        assert answer.status == 200
    assert "the keys of" in server.log


@pytest.mark.thorough
def test_a_provider_that_hangs_holds_up_nobody_with_a_key(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home) as store:
        secret = store.keys.create("anna", scopes="*").secret
    # Not running: whoever connects waits for an answer.
    provider = IdentityProvider()
    headers = {"authorization": f"Bearer {provider.sign()}"}
    with HttpServer(home, *sign_in_options(provider)) as server, ThreadPoolExecutor(60) as pool:
        asked = [pool.submit(server.ask, QUESTION, headers=headers) for _ in range(59)]
        assert server.ask(QUESTION, headers={"x-memory-key": secret}).status == 200
        assert not any(answer.done() for answer in asked)
        assert {answer.result().status for answer in asked} == {503}
    provider.close()


@pytest.mark.anyio
async def test_an_address_that_was_not_confirmed_names_nobody(
    open_store: Callable[..., MemoryStore],
) -> None:
    store = open_store()
    store.keys.create("anna@example.org", scopes="*")
    with IdentityProvider().running() as provider:
        settings = OAuth(issuer=provider.url, audience=AUDIENCE, claim="email")
        async with PageServer.of(store, require_keys=True, oauth=settings) as page:
            for verified, status in ((None, 403), (True, 200), (False, 403), ("False", 403)):
                token = provider.sign(email="anna@example.org", email_verified=verified)
                headers = {"authorization": f"Bearer {token}", "host": "127.0.0.1:8765"}
                async with httpx2.AsyncClient(
                    transport=httpx2.ASGITransport(app=page.app), base_url="http://127.0.0.1:8765"
                ) as browser:
                    sent = {**headers, "content-type": "application/json"}
                    answer = await browser.post("/api/browse", json={}, headers=sent)
                assert answer.status_code == status, (verified, answer.text)


@pytest.mark.process
def test_without_a_provider_nothing_of_it_exists(tmp_path: Path) -> None:
    script = (
        "import infinite_memory_mcp.http.serving, sys;"
        "print([name for name in sys.modules if name in"
        " ('jwt', 'mcp.client.auth', 'infinite_memory_mcp.http.oauth')])"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]"
    with IdentityProvider().running() as provider:
        with HttpServer(tmp_path / "home", "--require-keys") as server:
            for path in (WELL_KNOWN, f"{WELL_KNOWN}/mcp"):
                assert server.ask(path=path).status == 404
            headers = {"authorization": f"Bearer {provider.sign()}"}
            answer = server.ask(QUESTION, headers=headers)
            assert answer.status == 401
            assert "resource_metadata" not in answer.headers["www-authenticate"]
        assert provider.asked == []
