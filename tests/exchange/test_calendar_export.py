"""What comes, written as a calendar that other programs read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import Config, Conflict, InvalidInput, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from tests.stopped_clock import StoppedClock

NOW = datetime(2026, 11, 25, 10, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    config = Config(home=tmp_path / "home", time_zone="Europe/Berlin")
    return MemoryStore.open(
        "memory://", config=config, embedder=HashingEmbedder(), clock=StoppedClock(NOW)
    )


def test_reminders_and_dated_facts_are_events(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("Pay the rent; then, call Ella", kind="reminder", id="rent", valid_from=NOW)
    store.remember("The launch is on November 27, 10:00", kind="fact", id="launch")
    store.remember("The party is on December 5", id="party", scope="home")
    store.remember("Buy milk", kind="reminder", id="milk")
    store.remember("Old", kind="reminder", id="done", valid_from=NOW - DAY)
    store.triggers.done("done")
    path = tmp_path / "calendar.ics"
    assert store.exchange.export(path).memories == 3
    lines = path.read_bytes().decode().split("\r\n")
    assert lines[:3] == ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Infinite Memory//EN"]
    assert lines[-2:] == ["END:VCALENDAR", ""]
    assert [line for line in lines if line.startswith(("UID", "DTSTART"))] == [
        "UID:rent@infinite-memory",
        "DTSTART:20261125T100000Z",
        "UID:launch@infinite-memory",
        "DTSTART:20261127T090000Z",
        "UID:party@infinite-memory",
        "DTSTART;VALUE=DATE:20261205",
    ]
    assert "SUMMARY:Pay the rent\\; then\\, call Ella" in lines
    with pytest.raises(Conflict):
        store.exchange.export(path)
    store.exchange.export(path, force=True, scope="Global")
    assert "party" not in path.read_text("utf-8")


def test_a_long_line_is_folded_between_characters(store: MemoryStore, tmp_path: Path) -> None:
    text = "Grüße an Jürgen, Željko und 王芳 senden " * 10
    store.remember(text, kind="reminder", id="r", valid_from=NOW)
    store.exchange.export(tmp_path / "c.ics")
    content = (tmp_path / "c.ics").read_bytes()
    assert max(map(len, content.split(b"\r\n"))) <= 75
    unfolded = content.decode().replace("\r\n ", "")
    assert text.strip().replace(",", "\\,") in unfolded


def test_a_calendar_has_no_other_condition_than_scopes(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'tags'"):
        store.exchange.export(tmp_path / "c.ics", tags=["x"])
    assert not (tmp_path / "c.ics").exists()
