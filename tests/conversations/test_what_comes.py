"""What comes: one list of reminders and of the days that texts name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import Config, InvalidInput, MemoryStore, UnknownScope
from infinite_memory.features.overviews.values import BriefingPart
from infinite_memory.features.reminders.states import When
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import count_calls
from tests.stopped_clock import StoppedClock

# A Thursday, and 23:30 of the day before in New York.
NOW = datetime(2026, 11, 5, 4, 30, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(NOW)


@pytest.fixture
def store(tmp_path: Path, clock: StoppedClock) -> Iterator[MemoryStore]:
    config = Config(home=tmp_path, time_zone="UTC")
    with MemoryStore.open(
        "memory://", config=config, embedder=HashingEmbedder(), clock=clock
    ) as opened:
        yield opened


def seen(store: MemoryStore, **arguments: object) -> list[tuple[str, str, str]]:
    coming = store.triggers.coming(**arguments)  # type: ignore[arg-type]
    return [(day.when, f"{day.at:%m-%d}", day.memory.id) for day in coming.days]


def test_an_empty_store_has_nothing_to_come(store: MemoryStore) -> None:
    assert store.triggers.coming().days == ()


@pytest.mark.parametrize(
    "texts",
    [
        {
            "dentist": "The dentist of Ella is on November 10 at 15:30",
            "swim": "Swimming class of Ella moved from Tuesday to Thursday at 17:00",
            "far": "The surgery is set for December 3",
            "plain": "The wifi password is in the blue book",
        },
        {
            "dentist": "Der Zahnarzt von Ella ist am 10. November um 15:30 Uhr",
            "swim": "Der Schwimmkurs ist jetzt jeden Donnerstag",
            "far": "Die Operation ist am 3. Dezember",
            "plain": "Das Passwort steht im blauen Heft",
        },
    ],
)
def test_reminders_and_the_days_in_texts_are_one_list(
    store: MemoryStore, texts: dict[str, str]
) -> None:
    for name, text in texts.items():
        store.remember(text, id=name)
    for name, days in (("late", -2), ("soon", 3)):
        store.remember(name, kind="reminder", id=name, valid_from=NOW + days * DAY)
    assert seen(store) == [
        (When.OVERDUE, "11-03", "late"),
        (When.TODAY, "11-05", "swim"),
        (When.AHEAD, "11-08", "soon"),
        (When.AHEAD, "11-10", "dentist"),
    ]
    assert seen(store, within=30 * DAY)[-1] == (When.AHEAD, "12-03", "far")


@pytest.mark.parametrize(
    ("reminder", "done"),
    [
        ("Pay the invoice of the plumber", "Paid the plumber's invoice"),
        ("Die Rechnung vom Klempner zahlen", "Die Rechnung vom Klempner ist gezahlt"),
    ],
)
def test_a_reminder_that_a_later_memory_ends_is_asked_about_and_never_due(
    store: MemoryStore, clock: StoppedClock, reminder: str, done: str
) -> None:
    store.remember(reminder, kind="reminder", id="r", valid_from=NOW + DAY)
    assert seen(store) == [(When.AHEAD, "11-06", "r")]
    clock.now += DAY / 2
    store.remember(done, id="d")
    (day,) = store.triggers.coming().days
    assert (day.when, day.memory.id, day.told_by and day.told_by.id) == (When.DONE, "r", "d")
    briefing = store.briefing()
    parts = {section.part: [item.id for item in section.items] for section in briefing.sections}
    assert parts[BriefingPart.DONE] == ["d"]
    assert BriefingPart.DUE not in parts
    assert reminder not in briefing.text


def test_a_day_that_was_moved_or_told_again_is_there_once_as_told_last(
    store: MemoryStore, clock: StoppedClock
) -> None:
    store.remember("The launch of Apollo is planned for November 8", id="first", kind="fact")
    clock.now += timedelta(hours=2)
    store.remember("The launch of Apollo was moved to November 9", id="moved", kind="fact")
    assert seen(store) == [(When.AHEAD, "11-09", "moved")]


def test_an_overdue_reminder_stays_until_it_is_done_or_dropped(
    store: MemoryStore, clock: StoppedClock
) -> None:
    for name in ("paid", "given-up"):
        store.remember(f"Bill {name}", kind="reminder", id=name, valid_from=NOW + DAY)
    clock.now = NOW + 100 * DAY
    assert seen(store) == [(When.OVERDUE, "11-06", name) for name in ("given-up", "paid")]
    assert [reminder.id for reminder in store.triggers.due()] == ["given-up", "paid"]
    store.triggers.done("paid")
    store.triggers.done("given-up", state="dropped")
    assert seen(store, within=None) == []
    assert not store.search("Bill paid")


def test_a_clock_that_jumps_back_loses_no_day(store: MemoryStore, clock: StoppedClock) -> None:
    store.remember("The review is on November 9", id="d")
    clock.now = NOW - 30 * DAY
    assert seen(store) == []
    assert seen(store, within=60 * DAY) == [(When.AHEAD, "11-09", "d")]


def test_today_is_that_of_the_time_zone(tmp_path: Path, clock: StoppedClock) -> None:
    config = Config(home=tmp_path, time_zone="America/New_York")
    with MemoryStore.open(
        "memory://", config=config, embedder=HashingEmbedder(), clock=clock
    ) as store:
        # It is Wednesday there.
        store.remember("The review is on November 4", id="today")
        store.remember("The lawyer comes tomorrow", id="tomorrow")
        assert [(day.when, day.memory.id) for day in store.triggers.coming().days] == [
            (When.TODAY, "today"),
            (When.AHEAD, "tomorrow"),
        ]


def test_scopes_are_chosen_as_for_what_is_due(store: MemoryStore) -> None:
    store.scopes.create("vault", sensitivity="private")
    store.remember("The trial is on November 9", id="secret", scope="vault")
    store.remember("The party is on November 9", id="open")
    assert [each[2] for each in seen(store)] == ["open"]
    assert {each[2] for each in seen(store, scope="vault")} == {"open", "secret"}
    with pytest.raises(UnknownScope, match="nowhere"):
        store.triggers.coming(scope="nowhere")
    with pytest.raises(InvalidInput, match="within"):
        store.triggers.coming(within=timedelta(days=-1))


def test_a_reminder_more_costs_a_briefing_a_few_calls(tmp_path: Path, clock: StoppedClock) -> None:
    def count_for(number: int) -> int:
        home = tmp_path / str(number)
        with MemoryStore.open(home, embedder=HashingEmbedder(), clock=clock) as store:
            store.remember_many(
                {
                    "text": f"Pay invoice {each}.",
                    "kind": "reminder",
                    "valid_from": NOW + (each - number // 2) * DAY,
                }
                for each in range(number)
            )
            for _ in range(2):
                store.briefing()
            return count_calls(store.briefing, builtins=False)

    few, many = 200, 800
    assert count_for(many) - count_for(few) < 16 * (many - few)


def test_a_note_is_told_by_the_later_reminder_of_its_day(
    store: MemoryStore, clock: StoppedClock
) -> None:
    store.remember("The launch of Apollo is on November 9", id="note")
    store.remember("The dentist of Ella is on November 9", id="dentist")
    clock.now += timedelta(hours=1)
    for name in ("one", "two"):
        at = NOW + 4 * DAY
        store.remember(f"Launch Apollo {name}", kind="reminder", id=name, valid_from=at)
    assert {name for _, _, name in seen(store)} == {"dentist", "one", "two"}
