"""One memory: correct it, end it, forget it, take that back, and see how it came."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from infinite_memory import MemoryStore, NotFound
from tests.mcp.http_server import HttpServer

pytestmark = pytest.mark.slow("page")

Open = Callable[[str], str]


@pytest.fixture
def open_memory(page: Page, server: HttpServer, store: MemoryStore) -> Open:
    """Shows the memory that best fits words, and returns its id."""

    def open_one(words: str) -> str:
        found = store.search(words)[0].id
        page.goto(f"{server.url}/#/memory/{found}")
        expect(page.locator(".whole")).to_be_visible()
        return found

    return open_one


def test_an_edit_is_kept_shown_in_the_history_and_taken_back(
    page: Page, store: MemoryStore, open_memory: Open
) -> None:
    memory = open_memory("Beatriz teaches the throwing course")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text").fill("Beatriz teaches the throwing course on Wednesday evenings")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".whole")).to_contain_text("on Wednesday evenings")
    assert "Wednesday" in store.get(memory).text
    expect(page.locator(".steps del", has_text="Thursday")).to_be_visible()
    expect(page.locator(".steps ins", has_text="Wednesday")).to_be_visible()
    page.get_by_role("button", name="Undo", exact=True).first.click()
    expect(page.locator(".whole")).to_contain_text("on Thursday evenings")
    assert "Thursday" in store.get(memory).text


def test_what_is_wrong_is_corrected(page: Page, store: MemoryStore, open_memory: Open) -> None:
    memory = open_memory("guest wifi")
    page.get_by_role("button", name="Wrong").click()
    page.get_by_label("What is right?").fill("The guest wifi at home is called Harbour")
    page.get_by_role("button", name="Correct it").click()
    expect(page.locator(".whole")).to_have_text("The guest wifi at home is called Harbour")
    assert store.get(memory).revision == 2


def test_what_no_longer_holds_ends_and_what_holds_now_takes_its_place(
    page: Page, store: MemoryStore, open_memory: Open
) -> None:
    memory = open_memory("manager Helen Marsh")
    page.get_by_role("button", name="No longer").click()
    page.get_by_label("What holds now?").fill("Idris Vale is my manager")
    page.get_by_role("button", name="End it").click()
    expect(page.locator(".whole")).to_have_text("Idris Vale is my manager")
    assert store.get(memory).status == "superseded"
    assert "one before" in page.locator(".steps").inner_text()


def test_what_no_longer_holds_may_end_without_another(
    page: Page, store: MemoryStore, open_memory: Open
) -> None:
    memory = open_memory("household insurance Nordlicht contract")
    page.get_by_role("button", name="No longer").click()
    page.get_by_role("button", name="End it").click()
    expect(page.locator(".crumb")).to_contain_text("no longer, since Today")
    assert store.get(memory).valid_to is not None


def test_what_is_forgotten_comes_back(page: Page, store: MemoryStore, open_memory: Open) -> None:
    memory = open_memory("stoneware fires at 1,220 degrees")
    page.get_by_role("button", name="Forget", exact=True).click()
    expect(page.get_by_role("status").get_by_text("Forgotten")).to_be_visible()
    assert not any(hit.id == memory for hit in store.search("stoneware 1,220 degrees"))
    expect(page.locator(".crumb")).to_contain_text("forgotten")
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator(".crumb")).not_to_contain_text("forgotten")
    assert store.search("stoneware 1,220 degrees")[0].id == memory


def test_it_says_what_an_erasure_takes_along_before_it_does_it(
    page: Page, store: MemoryStore, open_memory: Open
) -> None:
    memory = open_memory("Lia lost her first tooth")
    page.get_by_role("button", name="Forget for good").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("its text, in 1 revision")
    dialog.get_by_role("button", name="Cancel").click()
    assert store.get(memory).text
    page.get_by_role("button", name="Forget for good").click()
    dialog.get_by_role("button", name="Erase it").click()
    expect(page.get_by_text("Erased for good")).to_be_visible()
    with pytest.raises(NotFound):
        store.journal.history(memory)


def test_one_walks_from_memory_to_memory(page: Page, open_memory: Open) -> None:
    open_memory("shoes of size 31")
    before = page.url
    page.locator(".neighbours a text").first.click()
    expect(page).not_to_have_url(before)
    expect(page.locator(".whole")).to_be_visible()
    page.go_back()
    expect(page.locator(".whole")).to_contain_text("size 31")
