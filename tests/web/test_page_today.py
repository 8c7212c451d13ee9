"""Today: what is due, done and put off, what comes, and what was told."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.mcp.http_server import HttpServer

pytestmark = pytest.mark.slow("page")


@pytest.fixture
def today(page: Page, server: HttpServer) -> Page:
    page.goto(f"{server.url}/#/today")
    expect(page.get_by_role("heading", name="Due")).to_be_visible()
    return page


def part(page: Page, name: str) -> object:
    return page.locator("section.part", has=page.get_by_role("heading", name=name, exact=True))


def test_what_is_due_is_done_with_one_click_and_open_again_with_another(today: Page) -> None:
    due = part(today, "Due")
    line = due.get_by_role("listitem").filter(has_text="Nordlicht")
    expect(line).to_contain_text("overdue")
    line.get_by_role("button", name="Done").click()
    expect(today.get_by_text("Nordlicht")).to_have_count(0)
    today.get_by_role("button", name="Undo").click()
    expect(today.get_by_text("Write to Nordlicht")).to_be_visible()


def test_what_is_due_comes_later(today: Page) -> None:
    line = part(today, "Due").get_by_role("listitem").filter(has_text="Nordlicht")
    line.get_by_role("button", name="Next week").click()
    expect(part(today, "Coming").get_by_text("Write to Nordlicht")).to_be_visible()


def test_what_was_told_since_yesterday_stands_by_its_client(today: Page) -> None:
    told = part(today, "Told since yesterday")
    expect(told.get_by_role("heading", name="Through Claude Code")).to_be_visible()
    expect(told.get_by_text("Paid the invoice of the plumber")).to_be_visible()


def test_projects_say_where_one_stopped(today: Page) -> None:
    tile = today.locator(".tile", has_text="tidebook")
    expect(tile).to_contain_text("Joss checks the wind rose")
