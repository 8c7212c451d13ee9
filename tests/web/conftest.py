"""The page in a headless Chromium, on a server in a process of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.page.browser import launch
from benchmarks.page.life import fill
from infinite_memory import MemoryStore
from tests.mcp.http_server import HttpServer

OpenPage = Callable[..., Page]

# A machine that is busy for a moment is no fault of the page; what must be quick is measured.
expect.set_options(timeout=15_000)


# While it is open its loop counts as running, and a worker may go on with a module of async tests.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, launch(playwright.chromium) as browser:
        yield browser


@pytest.fixture(scope="session")
def life(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with an invented month, which no test changes."""
    home = tmp_path_factory.mktemp("life") / "home"
    home.mkdir()
    fill(home)
    return home


@pytest.fixture
def home(life: Path, tmp_path: Path) -> Path:
    """A home of its own for a test, with the invented month."""
    return Path(shutil.copytree(life, tmp_path / "home"))


@pytest.fixture
def server(home: Path) -> Iterator[HttpServer]:
    with HttpServer(home) as server:
        # The model is loaded once somebody asks.
        server.ask(b'{"query": "standup"}', "/api/search")
        yield server


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens windows, each of a browser of its own; none may write an error into its console."""
    contexts = []
    complaints: list[str] = []

    def open_one(url: str, **options: object) -> Page:
        context = browser.new_context(
            **{"timezone_id": "UTC", "viewport": {"width": 1280, "height": 900}, **options}
        )
        contexts.append(context)
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: _note(complaints, line.type, line.text))
        page.goto(url)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


def _note(complaints: list[str], kind: str, text: str) -> None:
    # The browser itself reports each answer that is an error, and each that does not come.
    if kind == "error" and not text.startswith("Failed to load resource"):
        complaints.append(text)


@pytest.fixture
def page(open_page: OpenPage, server: HttpServer) -> Page:
    return open_page(server.url)


@pytest.fixture
def store(home: Path) -> Iterator[MemoryStore]:
    """The same memory, in another process than the server."""
    with MemoryStore.open(home) as store:
        yield store
