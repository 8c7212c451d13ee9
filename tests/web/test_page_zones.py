"""A viewer whose clock is in another zone than that of the server."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from infinite_memory import MemoryStore
from tests.mcp.http_server import HttpServer
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.slow("page")

ZONES = ("Pacific/Auckland", "America/St_Johns", "Pacific/Pago_Pago")
DAY = timedelta(days=1)


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def today(zone: str) -> date:
    return datetime.now(ZoneInfo(zone)).date()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "infinite_memory_config.json").write_text('{"time_zone": "UTC"}')
    return home


@pytest.fixture
def page(open_page: OpenPage, server: HttpServer, zone: str) -> Page:
    return open_page(server.url, timezone_id=zone)


def begin(day: date) -> datetime:
    """The beginning of a day where the server is."""
    return datetime.combine(day, time(), UTC)


def test_what_is_due_is_due_on_the_day_of_the_viewer(
    page: Page, server: HttpServer, store: MemoryStore, zone: str, today: date
) -> None:
    for text, day in {
        "Water the fern": today - DAY,
        "Pay the rent": today,
        "Return the books": today + DAY,
    }.items():
        store.remember(text, kind="reminder", valid_from=begin(day))
    late = datetime.combine(today, time(23, 45), ZoneInfo(zone))
    store.remember("Switch off the pump", kind="reminder", valid_from=late)
    page.goto(f"{server.url}/#/today")
    due, coming = (
        page.locator("section", has=page.get_by_role("heading", name=name))
        for name in ("Due", "Coming")
    )
    expect(due.locator("li.overdue")).to_contain_text("Yesterday")
    expect(due.locator("li.overdue")).to_contain_text("Water the fern")
    expect(due.locator("li", has_text="Pay the rent")).to_contain_text("Today")
    expect(due.locator("li", has_text="Switch off the pump")).to_contain_text("Today23:45")
    expect(coming.locator("li", has_text="Return the books")).to_contain_text("Tomorrow")
    due.locator("li", has_text="Pay the rent").get_by_role("button", name="Tomorrow").click()
    expect(page.get_by_text("It comes again: Tomorrow.")).to_be_visible()
    expect(coming.locator("li", has_text="Pay the rent")).to_contain_text("Tomorrow")
    (rent,) = (each for each in store.triggers.coming().days if each.memory.text == "Pay the rent")
    assert (rent.at, rent.is_timed) == (begin(today + DAY), False)
    due.locator("li", has_text="Switch off").get_by_role("button", name="Tomorrow").click()
    expect(page.get_by_text("It comes again: Tomorrow, 23:45.")).to_be_visible()
    (pump,) = (each for each in store.triggers.coming().days if "pump" in each.memory.text)
    assert pump.at == late + DAY


def test_yesterday_and_the_state_of_a_day_are_those_of_the_viewer(
    page: Page, server: HttpServer, store: MemoryStore, zone: str, today: date
) -> None:
    def at(days: int, hours: int) -> datetime:
        return datetime.combine(today + days * DAY, time(hours, 30), ZoneInfo(zone))

    store.remember("Told late on the day before yesterday", happened_at=at(-2, 23))
    store.remember("Told early yesterday", happened_at=at(-1, 0))
    store.remember("Told late yesterday", happened_at=at(-1, 23))
    one = store.remember("The door code is 1111", kind="fact", key="door", happened_at=at(-9, 9))
    store.remember(
        "The door code is 2222",
        kind="fact",
        key="door",
        happened_at=at(-4, 23),
        valid_from=at(-4, 23),
        supersedes=[one.id],
    )
    page.goto(f"{server.url}/#/ask?when=yesterday")
    expect(page.locator(".card")).to_have_count(2)
    expect(page.locator(".card", has_text="Told early yesterday")).to_contain_text(
        "Yesterday, 00:30"
    )
    expect(page.locator(".card", has_text="Told late yesterday")).to_contain_text(
        "Yesterday, 23:30"
    )
    for days, code in ((-5, "1111"), (-4, "2222"), (0, "2222")):
        day = (today + days * DAY).isoformat()
        page.goto(f"{server.url}/#/ask?q=door+code&as_of={day}")
        expect(page.locator(".card").first).to_contain_text(code)
        if days == 0:
            expect(page.locator(".chip", has_text="As it was on: Today")).to_be_visible()


def test_a_day_without_a_time_is_no_other_day(open_page: OpenPage, server: HttpServer) -> None:
    page = open_page(server.url, timezone_id="America/St_Johns")
    say = """() => import("/static/js/format.js").then(({ sayDay }) => sayDay("2020-03-05"))"""
    assert page.evaluate(say) == "5 Mar 2020"
