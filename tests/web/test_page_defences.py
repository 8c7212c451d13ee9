"""Another site that frames the page or sends requests, no motion, and a very wide screen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from infinite_memory import MemoryStore
from tests.mcp.http_server import HttpServer
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.slow("page")

VIEWS = ("ask", "today", "facts", "settle", "activity", "graph", "insights", "keep")


class _Foreign(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Another site</title><body>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def foreign() -> Iterator[str]:
    """The address of another site, at another port of this machine."""
    with HTTPServer(("127.0.0.1", 0), _Foreign) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{site.server_port}/"
        site.shutdown()
        thread.join()


def test_another_site_can_neither_frame_the_page_nor_change_anything(
    browser: Browser, server: HttpServer, store: MemoryStore, foreign: str
) -> None:
    kept = store.search("guest wifi")[0].id
    before = store.journal.entries(limit=1)[0].number
    page = browser.new_page()
    page.goto(foreign)
    page.evaluate(
        """(url) => new Promise((resolve) => {
            const frame = document.createElement("iframe");
            frame.onload = resolve;
            frame.src = url;
            document.body.append(frame);
        })""",
        server.url,
    )
    frame = page.frames[-1]
    assert frame.locator("#main").count() == 0
    send = """async ([url, options]) => {
        try {
            const answer = await fetch(url, {method: "POST", ...options});
            return answer.type === "opaque" ? "opaque" : await answer.text();
        } catch { return "refused"; }
    }"""
    url = f"{server.url}/api/forget"
    body = f'{{"memory_id": "{kept}"}}'
    # With a preflight, which is refused, and in the two ways that need none.
    as_page = {"body": body, "headers": {"content-type": "application/json"}}
    assert page.evaluate(send, [url, as_page]) == "refused"
    for options in ({"body": body, "mode": "no-cors"}, {"body": body}):
        assert page.evaluate(send, [url, options]) in ("opaque", "refused")
    page.evaluate(
        """([url, body]) => {
            const form = Object.assign(document.createElement("form"),
                {action: url, method: "post", enctype: "text/plain"});
            form.append(Object.assign(document.createElement("input"), {name: body, value: ""}));
            document.body.append(form);
            form.submit();
        }""",
        [url, body],
    )
    page.wait_for_url(url)
    expect(page.locator("body")).to_contain_text("another site")
    page.close()
    assert store.get(kept).status == "current"
    assert store.journal.entries(limit=1)[0].number == before


def test_nothing_moves_for_who_wants_no_motion(open_page: OpenPage, server: HttpServer) -> None:
    page = open_page(server.url, reduced_motion="reduce")
    page.evaluate(
        """() => {
            window.moved = [];
            for (const name of ["transitionrun", "animationstart"]) {
                addEventListener(name, ({target}) => moved.push(target.className), true);
            }
        }"""
    )
    for view in VIEWS:
        page.evaluate("(view) => { location.hash = `#/${view}`; }", view)
        expect(page.locator(f".view-{view}")).to_be_visible(timeout=30_000)
    page.goto(f"{server.url}/#/settle")
    page.get_by_role("button", name="This holds").first.click()
    expect(page.locator(".toast").first).to_be_visible()
    assert page.evaluate("moved") == []


def test_every_view_fits_a_screen_of_3840_points(open_page: OpenPage, server: HttpServer) -> None:
    size = {"width": 3840, "height": 2160}
    page = open_page(server.url, viewport=size, color_scheme="dark")
    for view in VIEWS:
        page.goto(f"{server.url}/#/{view}")
        expect(page.locator(f".view-{view}")).to_be_visible(timeout=30_000)
        _check_width(page, view)


def _check_width(page: Page, view: str) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    # No line of words is longer than one can read.
    widths = """[...document.querySelectorAll('main .words, main .lead')]
        .map((each) => each.offsetWidth / parseFloat(getComputedStyle(each).fontSize))"""
    assert max(page.evaluate(widths), default=0) < 64, view
