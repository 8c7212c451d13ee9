"""Insights and the graph: the numbers of the work, and the picture that one can walk."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from infinite_memory import MemoryStore
from tests.mcp.http_server import HttpServer

pytestmark = pytest.mark.slow("page")
VIEWS = (
    *("facts", "facts?subject=Beatriz", "settle", "insights", "graph"),
    *("activity", "activity?show=shown", "activity?show=sessions"),
    *("keep?part=backups", "keep?part=import", "keep?part=upkeep", "keep?part=scopes"),
)
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def test_the_numbers_of_the_work_are_those_of_the_store(
    page: Page, server: HttpServer, store: MemoryStore
) -> None:
    insights = store.projects.insights()
    expect(page.locator(".view")).to_be_visible(timeout=30_000)
    page.goto(f"{server.url}/#/insights")
    tiles = page.locator(".tiles div")
    pieces = tiles.filter(has_text="pieces of work")
    expect(pieces).to_contain_text(str(insights.chunks), timeout=30_000)
    page.get_by_text("The numbers").click()
    table = page.get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(1 + len(insights.periods))
    page.get_by_role("button", name="Last week").click()
    week = store.projects.insights(timeframe="last week")
    expect(page.get_by_role("heading", name="Insights")).to_be_visible()
    if week.chunks:
        expect(pieces).to_contain_text(str(week.chunks))
    page.get_by_label("Project").select_option(index=1)
    expect(page.get_by_label("Project")).not_to_have_value("")


def test_the_graph_is_walked_from_mark_to_mark_and_has_a_list(
    page: Page, server: HttpServer, store: MemoryStore
) -> None:
    texts = ("Shelf nine leans a little", "Celadon runs on shelf nine")
    shelf, glaze = (store.remember(text, scope="Studio", similar=False).id for text in texts)
    store.graph.link(shelf, glaze, type="intent", weight=0.9, reason="why it runs")
    expect(page.locator(".view")).to_be_visible(timeout=30_000)
    page.goto(f"{server.url}/#/graph?id={shelf}")
    picture = page.locator("svg.graph")
    expect(picture).to_be_visible(timeout=30_000)
    expect(page.get_by_role("heading", name="In the middle")).to_be_visible()
    expect(page.get_by_text("why it runs").last).to_be_visible()
    picture.get_by_role("link", name="Celadon runs on shelf nine").press("Enter")
    expect(page).to_have_url(f"{server.url}/#/graph?id={glaze}")
    label = "Celadon runs on shelf nine, 1 neighbour"
    expect(picture.locator("a.middle")).to_have_attribute("aria-label", label)
    page.get_by_role("link", name="The whole").click()
    expect(page.get_by_text("that belong together")).to_be_visible()
    marks = picture.get_by_role("link").count()
    assert 2 <= marks <= 140
    before = picture.get_attribute("viewBox")
    page.get_by_role("button", name="Nearer").click()
    assert picture.get_attribute("viewBox") != before
    page.get_by_role("button", name="Scope").click()
    page.get_by_label("Name of a scope").fill("Studio")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.url}/#/graph?scope=Studio")


def test_hostile_texts_are_texts_in_the_picture_and_in_every_list(
    page: Page, server: HttpServer, store: MemoryStore
) -> None:
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    fields = {"kind": "fact", "tags": [hostile[:60]], "similar": False}
    key, other = (store.remember(f"{hostile} {number}", **fields).id for number in range(2))
    store.graph.link(key, other, reason=hostile[:100])
    for view in ("facts", "settle", "activity", f"graph?id={key}", "keep?part=scopes"):
        page.goto(f"{server.url}/#/{view}")
        expect(page.locator(f".view-{view.partition('?')[0]} h1")).to_be_visible(timeout=30_000)
        page.wait_for_timeout(500)
        assert page.locator("main img, main script").count() == 0, view


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_axe_finds_nothing_in_any_view_and_nothing_is_wider_than_the_window(
    open_page: Callable[..., Page], server: HttpServer, store: MemoryStore, width: int, scheme: str
) -> None:
    store.profile.update({"name": "Ines", "contacts": {"Tom": "partner"}})
    store.conversations.log([{"role": "user", "content": "We meet at the old bridge"}], "walk")
    page = open_page(server.url, color_scheme=scheme, viewport={"width": width, "height": 800})
    for view in VIEWS:
        page.goto(f"{server.url}/#/{view}")
        # The view of before stays until this one is drawn.
        shown = page.locator(f".view[data-address='#/{view}'] h1")
        expect(shown).to_be_visible(timeout=30_000)
        waiting = page.locator(".view > .waiting, .view > div > .waiting")
        expect(waiting).to_have_count(0, timeout=30_000)
        page.wait_for_timeout(300)
        found = Axe().run(page, options={"runOnly": {"type": "tag", "values": TAGS}}).response
        violations = [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]]
        assert violations == [], view
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
