"""Work that takes long goes on at the server, whatever happens to the page."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest
from playwright.sync_api import Page, expect

from infinite_memory import MemoryStore
from tests.mcp.http_server import HttpServer
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.slow("page")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tides.jsonl"
    texts = ["The tide table hangs in the hall", "Boots are in the shed"]
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts), "utf-8")
    return path


def keep_writers_waiting(home: Path) -> apsw.Connection:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("BEGIN IMMEDIATE")
    return connection


def test_an_import_goes_on_over_a_reload_and_its_end_is_said_with_undo(
    page: Page, server: HttpServer, home: Path, store: MemoryStore, file: Path
) -> None:
    page.goto(f"{server.url}/#/keep?part=import")
    page.set_input_files("#import-file", file)
    expect(page.get_by_text("2 new")).to_be_visible()
    writer = keep_writers_waiting(home)
    page.get_by_role("button", name="Bring in 2 memories").click()
    expect(page.locator("#work")).to_contain_text("The import of tides.jsonl goes on")
    page.reload()
    expect(page.locator("#work")).to_contain_text("The import of tides.jsonl goes on")
    writer.execute("ROLLBACK")
    expect(page.get_by_text("The import is done.")).to_be_visible()
    expect(page.locator("#work")).to_be_empty()
    assert store.search("where are the boots?")[0].text == "Boots are in the shed"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken back.")).to_be_visible()


def test_work_of_a_server_that_stopped_is_said_to_be_unknown(
    open_page: OpenPage, home: Path, file: Path
) -> None:
    with HttpServer(home) as first:
        page = open_page(f"{first.url}/#/keep?part=import")
        page.set_input_files("#import-file", file)
        expect(page.get_by_text("2 new")).to_be_visible()
        writer = keep_writers_waiting(home)
        page.get_by_role("button", name="Bring in 2 memories").click()
        expect(page.locator("#work")).to_contain_text("goes on")
        address = f"127.0.0.1:{first.port}"
    writer.execute("ROLLBACK")
    with HttpServer(home, address=address):
        expect(page.get_by_role("alert")).to_contain_text("the server stopped meanwhile")
        expect(page.locator("#work")).to_be_empty()
