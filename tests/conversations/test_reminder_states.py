"""The states of reminders: open, done, dropped, probably done, and when they are due."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.reminders import LABELLED, digest_labelled, judge_states, rows
from infinite_memory import Config, InvalidInput, MemoryStore, NotFound
from infinite_memory.features.overviews.values import BriefingPart
from infinite_memory.features.reminders.states import When
from infinite_memory.search.completion import WEIGHTS, names_another
from infinite_memory.testing.embedders import HashingEmbedder
from tests.stopped_clock import StoppedClock

# A Wednesday.
NOW = datetime(2026, 11, 25, 10, tzinfo=UTC)
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


def seen(store: MemoryStore) -> list[tuple[str, str, str]]:
    days = store.triggers.coming(within=None).days
    return [(day.when, f"{day.at:%m-%d %H:%M}", day.memory.id) for day in days]


@pytest.mark.parametrize(
    ("text", "when", "at"),
    [
        ("Call Ella tomorrow at 9", When.AHEAD, "11-26 09:00"),
        ("Pay the rent on November 3", When.OVERDUE, "11-03 00:00"),
        ("The report was due yesterday", When.OVERDUE, "11-24 00:00"),
        ("Rechnung am 3. Dezember zahlen", When.AHEAD, "12-03 00:00"),
        ("Gestern war der Bericht fällig", When.OVERDUE, "11-24 00:00"),
        ("pagar el viernes", When.AHEAD, "11-27 00:00"),
        ("demain appeler le dentiste", When.AHEAD, "11-26 00:00"),
        ("十二月三号交房租", When.AHEAD, "12-03 00:00"),
        ("昨天该交房租", When.OVERDUE, "11-24 00:00"),
        ("завтра позвонить маме", When.AHEAD, "11-26 00:00"),
        ("Buy milk", When.ANYTIME, "11-25 10:00"),
        ("Look at the numbers of 2025", When.ANYTIME, "11-25 10:00"),
    ],
)
def test_a_reminder_is_due_at_the_time_that_its_words_name(
    store: MemoryStore, text: str, when: When, at: str
) -> None:
    store.remember(text, kind="reminder", id="r")
    assert seen(store) == [(when, at, "r")]


def test_a_recurring_reminder_moves_on_when_its_day_is_over_and_when_it_is_done(
    store: MemoryStore, clock: StoppedClock
) -> None:
    store.remember("Water the plants every Thursday", kind="reminder", id="r")
    assert seen(store) == [(When.AHEAD, "11-26 00:00", "r")]
    clock.now = NOW + DAY
    assert seen(store) == [(When.TODAY, "11-26 00:00", "r")]
    (receipt,) = store.triggers.done("r")
    assert seen(store) == [(When.AHEAD, "12-03 00:00", "r")]
    clock.now = NOW + 10 * DAY
    assert seen(store) == [(When.AHEAD, "12-10 00:00", "r")]
    assert (receipt.outcome, store.get("r").status) == ("revised", "current")


def test_done_and_dropped_are_stored_taken_back_and_opened_again(store: MemoryStore) -> None:
    store.remember("Pay the rent", kind="reminder", id="r", valid_from=NOW + DAY)
    store.triggers.done("r")
    assert (seen(store), store.get("r").context["reminder"]["state"]) == ([], "done")  # type: ignore[call-overload,index]
    assert store.triggers.done("r")[0].outcome == "unchanged"
    store.undo()
    assert seen(store) == [(When.AHEAD, "11-26 10:00", "r")]
    store.triggers.done("r", state="dropped")
    assert seen(store) == []
    store.triggers.done("r", state="open")
    assert seen(store) == [(When.AHEAD, "11-26 10:00", "r")]


def test_the_day_of_a_note_is_done_and_the_note_stays(
    store: MemoryStore, clock: StoppedClock
) -> None:
    store.remember("Remind me on Friday to pay the boatyard", id="n")
    assert seen(store) == [(When.AHEAD, "11-27 00:00", "n")]
    store.triggers.done("n")
    assert (seen(store), store.get("n").status) == ([], "current")  # type: ignore[call-overload]
    store.triggers.done("n", state="open")
    assert seen(store) == [(When.AHEAD, "11-27 00:00", "n")]
    store.triggers.done("n")
    store.revise(
        "n", revision=store.get("n").revision, text="Remind me on December 4 to pay the boatyard"
    )
    assert seen(store) == [(When.AHEAD, "12-04 00:00", "n")]
    store.remember("The choir sings every Thursday", id="choir", kind="fact")
    store.triggers.done("choir")
    assert [day[2] for day in seen(store)] == ["n"]
    clock.now = NOW + 3 * DAY
    assert (When.AHEAD, "12-03 00:00", "choir") in seen(store)
    store.triggers.done("choir", state="dropped")
    clock.now = NOW + 10 * DAY
    assert "choir" not in [day[2] for day in seen(store)]


def test_each_day_that_a_note_names_is_done_by_itself(store: MemoryStore) -> None:
    store.remember("Take the car to the garage on November 27. Fetch it on November 28.", id="n")
    assert seen(store) == [(When.AHEAD, "11-27 00:00", "n")]
    store.triggers.done("n")
    assert seen(store) == [(When.AHEAD, "11-28 00:00", "n")]
    store.triggers.done("n")
    assert seen(store) == []
    (again,) = store.triggers.done("n")
    assert (again.outcome, again.searchable) == ("unchanged", "meaning")
    store.triggers.done("n", state="open")
    assert seen(store) == [(When.AHEAD, "11-27 00:00", "n")]
    assert store.triggers.done("n", state="open")[0].outcome == "unchanged"


def test_a_note_whose_day_is_done_is_no_news_in_a_briefing(store: MemoryStore) -> None:
    store.remember("Remind me on Friday to pay the boatyard", id="n")
    store.triggers.done("n")
    assert not store.briefing().sections


def test_only_a_reminder_or_a_day_is_done(store: MemoryStore) -> None:
    store.remember("A note", id="n")
    with pytest.raises(InvalidInput, match="'n' is a note that names no day to come"):
        store.triggers.done("n")
    with pytest.raises(InvalidInput, match="state"):
        store.triggers.done("n", state="finished")
    with pytest.raises(NotFound):
        store.triggers.done("nothing")


def test_a_reminder_that_recurs_by_its_condition_is_dropped_and_never_done(
    store: MemoryStore,
) -> None:
    name = store.triggers.add("weekly", "The meeting", {"recurs": "FREQ=WEEKLY;BYDAY=MO"}).id
    with pytest.raises(InvalidInput, match="moves on by itself"):
        store.triggers.done(name)
    assert len(store.triggers.due()) == 1
    store.triggers.done(name, state="dropped")
    assert store.triggers.due() == ()


def test_more_reminders_than_one_call_judges_are_judged_by_the_next(
    store: MemoryStore, clock: StoppedClock
) -> None:
    for number in range(40):
        store.remember(f"Pay the invoice of plumber{number}", kind="reminder", id=f"r{number}")
    clock.now += DAY
    for number in range(40):
        store.remember(f"Paid the invoice of plumber{number}", similar=False)
    store.triggers.coming()
    assert {when for when, _, _ in seen(store)} == {When.DONE}


def test_what_is_probably_done_is_asked_in_one_briefing_and_closed_by_a_switch(
    store: MemoryStore, clock: StoppedClock
) -> None:
    store.remember("Pay the invoice of the plumber", kind="reminder", id="r", valid_from=NOW + DAY)
    clock.now += DAY / 2
    store.remember("Paid the invoice of the plumber", id="d", scope="house")
    assert [when for when, _, _ in seen(store)] == [When.DONE]
    assert store.triggers.due() == ()
    # What the one scope may not see, it is not told.
    assert not store.briefing().sections
    asked = [
        [item.id for part in store.briefing("house").sections for item in part.items
         if part.part is BriefingPart.DONE]
        for _ in range(2)
    ]  # fmt: skip
    assert asked == [["d"], []]
    assert [receipt.id for receipt in store.triggers.done()] == ["r"]
    assert (seen(store), store.triggers.done()) == ([], ())


def test_a_reminder_that_is_opened_again_is_not_ended_by_what_was_told_before(
    store: MemoryStore, clock: StoppedClock
) -> None:
    store.remember("Pay the invoice of the plumber", kind="reminder", id="r", valid_from=NOW + DAY)
    clock.now += DAY / 2
    store.remember("Paid the invoice of the plumber")
    clock.now += DAY / 4
    store.triggers.done("r", state="open")
    assert seen(store) == [(When.TODAY, "11-26 10:00", "r")]


def test_a_prompt_brings_up_no_reminder_that_is_done(
    store: MemoryStore, clock: StoppedClock
) -> None:
    store.conversations.begin_session("", session="s")
    for name in ("rent", "plumber"):
        text = f"Pay the invoice of the {name}"
        store.remember(text, kind="reminder", id=name, valid_from=NOW + DAY / 4)
    clock.now += DAY / 8
    store.remember("Paid the invoice of the plumber")
    clock.now += DAY / 4
    assert store.conversations.recall_for_prompt("and now?", session="s").ids == ("rent",)


def test_most_labelled_reminders_have_the_right_state_with_the_bundled_model() -> None:
    judged = list(judge_states(None, list(rows(LABELLED / "reminders.jsonl"))))
    right = sum(closed == (row["state"] != "open") for row, closed in judged)
    assert right >= 22
    closed = {row["id"] for row, is_closed in judged if is_closed}
    # "Still have to book the train", another bill, another month, another person.
    assert closed.isdisjoint({"r03", "r05", "r08", "r22", "r23"})


def test_the_weights_are_of_the_labelled_data_that_ships() -> None:
    # If this fails, the labelled data changed: python -m benchmarks.reminders --write
    assert json.loads(WEIGHTS.read_text("utf-8"))["labelled"] == digest_labelled()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Pay the electricity bill", "Paid the water bill", True),
        ("Submit the report for October", "Submitted the report for September", True),
        ("Geschenk für Oma kaufen", "Geschenk für Oma gekauft", False),
        ("Pay the invoice of the boatyard", "Paid the boatyard invoice", False),
        ("", "", False),
    ],
)
def test_another_name_in_the_same_place_means_another_thing(
    first: str, second: str, expected: bool
) -> None:
    assert names_another(first, second) is expected
