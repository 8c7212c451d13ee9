"""Reminders that are due: dated ones, and conditions that hold by their time alone."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import Config, InvalidInput, MemoryStore, UnknownScope
from infinite_memory.features.overviews.values import BriefingPart
from infinite_memory.testing.embedders import HashingEmbedder
from tests.stopped_clock import StoppedClock

NOW = datetime(2026, 7, 17, 9, 20, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def noon() -> StoppedClock:
    return StoppedClock(NOW)


@pytest.fixture
def timed(tmp_path: Path, noon: StoppedClock) -> MemoryStore:
    config = Config(home=tmp_path / "home", time_zone="Asia/Kolkata")
    return MemoryStore.open(
        tmp_path / "home", config=config, embedder=HashingEmbedder(), clock=noon
    )


def due(store: MemoryStore, **arguments: object) -> list[tuple[str, datetime]]:
    return [(r.text, r.due_at) for r in store.triggers.due(**arguments)]  # type: ignore[arg-type]


def test_dated_reminders_that_are_overdue_and_of_the_time_ahead(timed: MemoryStore) -> None:
    for text, days in (("old", -8), ("late", -6), ("soon", 3), ("later", 8)):
        timed.remember(text, kind="reminder", valid_from=NOW + days * DAY)
    timed.remember("no date", kind="reminder")
    timed.remember("no reminder", valid_from=NOW + DAY)
    overdue = [("old", NOW - 8 * DAY), ("late", NOW - 6 * DAY)]
    assert due(timed) == [*overdue, ("soon", NOW + 3 * DAY)]
    assert due(timed, within=timedelta(0)) == overdue
    assert [text for text, _ in due(timed, within=30 * DAY)] == ["old", "late", "soon", "later"]


def test_a_rule_of_time_is_due_now_or_at_a_full_hour_of_its_day(timed: MemoryStore) -> None:
    timed.triggers.add("today", "of today", {"on": "2026-07-17"})
    timed.triggers.add("next", "of Monday", {"on": "2026-07-20"})
    timed.triggers.add("far", "of August", {"on": "2026-08-20"})
    timed.triggers.add("words", "of words", {"any_of": ["birthday"]})
    # Midnight in India is at half past six in the evening.
    monday = datetime(2026, 7, 19, 18, 30, tzinfo=UTC)
    assert due(timed) == [("of today", NOW), ("of Monday", monday)]
    assert due(timed, within=DAY) == [("of today", NOW)]


def test_a_part_on_the_time_counts_at_any_depth(timed: MemoryStore) -> None:
    inner = {"all": [{"none_of": ["cancelled"]}, {"recurs": "FREQ=WEEKLY;BYDAY=MO"}]}
    timed.triggers.add("weekly", "the meeting", {"any": [{"any_of": ["meeting"]}, inner]})
    timed.triggers.add("hours", "lunch", {"between": "15:30-16:30"})
    monday = datetime(2026, 7, 19, 18, 30, tzinfo=UTC)
    assert due(timed) == [("lunch", NOW + timedelta(minutes=70)), ("the meeting", monday)]


def test_code_is_due_when_it_holds_now(timed: MemoryStore) -> None:
    timed.triggers.add("July", "look at the board", "new Date().getMonth() === 6")
    timed.triggers.add("May", "nothing", "new Date().getMonth() === 4")
    assert due(timed) == [("look at the board", NOW)]


def test_a_condition_without_a_time_is_never_due(timed: MemoryStore) -> None:
    # Both hold while nobody says anything.
    timed.triggers.add("silence", "not about work", {"none_of": ["work"]})
    timed.triggers.add("code", "no work either", "!match_keys(context.messages, ['work'])")
    assert due(timed) == []
    assert not [s for s in timed.briefing().sections if s.part is BriefingPart.DUE]
    assert len(timed.triggers.activate([{"role": "user", "content": "rest"}]).activated) == 2


def test_what_is_disabled_forgotten_or_over_is_not_due(timed: MemoryStore) -> None:
    for name in ("disabled", "forgotten", "over"):
        timed.triggers.add(name, name, {"on": "2026-07-17", "most_firings": 1})
    timed.triggers.disable("disabled")
    timed.triggers.delete("forgotten")
    assert [m.name for m in timed.triggers.activate([]).activated] == ["over"]
    assert due(timed) == []


def test_every_open_scope_is_read_or_those_of_the_call(timed: MemoryStore) -> None:
    timed.triggers.add("a", "at work", {"on": "2026-07-17"}, scope="work")
    timed.triggers.add("b", "anywhere", {"on": "2026-07-17"}, conversation_id="c")
    timed.scopes.create("vault", sensitivity="private")
    timed.triggers.add("c", "secret", {"on": "2026-07-17"}, scope="vault")
    assert {text for text, _ in due(timed)} == {"at work", "anywhere"}
    assert {text for text, _ in due(timed, scope="vault")} == {"secret", "anywhere"}
    assert {text for text, _ in due(timed, conversation_id="c")} == {"anywhere"}
    handle = timed.confine(scopes=["work"])
    assert {text for text, _ in due(handle)} == {"at work"}
    with pytest.raises(UnknownScope):
        timed.triggers.due(scope="nowhere")


@pytest.mark.parametrize("within", [timedelta(-1), timedelta(367), 7, "a week", None])
def test_a_time_ahead_that_is_none_is_refused(timed: MemoryStore, within: object) -> None:
    with pytest.raises(InvalidInput, match="within"):
        timed.triggers.due(within=within)  # type: ignore[arg-type]


def test_the_briefing_has_what_is_due(timed: MemoryStore) -> None:
    timed.remember("Pay the rent", kind="reminder", valid_from=NOW + DAY, id="rent")
    receipt = timed.triggers.add("birthday", "Congratulate Alice", {"on": "2026-07-17"})
    timed.triggers.add("words", "of words", {"any_of": ["birthday"]})
    timed.triggers.add("vault", "secret", {"on": "2026-07-17"}, scope="vault")
    briefing = timed.briefing()
    (section,) = [s for s in briefing.sections if s.part is BriefingPart.DUE]
    assert [(item.id, item.at) for item in section.items] == [
        (receipt.id, NOW),
        ("rent", NOW + DAY),
    ]
    assert "birthday: Congratulate Alice" in briefing.text
    assert "secret" not in briefing.text


def test_the_briefing_and_the_list_of_what_is_due_agree(timed: MemoryStore) -> None:
    for text, days in (("old", -8), ("late", -6), ("soon", 6), ("later", 8)):
        timed.remember(text, kind="reminder", valid_from=NOW + days * DAY)
    timed.triggers.add("lunch", "Have lunch", {"between": "15:30-16:30"})
    timed.triggers.add("weekly", "The meeting", {"recurs": "FREQ=WEEKLY;BYDAY=MO"})
    # A condition decides, and not the date of the memory.
    dated = timed.triggers.add("words", "of words", {"any_of": ["birthday"]})
    timed.revise(dated.id, revision=1, valid_from=NOW + DAY)
    listed = [(reminder.id, reminder.due_at) for reminder in timed.triggers.due()]
    (section,) = [s for s in timed.briefing().sections if s.part is BriefingPart.DUE]
    # The briefing goes on beyond the week, and ends with what is overdue for longer than one.
    assert [(item.id, item.at) for item in section.items[:-2]] == listed[1:]
    assert [timed.get(item.id).text for item in section.items[-2:]] == ["later", "old"]
    assert [text for text, _ in due(timed)] == ["old", "late", "Have lunch", "The meeting", "soon"]


def test_a_condition_that_hangs_keeps_no_briefing_from_being_quick(timed: MemoryStore) -> None:
    for number in range(3):
        timed.triggers.add(
            f"hangs {number}",
            "text",
            "context.messages.length === 0 && Date && (() => { while (true) {} })()",
            conversation_id=f"c{number}",
        )
    timed.triggers.add("today", "Congratulate Alice", {"on": "2026-07-17"})
    begun = time.monotonic()
    briefing = timed.briefing()
    assert time.monotonic() - begun < 10
    assert "Congratulate Alice" in briefing.text
    assert "3 of 4 conditions of reminders were not checked" in briefing.text
