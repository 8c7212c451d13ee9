"""Activity: what each program did, with undo of an entry and of a session."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from infinite_memory import MemoryStore
from infinite_memory.core.config import CONFIG_FILE
from tests.mcp.http_server import HttpServer

pytestmark = pytest.mark.slow("page")


@pytest.fixture
def activity(page: Page, server: HttpServer) -> Page:
    expect(page.locator(".view")).to_be_visible(timeout=30_000)
    page.goto(f"{server.url}/#/activity")
    expect(page.locator(".entry").first).to_be_visible(timeout=30_000)
    return page


def test_what_a_program_stored_is_found_by_its_name_and_undone(
    activity: Page, store: MemoryStore
) -> None:
    codex = store.confine(scopes="*", client="codex-mcp-client")
    stored = codex.remember("The bakery closes on Mondays").id
    activity.get_by_role("button", name="Codex", exact=True).click()
    entry = activity.locator(".entry", has_text="The bakery closes on Mondays")
    expect(entry).to_contain_text("Codex stored")
    expect(activity.locator(".entry", has_text="Claude stored")).to_have_count(0)
    entry.get_by_role("button", name="Undo").click()
    expect(entry.get_by_text("taken back")).to_be_visible()
    assert store.get(stored).status == "forgotten"
    activity.get_by_role("button", name="Do it again").click()
    expect(activity.get_by_text("Done again.")).to_be_visible()
    assert store.get(stored).status == "current"


def test_a_change_of_several_says_first_what_its_undo_does(
    activity: Page, store: MemoryStore
) -> None:
    drafts = [{"text": f"Shelf {number} is full"} for number in range(15)]
    receipts = store.remember_many(drafts)
    entry = activity.locator(".entry", has_text="stored 15 memories")
    entry.get_by_text("Which").click()
    expect(entry.get_by_role("listitem")).to_have_count(13)
    expect(entry.get_by_text("and 3 more")).to_be_visible()
    entry.get_by_role("button", name="Undo").click()
    dialog = activity.get_by_role("dialog")
    expect(dialog.get_by_text("15 memories will be forgotten")).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    assert store.get(receipts[0].id).status == "current"
    entry.get_by_role("button", name="Undo").click()
    dialog.get_by_role("button", name="Take it back").click()
    expect(activity.get_by_text("Taken back.")).to_be_visible()
    assert {store.get(receipt.id).status for receipt in receipts} == {"forgotten"}


def test_a_session_is_taken_back_as_a_whole_and_brought_back(
    activity: Page, store: MemoryStore, server: HttpServer
) -> None:
    told = [{"role": "user", "content": "We meet at the old bridge"}]
    told.append({"role": "assistant", "content": "Noted."})
    store.conversations.log(told, "walk")
    activity.get_by_role("button", name="Sessions", exact=True).click()
    activity.get_by_role("button", name="Take back the session").click()
    dialog = activity.get_by_role("dialog")
    expect(dialog.get_by_text("2 messages will be forgotten")).to_be_visible()
    dialog.get_by_role("button", name="Take it back").click()
    expect(activity.get_by_text("Forgot what the session left: 2 memories.")).to_be_visible()
    assert not store.conversations.list()
    activity.get_by_role("button", name="Undo").click()
    expect(activity.get_by_role("button", name="Take back the session")).to_be_visible()


def test_reads_are_listed_where_they_are_recorded(
    open_page: Callable[..., Page], home: Any
) -> None:
    (home / CONFIG_FILE).write_text(json.dumps({"audit": {"reads": True}}), "utf-8")
    with HttpServer(home) as server:
        page = open_page(f"{server.url}/#/ask?q=guest+wifi")
        expect(page.locator(".card").first).to_contain_text("Lighthouse", timeout=30_000)
        page.goto(f"{server.url}/#/activity?show=shown")
        expect(page.get_by_text("was shown by a search").first).to_be_visible(timeout=30_000)
        expect(page.get_by_text("Nothing was shown unasked")).to_be_visible()


def test_a_long_journal_is_read_as_one_scrolls_and_stays_where_one_reads(
    activity: Page, store: MemoryStore
) -> None:
    for number in range(80):
        store.remember(f"Ticket {number}", similar=False)
    expect(activity.get_by_text("Ticket 79")).to_be_visible()
    for _ in range(30):
        activity.mouse.wheel(0, 1500)
        activity.wait_for_timeout(100)
        if activity.get_by_text("Ticket 5", exact=True).count():
            break
    expect(activity.get_by_text("Ticket 5", exact=True)).to_be_visible()
    assert activity.get_by_text("Ticket 79").count() == 0, "far rows are let go"
    place = activity.evaluate("scrollY")
    store.remember("One more ticket")
    activity.wait_for_timeout(2500)
    assert abs(activity.evaluate("scrollY") - place) < 200
