"""Work of the page that goes on at the server when its client has waited for a moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import apsw
import httpx2
import pytest
from page_clients import Browser, PageServer

from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio
BYTES = {"content-type": "application/octet-stream"}
CONTENT = b'[{"text": "The kiln is hot", "id": "kiln"}]'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def page(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PageServer]:
    monkeypatch.setattr("infinite_memory_mcp.web.page._PATIENCE_SECONDS", 0.1)
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        async with PageServer.of(store) as served:
            yield served


@contextmanager
def keep_writers_waiting(home: Path) -> Iterator[None]:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("ROLLBACK")
    connection.close()


async def upload(browser: Browser, name: str) -> httpx2.Response:
    return await browser.client.post(f"/api/import?name={name}", content=CONTENT, headers=BYTES)


async def wait_for(browser: Browser, work_id: str) -> httpx2.Response:
    while (answer := await browser.ask("work", id=work_id)).status_code == 202:
        await anyio.sleep(0.01)
    return answer


async def test_an_import_goes_on_and_its_answer_is_asked_for(home: Path, page: PageServer) -> None:
    browser, other = page.show("admin"), page.show("write")
    with keep_writers_waiting(home):
        begun = await upload(browser, "notes.json")
        assert begun.status_code == 202
        work = begun.json()["work"]
        assert (work["method"], work["about"]) == ("import", "notes.json")
        assert [each["state"] for each in await browser.call("work")] == ["running"]
        assert (await browser.ask("work", id=work["id"])).status_code == 202
        # Of what another key began nobody hears.
        assert await other.call("work") == []
        status, sentence = await other.fail("work", id=work["id"])
        assert (status, "the activity shows" in sentence) == (404, True)
    answer = (await wait_for(browser, work["id"])).json()
    assert answer["value"]["added"] == 1
    assert page.store.get("kiln").text == "The kiln is hot"
    assert answer["entry"] in answer["value"]["entries"]
    assert [each["state"] for each in await browser.call("work")] == ["over"]


async def test_two_pieces_of_work_go_on_and_a_third_one_is_refused(
    home: Path, page: PageServer
) -> None:
    browser = Browser(page.app)
    with keep_writers_waiting(home):
        ids = [(await upload(browser, name)).json()["work"]["id"] for name in ("a.json", "b.json")]
        assert (await upload(browser, "c.json")).status_code == 429
        assert len(await browser.call("work")) == 2
        # What is quick goes on beside them.
        assert await browser.call("position") == 0
    outcomes = [(await wait_for(browser, each)).json()["value"] for each in ids]
    assert sorted(outcome["added"] for outcome in outcomes) == [0, 1]
    assert (await upload(browser, "c.json")).status_code == 200


async def test_the_error_of_work_is_that_of_its_call(page: PageServer) -> None:
    page.store.remember("a note")
    browser = Browser(page.app)
    made = page.store.backups.create()
    await browser.ask("backups.restore", file=made.name)
    newest = (await browser.call("work"))[0]
    assert newest["method"] == "backups.restore"
    refused = await wait_for(browser, newest["id"])
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "Conflict")
