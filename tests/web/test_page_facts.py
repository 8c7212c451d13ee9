"""Facts: what holds, by subject, and what one can do about it in its place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from infinite_memory import MemoryStore
from tests.mcp.http_server import HttpServer

pytestmark = pytest.mark.slow("page")
CELLO = "Lia learns the cello with Mr. Adeyemi on Tuesdays at 16:30"


@pytest.fixture
def facts(page: Page, server: HttpServer, store: MemoryStore) -> Page:
    store.profile.update({"name": "Ines", "facts": ["has a kiln"], "contacts": {"Tom": "partner"}})
    expect(page.locator(".view")).to_be_visible(timeout=30_000)
    page.goto(f"{server.url}/#/facts")
    expect(page.get_by_role("heading", name="Facts")).to_be_visible(timeout=30_000)
    return page


def part(page: Page, name: str) -> Locator:
    return page.locator("section.part", has=page.get_by_role("heading", name=name, exact=True))


def test_facts_stand_by_their_subject_and_what_is_over_does_not(
    facts: Page, store: MemoryStore
) -> None:
    family = part(facts, "Family")
    expect(family.get_by_text(CELLO)).to_be_visible()
    over = datetime.now(UTC) - timedelta(days=1)
    about = {"kind": "fact", "scope": "Home", "tags": ["family"]}
    store.remember("Lia learns the recorder", valid_to=over, **about)
    store.remember("Lia sings in a choir", **about)
    expect(family.get_by_text("Lia sings in a choir")).to_be_visible()
    expect(facts.get_by_text("recorder")).to_have_count(0)


def test_a_value_of_the_profile_is_edited_in_its_place_and_taken_back(
    facts: Page, store: MemoryStore
) -> None:
    expect(facts.get_by_text("Contacts, Tom")).to_be_visible()
    facts.get_by_role("button", name="Edit: Name").click()
    field = facts.get_by_label("Name", exact=True)
    expect(field).to_be_focused()
    field.fill("Ines Duarte")
    field.press("Enter")
    expect(facts.get_by_text("Ines Duarte")).to_be_visible()
    assert store.profile.get().fields["name"] == "Ines Duarte"
    facts.get_by_role("button", name="Undo").click()
    expect(facts.get_by_text("Ines Duarte")).to_have_count(0)
    facts.get_by_role("button", name="Edit: Facts").click()
    facts.get_by_label("Facts, one to a line").fill("has a kiln\n\nruns before work")
    facts.get_by_role("button", name="Store").click()
    expect(facts.get_by_text("has a kiln; runs before work")).to_be_visible()
    assert store.profile.get().fields["facts"] == ["has a kiln", "runs before work"]
    facts.get_by_role("button", name="Edit: Contacts, Tom").click()
    facts.get_by_role("button", name="Remove").click()
    expect(facts.get_by_text("Contacts, Tom", exact=True)).to_have_count(0)


def test_a_fact_is_ended_where_it_stands(facts: Page, store: MemoryStore) -> None:
    card = part(facts, "Family").locator(".card", has_text=CELLO)
    card.get_by_role("button", name="Change").click()
    card.get_by_role("button", name="No longer").click()
    card.get_by_role("button", name="End it").click()
    expect(facts.get_by_text(CELLO)).to_have_count(0)
    page = store.browse(scope="Home", kinds=["fact"], statuses=[], limit=100)
    (ended,) = (memory for memory in page.memories if memory.text == CELLO)
    assert ended.valid_to is not None
    assert ended.status == "current"
    facts.get_by_role("button", name="Undo").click()
    expect(facts.get_by_text(CELLO)).to_be_visible()


def test_a_form_is_not_taken_from_under_who_writes(facts: Page, store: MemoryStore) -> None:
    facts.get_by_role("button", name="Edit: Name").click()
    facts.get_by_label("Name", exact=True).fill("Ines D")
    store.remember("Something else happened meanwhile")
    expect(facts.get_by_text("Something was changed elsewhere")).to_be_visible()
    expect(facts.get_by_label("Name", exact=True)).to_have_value("Ines D")


def test_what_is_known_of_a_person_is_asked_for_by_name(facts: Page) -> None:
    facts.get_by_label("About whom or what").fill("Beatriz")
    facts.keyboard.press("Enter")
    expect(facts.get_by_role("heading", name="Beatriz", exact=True)).to_be_visible()
    expect(facts.get_by_text("Beatriz teaches the throwing course")).to_be_visible()
    facts.get_by_role("link", name="All subjects").click()
    expect(facts.get_by_role("heading", name="Facts")).to_be_visible()


def test_a_scope_and_a_tag_have_a_page_of_facts_and_of_all(facts: Page) -> None:
    facts.get_by_role("link", name="Studio 42").click()
    expect(facts.get_by_role("heading", name="Studio", exact=True)).to_be_visible()
    expect(facts.get_by_text("The stoneware of the studio")).to_be_visible()
    expect(facts.get_by_text("Tried ")).to_have_count(0)
    facts.get_by_role("button", name="All memories").click()
    expect(facts.get_by_text("Tried ").first).to_be_visible()
    facts.goto(f"{facts.url.partition('#')[0]}#/facts?tag=sleep")
    expect(facts.get_by_text("No facts here")).to_be_visible()
