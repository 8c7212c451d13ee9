"""One rule for every time that a caller gives: a datetime, a date, ISO 8601, or words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infinite_memory import AsyncMemoryStore, Config, InvalidInput, MemoryStore
from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.testing.embedders import HashingEmbedder
from tests.stopped_clock import StoppedClock

# A Wednesday. In Kathmandu it is 17:45.
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
ZONE = "Asia/Kathmandu"
MIDNIGHT = datetime(2026, 11, 23, 18, 15, tzinfo=UTC)
"""The beginning of November 24 in Kathmandu."""


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    config = Config(time_zone=ZONE)
    parts: Any = {"clock": StoppedClock(NOW), "embedder": HashingEmbedder()}
    with MemoryStore.open("memory://", config=config, **parts) as opened:
        yield opened


SAME = ("yesterday", "2026-11-24", date(2026, 11, 24), "gestern", "昨天", " Tuesday ")
"""Six ways to say the same day."""


@pytest.mark.parametrize("day", SAME)
def test_a_day_means_the_same_however_it_is_said(store: MemoryStore, day: date | str) -> None:
    # A day in words is noon of it, as the moment of an event; a date is its beginning.
    is_date = isinstance(day, date) or day[0].isdigit()
    happened = MIDNIGHT if is_date else MIDNIGHT + timedelta(hours=12)
    end = MIDNIGHT + timedelta(days=1)
    store.remember("The pump was replaced", id="pump", happened_at=day, valid_from=day)
    pump = store.get("pump")
    assert (pump.happened_at, pump.valid_from) == (happened, MIDNIGHT)
    assert [m.id for m in store.browse(since=day).memories] == ["pump"]
    assert not store.browse(until=day).memories
    found = store.search("pump", as_of=day)
    assert found.as_of == end - timedelta(microseconds=1)
    assert store.revise("pump", revision=1, valid_from=None, valid_to=day).revision == 2
    # What holds until Tuesday holds until the next one.
    next_week = timedelta(days=7 if day == " Tuesday " else 0)
    assert store.get("pump").valid_to == MIDNIGHT + next_week
    assert store.bulk.preview_forget(since=day).count == 1


@pytest.mark.parametrize("end", ["2026-12-31", date(2026, 12, 31)])
def test_a_key_is_good_for_the_whole_of_its_last_day(store: MemoryStore, end: date | str) -> None:
    created = store.keys.create("anna", expires_at=end, scopes="*")
    assert created.key.expires_at == datetime(2026, 12, 31, 18, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "moment"),
    [("tomorrow at noon", "2026-11-26T12:00"), ("in two days", "2026-11-28T00:00")],
)
def test_a_key_expires_at_a_time_of_day_and_at_the_end_of_a_day(
    store: MemoryStore, words: str, moment: str
) -> None:
    assert store.times.read(words, "expires_at") == store.times.read(moment, "expires_at")


def test_a_conversation_is_searched_until_the_end_of_a_day(store: MemoryStore) -> None:
    reminder: Any = {"kind": "reminder", "title": "tea", "conversation_id": "c"}
    store.remember("Alice drinks tea", happened_at="today at 9:00", **reminder)
    hits = store.conversations.search("c", query="tea", date_from="yesterday", date_to="today")
    assert [hit.memory.title for hit in hits] == ["tea"]
    assert not store.conversations.search("c", query="tea", date_to=date(2026, 11, 24))


def test_now_is_this_moment_for_every_argument(store: MemoryStore) -> None:
    arguments = ("happened_at", "valid_from", "valid_to", "since", "until", "as_of", "date_to")
    assert {store.times.read("right  Now", name) for name in arguments} == {NOW}
    store.remember("The fair is open", id="fair")
    assert store.revise("fair", revision=1, valid_to="now").revision == 2
    assert store.get("fair").valid_to == NOW


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("the end of the year", "2027-01-01"),
        ("Christmas", "2026-12-25"),
        ("5 December", "2026-12-05"),
        ("Friday", "2026-11-27"),
        ("end of June", "2027-06-21"),
        ("last Friday", "2026-11-20"),
        ("this week", "2026-11-30"),
        ("December 2025", "2025-12-01"),
    ],
)
def test_what_holds_until_a_day_in_words_holds_until_the_next_such_day(
    store: MemoryStore, words: str, day: str
) -> None:
    store.remember("The office is closed", id="closed", valid_to=words)
    assert store.get("closed").valid_to == store.times.read(day, "valid_from")


def test_the_same_words_a_moment_later_are_the_same_memory() -> None:
    clock = StoppedClock(datetime(2026, 11, 25, 8, tzinfo=UTC))
    parts: Any = {"clock": clock, "embedder": HashingEmbedder()}
    with MemoryStore.open("memory://", config=Config(time_zone="UTC"), **parts) as store:
        for outcome in ("stored", "unchanged"):
            done = store.remember("The pump was replaced", id="pump", happened_at="today")
            assert done.outcome == outcome
            clock.now += timedelta(seconds=1)
        assert store.get("pump").happened_at == datetime(2026, 11, 25, tzinfo=UTC)


def test_an_argument_that_no_method_has_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="'expires'; the nearest is 'expires_at'"):
        store.times.read("tomorrow", "expires")


@pytest.mark.parametrize("name", ["happened_at", "valid_from", "valid_to", "as_of", "expires_at"])
def test_vague_words_are_for_the_bounds_of_a_search_alone(store: MemoryStore, name: str) -> None:
    assert store.times.read("recently", "since") < NOW
    if name != "as_of":  # it asks for a moment of the past, which may be as vague as the question
        with pytest.raises(InvalidInput, match="recently"):
            store.times.read("recently", name)


def test_a_moment_keeps_its_own_zone(store: MemoryStore) -> None:
    for given in ("2026-11-24T09:00+01:00", datetime.fromisoformat("2026-11-24T09:00+01:00")):
        assert store.times.read(given, "happened_at") == datetime(2026, 11, 24, 8, tzinfo=UTC)
    assert store.times.read("2026-11-24T09:00", "since") == datetime(
        2026, 11, 24, 3, 15, tzinfo=UTC
    )


Call = Callable[[MemoryStore, Any], object]
ARGUMENTS: dict[str, Call] = {
    "remember happened_at": lambda store, time: store.remember("x", happened_at=time),
    "remember valid_from": lambda store, time: store.remember("x", valid_from=time),
    "remember valid_to": lambda store, time: store.remember("x", valid_to=time),
    "remember_many": lambda store, time: store.remember_many([{"text": "x", "happened_at": time}]),
    "revise": lambda store, time: store.revise("pump", revision=1, valid_to=time),
    "search since": lambda store, time: store.search("x", since=time),
    "search until": lambda store, time: store.search("x", until=time),
    "search as_of": lambda store, time: store.search("x", as_of=time),
    "browse": lambda store, time: store.browse(since=time),
    "recall_by_time": lambda store, time: store.recall_by_time(until=time),
    "bulk": lambda store, time: store.bulk.preview_forget(until=time),
    "keys": lambda store, time: store.keys.create("anna", expires_at=time, scopes="*"),
    "projects": lambda store, time: store.projects.store_lesson(
        "x", "y", repository="github.com/octo/apollo", happened_at=time
    ),
    "conversations": lambda store, time: store.conversations.search("c", date_from=time),
    "times": lambda store, time: store.times.read(time, "since"),
}


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_what_is_no_time_is_refused_in_the_same_words_everywhere(
    store: MemoryStore, argument: str
) -> None:
    store.remember("The pump was replaced", id="pump")
    before = store.stats().memories
    for value, refusal in (
        (
            "a cup of tea",
            r"the time 'a cup of tea' cannot be read .*: write one such as \"last week\"",
        ),
        (5, r"must be a datetime, a date, or a text such as \"2026-06-05T14:30\".* not 5"),
        (datetime(2026, 11, 24), "2026-11-24T00:00:00 has no time zone"),  # noqa: DTZ001
    ):
        with pytest.raises(InvalidInput, match=refusal):
            ARGUMENTS[argument](store, value)
    assert store.stats().memories == before


def test_awaited_calls_read_times_alike() -> None:
    async def remember() -> datetime:
        parts: Any = {"clock": StoppedClock(NOW), "config": Config(time_zone=ZONE)}
        async with AsyncMemoryStore.open("memory://", **parts) as memory:
            await memory.remember("x", id="x", happened_at="yesterday")
            return (await memory.get("x")).happened_at

    assert asyncio.run(remember()) == MIDNIGHT + timedelta(hours=12)


def test_the_command_line_reads_times_alike(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(infinite_memory, ["--home", str(tmp_path), *arguments])
        return result.stdout or result.stderr

    run("remember", "x", "--id", "x", "--happened-at", "2020-03-05")
    assert "the time 'a cup of tea' cannot be read" in run("search", "x", "--since", "a cup of tea")
    listed = run("list", "--since", "March 2020", "--until", "April 2020", "--json")
    assert [memory["id"] for memory in json.loads(listed)["memories"]] == ["x"]
    runner = CliRunner()
    chosen = ["forget", "--since", "March 2020", "--before", "April 2020"]
    said = runner.invoke(infinite_memory, ["--home", str(tmp_path), *chosen]).stderr
    assert "1 memory" in said
    assert "'April 2020' was read as 2020-04-01 00:00" in said
