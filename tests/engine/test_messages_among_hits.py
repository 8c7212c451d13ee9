"""Messages beside what was made from them, what corrected them, and what answers them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from infinite_memory import MemoryStore
from infinite_memory.core.values.hits import Hits

SAID = "the weekly standup of the team starts at nine from now on, says the team"
QUESTION = "the weekly standup of the team starts at nine from now on"


def ids(hits: Hits) -> list[str]:
    return [hit.id for hit in hits]


def say(store: MemoryStore, name: str, text: str = SAID, speaker: str = "Ann") -> None:
    store.remember(
        text,
        id=name,
        kind="message",
        speaker=speaker,
        conversation_id="talk",
        happened_at=datetime(2026, 4, 1, 10, int(name[-1]), tzinfo=UTC),
    )


FACT = "the weekly standup of the team starts at nine"


def test_what_was_made_from_a_message_takes_its_place_and_quotes_it(store: MemoryStore) -> None:
    say(store, "said1")
    store.remember(FACT, id="fact", kind="fact", sources=["said1"])
    store.remember("the weekly walk of the team starts at ten", id="walk")
    hits = store.search(QUESTION, explain=True)
    assert ids(hits)[0] == "fact"
    assert "said1" not in ids(hits)
    assert [told.id for told in hits[0].made_from] == ["said1"]
    absence = store.why_not(QUESTION, "said1")
    assert (absence.step, "quoted by fact" in absence.reason) == ("twin", True)
    assert store.bulk.preview_forget(QUESTION, threshold=0).count == 3


def test_what_says_something_else_of_a_message_does_not_take_its_place(store: MemoryStore) -> None:
    say(store, "said1", f"{SAID}. Eva works at the hospital in Ulm.")
    store.remember("Eva works at the hospital in Ulm", id="eva", kind="fact", sources=["said1"])
    hits = store.search(QUESTION, threshold=0)
    assert ids(hits)[0] == "said1"
    assert not any(hit.made_from for hit in hits)


def test_a_hit_quotes_three_messages_at_most(store: MemoryStore) -> None:
    sources = [f"said{number}" for number in range(5)]
    for number, name in enumerate(sources):
        say(store, name, f"{SAID} {number}")
    store.remember(FACT, id="fact", kind="fact", sources=sources)
    hits = store.search(QUESTION)
    assert len(hits) == 3
    assert [len(hit.made_from) for hit in hits] == [3, 0, 0]


def test_two_messages_are_quoted_by_what_was_made_from_both(store: MemoryStore) -> None:
    say(store, "said1")
    say(store, "said2", f"{SAID} and Bob")
    sources = ["said1", "said2"]
    store.remember(FACT, id="fact", kind="fact", sources=sources)
    (hit,) = store.search(QUESTION)
    assert {told.id for told in hit.made_from} == {"said1", "said2"}


def test_a_summary_quotes_no_message(store: MemoryStore) -> None:
    say(store, "said1")
    store.remember("the weekly standup is at nine", id="sum", kind="summary", sources=["said1"])
    assert set(ids(store.search(QUESTION))) == {"said1", "sum"}


def test_a_message_that_told_what_was_corrected_comes_behind_and_says_so(
    store: MemoryStore,
) -> None:
    say(store, "said1")
    store.remember("the weekly standup is at nine", id="fact", kind="fact", sources=["said1"])
    store.remember("the weekly standup is at ten", id="new", kind="fact", supersedes=["fact"])
    hits = store.search(QUESTION)
    assert ids(hits) == ["new", "said1"]
    assert [hit.corrected_by for hit in hits] == [None, "new"]


def test_a_message_that_asks_shows_what_was_answered(store: MemoryStore) -> None:
    say(store, "turn1", "At what time does the weekly standup of the team start?")
    say(store, "turn2", "Half past nine.", speaker="Bob")
    say(store, "turn3", "And where is the weekly standup of the team?")
    say(store, "turn4", "Does the weekly standup of the team have a room?", speaker="Bob")
    answers = {
        hit.id: None if hit.answer is None else hit.answer.id
        for hit in store.search("weekly standup of the team", threshold=0)
    }
    assert answers == {"turn1": "turn2", "turn2": None, "turn3": None, "turn4": None}


def test_nobody_answers_oneself(store: MemoryStore) -> None:
    say(store, "turn1", "At what time does the weekly standup of the team start?")
    say(store, "turn2", "I must know that for the plan.")
    assert all(hit.answer is None for hit in store.search("weekly standup", threshold=0))


def test_what_was_stored_in_between_is_no_answer(store: MemoryStore) -> None:
    say(store, "turn1", "At what time does the weekly standup of the team start?")
    store.remember(
        "two pizzas for lunch",
        conversation_id="talk",
        happened_at=datetime(2026, 4, 1, 10, 1, 30, tzinfo=UTC),
    )
    say(store, "turn2", "Half past nine.", speaker="Bob")
    (hit, *_) = store.search("weekly standup of the team", kinds=["message"])
    assert hit.answer is not None
    assert hit.answer.id == "turn2"
    before = datetime(2026, 4, 1, 10, 2, tzinfo=UTC)
    (hit,) = store.search("weekly standup of the team", kinds=["message"], until=before)
    assert hit.answer is None


def test_a_greeting_stands_behind_every_statement(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        store.remember("Hi there, how are you?")
        store.remember("Ella felt sick after the ferry.")
        asked = "how do I feel today?"
        assert [hit.memory.text for hit in store.search(asked, threshold=0)] == [
            "Ella felt sick after the ferry.",
            "Hi there, how are you?",
        ]
        assert not store.search(asked, cut="pushed")
        assert store.search("hi, how are you", limit=1)[0].memory.text == "Hi there, how are you?"
