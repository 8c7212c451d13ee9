"""A memory of 20 MB, a file of 20 MB, and 5,000 scopes: nothing long is sent unasked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from infinite_memory import MemoryStore
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.sqlite import SqliteStorage
from tests.mcp.http_server import HttpServer
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.slow("page")

MAX_BYTES = 200_000
# What a person feels as a page that hangs. The machine of the tests may be busy.
MAX_TASK_MS = 1000
SCOPES = 5000
LINES = 370_000
WATCH_TASKS = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const {duration} of list.getEntries()) window.longest = Math.max(window.longest, duration);
}).observe({type: "longtask"});
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one very long text in two revisions, a longish one, and 5,000 scopes."""
    home = tmp_path_factory.mktemp("large") / "home"
    home.mkdir()
    limits = {"max_text_bytes": 64 << 20}
    (home / "infinite_memory_config.json").write_text(json.dumps({"limits": limits}))
    with closing(SqliteStorage.open(home)) as storage:
        # One by one they take minutes.
        scopes = [
            Scope(name=f"topic-{number:04}", description="A topic of many. " * 4)
            for number in range(SCOPES)
        ]
        storage.commit(Commit(scopes=scopes))
    with MemoryStore.open(home) as store:
        lines = [
            f"Line {number}: ship {number * 7} passed the lighthouse at night.\n"
            for number in range(LINES)
        ]
        log = "".join(lines)
        assert 20_000_000 < len(log) < 64 << 20
        store.remember(log, id="log", title="The log of the lighthouse")
        store.revise("log", revision=1, text=log.replace("Line 3:", "Line three:") + "The end.")
        store.remember("\r\n".join(lines[:5000]), id="summer", title="The log of the summer")
        store.remember("The key of the cellar hangs at the door", kind="fact", scope="topic-4999")
    return home


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[HttpServer]:
    with HttpServer(home) as server:
        server.ask(b'{"query": "lighthouse"}', "/api/search")
        yield server


@pytest.fixture
def page(open_page: OpenPage, server: HttpServer) -> Iterator[Page]:
    page = open_page(server.url, viewport={"width": 1280, "height": 900})
    page.context.add_init_script(WATCH_TASKS)
    page.reload()
    page.context.set_default_timeout(60_000)
    answered: list[Request] = []
    page.on("requestfinished", lambda request: answered.append(request))
    expect(page.locator(".card").first).to_be_visible()
    yield page
    # Whoever asks for a whole text gets it in larger pieces.
    asked = [request for request in answered if '"whole":true' not in (request.post_data or "")]
    sizes = {request.url: request.sizes()["responseBodySize"] for request in asked}
    assert max(sizes.values()) <= MAX_BYTES, sizes
    assert page.evaluate("window.longest") < MAX_TASK_MS


def test_a_very_long_text_is_found_opened_and_read_on(page: Page, server: HttpServer) -> None:
    page.get_by_role("searchbox").fill("which ship passed the lighthouse")
    expect(page.locator(".card", has_text="The log of the lighthouse")).to_be_visible()
    page.goto(f"{server.url}/#/memory/log")
    more = page.get_by_role("button", name="Read on")
    expect(more).to_contain_text("30,000 of ")
    expect(page.locator(".whole .words")).to_contain_text("Line three:")
    more.click()
    expect(more).to_contain_text("60,000 of ")
    # What the history compares says that it is not the whole.
    expect(page.locator(".steps del").first).to_have_text("3:")
    expect(page.locator(".steps ins").first).to_have_text("three:")
    expect(page.get_by_text("Only the beginning is compared").first).to_be_visible()


def test_a_very_long_text_is_saved_as_a_file(page: Page, server: HttpServer, home: Path) -> None:
    page.goto(f"{server.url}/#/memory/log")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save all of it as a file").click()
    with MemoryStore.open(home) as store:
        assert download.value.path().read_bytes() == store.get("log").text.encode()


def test_tags_of_a_very_long_text_are_edited_and_the_text_stays(
    page: Page, server: HttpServer, home: Path
) -> None:
    page.goto(f"{server.url}/#/memory/log")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_text("infinite-memory revise")).to_be_visible()
    page.get_by_label("Tags").fill("sea")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    with MemoryStore.open(home) as store:
        memory = store.get("log")
        assert memory.tags == ("sea",)
        assert memory.text.endswith("The end.")
        assert len(memory.text) > 20_000_000


def test_a_text_that_is_not_so_long_is_read_whole_and_edited(
    page: Page, server: HttpServer, home: Path
) -> None:
    with MemoryStore.open(home) as store:
        before = store.get("summer").text
    assert len(before) > MAX_BYTES
    page.goto(f"{server.url}/#/memory/summer")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Tags").fill("summer")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".hash, .facts a", has_text="#summer").first).to_be_visible()
    with MemoryStore.open(home) as store:
        # A field has no carriage returns: what was not touched stays as it is.
        assert store.get("summer").text == before
    # The view is drawn anew once the change is known, which closes a form that was just opened.
    page.reload()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text").press("Control+Home")
    page.keyboard.type("The log. ")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".steps ins").first).to_have_text("The log.")
    with MemoryStore.open(home) as store:
        assert store.get("summer").text == "The log. " + before.replace("\r\n", "\n")


def test_a_scope_is_found_among_5000(page: Page, server: HttpServer) -> None:
    page.goto(f"{server.url}/#/keep?part=scopes")
    expect(page.get_by_role("heading", name="5,001 scopes")).to_be_visible()
    page.get_by_label("Find a scope").fill("topic-4999")
    expect(page.locator(".line-row")).to_have_count(1)
    page.goto(f"{server.url}/#/ask")
    expect(page.locator(".view-ask")).to_be_visible()
    page.get_by_role("button", name="Scope").click()
    page.get_by_label("Name of a scope").fill("4999")
    expect(page.locator(".chip-menu li")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator(".card", has_text="The key of the cellar")).to_be_visible()
    page.goto(f"{server.url}/#/facts")
    expect(page.locator(".card", has_text="The key of the cellar")).to_be_visible()
    assert page.locator("main *").count() < 1500


def test_the_graph_shows_a_very_long_text_and_a_scope_among_5000(
    page: Page, server: HttpServer
) -> None:
    page.goto(f"{server.url}/#/graph")
    # The view of before stays until this one is drawn.
    expect(page.locator(".view-graph")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Scope").click()
    page.get_by_label("Name of a scope").fill("4999")
    expect(page.locator(".chip-menu li")).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/graph?scope=topic-4999")


def test_a_file_of_20_megabytes_is_tried_and_brought_in(
    page: Page, server: HttpServer, home: Path, tmp_path: Path
) -> None:
    page.goto(f"{server.url}/#/keep?part=import")
    file = tmp_path / "ships.txt"
    file.write_text("".join(f"Ship {number} was seen off the cape.\n\n" for number in range(1000)))
    with file.open("a") as ships:
        ships.write("The harbour master wrote it all down. " * 550_000)
    assert file.stat().st_size > 20_000_000
    page.locator("#import-file").set_input_files(file)
    page.get_by_role("button", name="Bring in 2 memories").click()
    expect(page.get_by_text("Brought in 2 memories of ships.txt")).to_be_visible(timeout=60_000)
