"""The page below a prefix, as a proxy serves it: its files, its calls and its session."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.mcp.http_server import HttpServer
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.slow("page")


def test_the_page_asks_below_its_prefix(home: Path, open_page: OpenPage) -> None:
    with HttpServer(home, "--root-path", "/memory") as server:
        page = open_page(f"{server.url}/memory")
        assert page.url.startswith(f"{server.url}/memory/")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{server.url}/memory/#/ask?q=standup")
        expect(page.locator("main")).to_contain_text("standup", ignore_case=True)
    calls = [url for url in asked if "/api/" in url]
    assert calls
    assert all(url.startswith(f"{server.url}/memory/api/") for url in calls)
