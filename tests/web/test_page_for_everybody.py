"""Keyboard alone, a screen reader, a phone, the dark, no script, and hostile texts."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from benchmarks.page.browser import launch
from infinite_memory import MemoryStore
from tests.harness.hostile import TEXTS
from tests.mcp.http_server import HttpServer
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.slow("page")

VIEWS = ("ask", "ask?q=when+is+the+standup", "ask?q=capital+of+Peru", "today")


def list_findings(page: Page) -> list[Any]:
    """What axe finds, with the first element of each."""
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": tags}}).response
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]]


def settle(page: Page) -> None:
    """Wait until the view has been drawn and nothing moves."""
    page.wait_for_timeout(100)
    expect(page.locator("main[aria-busy]")).to_have_count(0)
    expect(page.locator(".view")).to_be_visible()
    expect(page.locator(".answers > .waiting")).to_have_count(0)
    page.wait_for_timeout(300)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing(
    open_page: OpenPage, server: HttpServer, store: MemoryStore, scheme: str, width: int
) -> None:
    memory = store.search("shoes of Lia")[0].id
    page = open_page(server.url, color_scheme=scheme, viewport={"width": width, "height": 800})
    for view in (*VIEWS, f"memory/{memory}"):
        page.goto(f"{server.url}/#/{view}")
        settle(page)
        assert list_findings(page) == [], view
        # Nothing is wider than the window.
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    page.get_by_role("button", name="No longer").click()
    assert list_findings(page) == []
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Forget for good").click()
    assert list_findings(page) == []


def test_a_fact_is_found_corrected_and_taken_back_by_the_keyboard_alone(
    page: Page, store: MemoryStore
) -> None:
    expect(page.locator(".card").first).to_be_visible()
    keys = page.keyboard
    keys.press("Escape")
    keys.press("g")
    keys.press("t")
    expect(page.get_by_role("heading", name="Due")).to_be_visible()
    keys.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    keys.type("guest wifi")
    expect(page.locator(".card").first).to_contain_text("Lighthouse")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(page.locator(".whole")).to_contain_text("Lighthouse")
    for _ in range(40):
        keys.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Edit":
            break
    keys.press("Enter")
    expect(page.get_by_label("Text")).to_be_focused()
    keys.press("Control+a")
    keys.type("The guest wifi is called Harbour")
    keys.press("Control+Enter")
    expect(page.locator(".whole")).to_have_text("The guest wifi is called Harbour")
    undo = page.get_by_role("button", name="Undo", exact=True)
    for _ in range(80):
        keys.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Undo" and (
            page.evaluate("!!document.activeElement.closest('.toast')")
        ):
            break
    expect(undo).to_be_focused()
    keys.press("Enter")
    expect(page.locator(".whole")).to_contain_text("Lighthouse")


def test_the_keys_are_shown_and_hidden(page: Page) -> None:
    expect(page.locator(".card").first).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("walk through a list")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_on_a_phone_every_view_is_two_touches_away(open_page: OpenPage, server: HttpServer) -> None:
    page = open_page(
        server.url, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    page.get_by_role("link", name="Today").tap()
    expect(page.get_by_role("heading", name="Due")).to_be_visible()
    expect(page.get_by_role("link", name="Keep")).to_be_hidden()
    page.get_by_role("button", name="More").tap()
    page.get_by_role("link", name="Keep").tap()
    page.wait_for_url("**/#/keep")


HOSTILE = (
    *(text for text in TEXTS if text.strip() and len(text) < 20_000),
    '<img src=x onerror="document.body.dataset.hurt=1">',
    "<script>document.body.dataset.hurt=1</script>",
    "</p><h1 class=hurt>Not by the page</h1><svg onload=alert(1)>",
    '"><iframe srcdoc="<script>parent.document.body.dataset.hurt=1</script>">',
    "[a link](javascript:alert(1)) https://example.org/track.png",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)}",
)


def test_hostile_texts_in_every_field_make_no_element_and_no_script(
    open_page: OpenPage, server: HttpServer, store: MemoryStore
) -> None:
    kept = []
    for number, text in enumerate(HOSTILE):
        fields = {"title": text[:200], "tags": [text[:60]], "speaker": text[:100]}
        context = {"topic": text[:200]}
        for given in ({**fields, "context": context}, {"title": fields["title"]}, {}):
            try:
                receipt = store.remember(text, id=f"hostile-{number}", key=f"k{number}", **given)
            except ValueError:
                continue
            kept.append(receipt.id)
            break
    assert len(kept) >= len(HOSTILE) - 10
    page = open_page(server.url)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{server.url}/#/today")
    settle(page)
    for identifier in kept:
        page.goto(f"{server.url}/#/memory/{identifier}")
        expect(page.locator(".whole")).to_be_visible()
        assert page.locator("main").locator("script, iframe, img, object, h1.hurt").count() == 0
    page.goto(f"{server.url}/#/ask")
    for text in HOSTILE[-20:]:
        page.get_by_role("searchbox").fill(text[:500])
        settle(page)
        assert page.locator("main").locator("script, iframe, img, object, h1.hurt").count() == 0
    assert page.evaluate("document.body.dataset.hurt") is None
    assert all(url.startswith(server.url) for url in requests)


def test_without_scripts_a_sentence_says_so(browser: Browser, server: HttpServer) -> None:
    # A context that switches scripts off parses the page as if they were on.
    flags = ["--no-sandbox", "--blink-settings=scriptEnabled=false"]
    with launch(browser.browser_type, flags) as without:
        page = without.new_page()
        page.goto(server.url)
        tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
        texts = [node.get("name", {}).get("value", "") for node in tree["nodes"]]
        assert any("works with JavaScript, which is switched off" in text for text in texts)
