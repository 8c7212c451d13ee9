"""Signing in to the page: codes, keys, sessions, and what other sites may not do."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
from page_clients import HOST, Browser, PageServer

from infinite_memory import MemoryStore
from infinite_memory_mcp.web import static_files
from infinite_memory_mcp.web.sign_in import SignIns, prove

pytestmark = pytest.mark.anyio


@pytest.fixture
async def page(store: MemoryStore) -> AsyncIterator[PageServer]:
    async with PageServer.of(store, require_keys=True) as served:
        yield served


async def test_a_code_signs_in_once(page: PageServer) -> None:
    code = page.sign_ins.make_code()
    first, second = Browser(page.app), Browser(page.app)
    assert (await first.fail("session"))[0] == 401
    answer = await first.sign_in(code=code)
    assert (await first.call("session"))["name"] is None
    # A browser sends a cookie to every port of the machine, and so to other programs.
    assert "set-cookie" not in answer.headers
    as_cookie = {"cookie": f"infinite_memory_8765={answer.json()['value']}"}
    assert (await second.post("/api/session", headers=as_cookie)).status_code == 401
    refused = await second.sign_in(code=code)
    assert refused.status_code == 401
    assert refused.json()["error"]["kind"] == "SignInNeeded"
    assert "`infinite-memory web`" in refused.json()["error"]["message"]
    assert (await second.fail("session"))[0] == 401


async def test_a_code_is_good_for_two_minutes_and_a_session_for_twelve_idle_hours() -> None:
    now = [0.0]
    sign_ins = SignIns(clock=lambda: now[0])
    early, late = sign_ins.make_code(), sign_ins.make_code()
    now[0] = 120.0
    assert sign_ins.take_code(early)
    now[0] = 121.0
    assert not sign_ins.take_code(late)
    name = sign_ins.begin(None)
    scope = {"headers": [(b"x-memory-session", name.encode())]}
    for hours in (11, 22):
        now[0] = hours * 3600.0
        assert sign_ins.find(scope) is not None
    assert sign_ins.find({"headers": []}) is None
    now[0] += 13 * 3600.0
    assert sign_ins.find(scope) is None


async def test_the_sign_ins_of_a_key_end_no_session_of_another(page: PageServer) -> None:
    owner, first = await page.sign_in(), Browser(page.app)
    secret = page.store.keys.create("phone", rights="read", scopes="*").secret
    await first.sign_in(key=secret)
    for _ in range(15):
        last = Browser(page.app)
        await last.sign_in(key=secret)
    assert (await first.ask("session")).status_code == 200
    for _ in range(1030):
        page.sign_ins.begin(secret)
    assert (await owner.ask("session")).status_code == 200
    assert (await last.fail("session"))[0] == 401


async def test_a_second_sign_in_ends_the_first_session_and_signing_out_the_last(
    page: PageServer,
) -> None:
    browser = await page.sign_in()
    old = browser.client.headers["x-memory-session"]
    secret = page.store.keys.create("phone", rights="read", scopes="*").secret
    assert (await browser.sign_in(key=f" {secret}\n")).status_code == 200
    assert (await browser.call("session"))["name"] == "phone"
    again = Browser(page.app)
    again.client.headers["x-memory-session"] = old
    assert (await again.fail("session"))[0] == 401
    assert (await browser.post("/sign-out")).status_code == 200
    assert (await browser.fail("session"))[0] == 401


async def test_a_revoked_key_ends_its_session(page: PageServer) -> None:
    browser = Browser(page.app)
    secret = page.store.keys.create("phone", rights="write", scopes="*").secret
    await browser.sign_in(key=secret)
    await browser.call("remember", text="by phone")
    assert page.store.journal.entries(limit=1)[0].action.actor.client == "phone"
    page.store.keys.revoke("phone")
    # What the store said of a key is used for a second.
    time.sleep(1.1)
    status, message = await browser.fail("remember", text="too late")
    assert (status, message.startswith("sign in")) == (401, True)
    assert page.store.stats().memories == 1
    assert (await browser.post("/sign-in", {"key": secret})).status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"code": 5},
        {"code": "", "key": ""},
        {"key": ["x"]},
        {"name": "x"},
        {"key": "im_wrong"},
    ],
)
async def test_nothing_else_signs_in(page: PageServer, body: dict[str, object]) -> None:
    answer = await Browser(page.app).post("/sign-in", body)
    assert answer.status_code in (400, 401)
    assert "value" not in answer.json()


async def test_a_proof_of_the_secret_makes_a_code(page: PageServer) -> None:
    browser, secret = Browser(page.app), page.sign_ins.secret
    asked = {"challenge": "abc", "proof": prove(secret, "ask", "abc")}
    made = (await browser.post("/sign-in/code", asked)).json()["value"]
    assert made["proof"] == prove(secret, "answer", "abc", made["code"])
    assert (await browser.post("/sign-in", {"code": made["code"]})).status_code == 200
    for wrong in ({**asked, "challenge": "b"}, {**asked, "proof": "ü"}, {"proof": secret}, {}):
        assert (await browser.post("/sign-in/code", wrong)).status_code == 403


async def test_without_keys_on_the_loopback_nobody_signs_in(store: MemoryStore) -> None:
    async with PageServer.of(store) as page:
        browser = Browser(page.app)
        assert (await browser.call("session"))["rights"] == ["read", "write", "admin"]
        secret = store.keys.create("first", rights="read", scopes="*").secret
        time.sleep(1.1)
        assert (await browser.fail("session"))[0] == 401
        assert (await Browser(page.app, secret).call("session"))["name"] == "first"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        # Another port of this machine is the same site.
        ({"origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://127.0.0.1:3000"}, 403),
        ({"origin": "http://localhost:8765"}, 403),
        ({"origin": "http://127.0.0.1"}, 403),
        ({"origin": "ftp://127.0.0.1:8765"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"host": "evil.example"}, 421),
    ],
)
async def test_another_site_changes_nothing_even_with_the_session(
    page: PageServer, headers: dict[str, str], status: int
) -> None:
    browser = await page.sign_in()
    for path in ("/api/remember", "/api/import?name=a.txt", "/sign-in", "/sign-out"):
        answer = await browser.client.post(
            path, content=b'{"text": "x"}', headers={"content-type": "application/json", **headers}
        )
        assert answer.status_code == status, (path, answer.text)
        assert not any(name.startswith("access-control") for name in answer.headers)
    assert page.store.stats().memories == 0
    assert (await browser.call("session"))["rights"]


async def test_behind_tls_the_page_has_the_name_that_its_proxy_passes_on(
    store: MemoryStore,
) -> None:
    async with PageServer.of(store, host_names=["memory.example"]) as page:
        browser = await page.sign_in()
        for origin, status in (("https://memory.example", 200), ("https://memory.example:1", 403)):
            headers = {"host": "memory.example", "origin": origin}
            assert (await browser.post("/api/session", headers=headers)).status_code == status


async def test_a_get_changes_nothing(page: PageServer) -> None:
    browser = await page.sign_in()
    for path in ("/api/remember", "/api/undo", "/sign-in", "/sign-out", "/sign-in/code"):
        for method in ("GET", "PUT", "DELETE", "OPTIONS"):
            answer = await browser.client.request(method, path)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert (await browser.client.request("POST", "/")).status_code == 405
    assert (await browser.call("session"))["rights"]


async def test_the_files_are_sent_so_that_nothing_foreign_loads_or_frames_them(
    page: PageServer,
) -> None:
    browser = Browser(page.app)
    names = [
        path.relative_to(static_files._FOLDER).as_posix()
        for path in static_files._FOLDER.rglob("*.*")
    ]
    for path in ("/", *(f"/static/{name}" for name in names)):
        answer = await browser.client.get(path)
        if path == "/" and "index.html" not in names:
            continue
        assert answer.status_code == 200, path
        assert {name: answer.headers[name] for name in static_files.HEADERS} == static_files.HEADERS
        known = {"if-none-match": answer.headers["etag"]}
        again = await browser.client.get(path, headers=known)
        assert (again.status_code, again.content) == (304, b"")
    policy = static_files.HEADERS["content-security-policy"]
    for part in ("default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for"):
        assert part in policy


@pytest.mark.parametrize(
    "name",
    [
        "../api.py",
        "..%2fapi.py",
        "%2e%2e/api.py",
        ".hidden.js",
        "a//b.js",
        "no.js",
        "api.py",
        "",
        "CON",
    ],
)
async def test_no_other_file_is_sent(page: PageServer, name: str) -> None:
    answer = await Browser(page.app).client.get(f"http://{HOST}/static/{name}")
    assert answer.status_code == 404
    assert "docstring" not in answer.text
