"""The time that a question names lifts what happened in it, and changes nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from infinite_memory import MemoryStore

OpenStore = Callable[..., MemoryStore]

SUBJECTS = ("the cache", "the roof", "the budget", "the garden")


@pytest.fixture
def decisions(open_store: OpenStore) -> MemoryStore:
    """The clock stands at Friday, 1 May 2026; of every week one decision on each subject."""
    store = open_store(time_zone="Europe/Berlin")
    for day, name in (
        *(("2026-03-25", "Ada"), ("2026-04-08", "Bob")),
        *(("2026-04-22", "Cleo"), ("2026-04-29", "Dan")),
    ):
        for number, subject in enumerate(SUBJECTS):
            store.remember(
                f"{name} and I decided on {subject}.",
                id=f"{day}-{number}",
                happened_at=datetime.fromisoformat(f"{day}T10:00:00+00:00"),
            )
    return store


@pytest.mark.parametrize(
    ("question", "words", "expected"),
    [
        ("What did we decide last week on the roof?", "last week", "2026-04-22-1"),
        ("what did we decide this week on the roof", "this week", "2026-04-29-1"),
        ("decisions in March on the garden", "March", "2026-03-25-3"),
        ("我们上周 decided on the cache 什么", "上周", "2026-04-22-0"),
    ],
)
def test_what_happened_in_the_time_that_a_question_names_comes_first(
    decisions: MemoryStore, question: str, words: str, expected: str
) -> None:
    # The names of the four weeks mean nothing: only the time tells them apart.
    hits = decisions.search(question, explain=True, threshold=0, arms=["words"])
    assert hits[0].memory.id == expected
    assert hits[0].explanation is not None
    assert hits[0].explanation.time > 0
    assert hits.time is not None
    assert hits.time.words == words
    assert hits.when is None
    # It lifts, and filters nothing.
    assert hits.eligible == 16


def test_a_lift_overturns_no_clear_match(decisions: MemoryStore) -> None:
    decisions.remember(
        "The wifi password is heron-4410.", id="wifi", happened_at=datetime(2025, 1, 2, tzinfo=UTC)
    )
    hits = decisions.search("wifi password last week")
    assert hits[0].memory.id == "wifi"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "question",
    [
        "the May project",
        "who is on the second floor",
        "March for peace",
        "what did April say about the roof",
        "the spring framework of the cache",
        "summer tyres for the van",
        "we march for the garden",
        "version 3.5 of the budget",
        "the Monday Club and the roof",
        "Fall back to the cache",
        "the Sunday roast recipe",
        "what did we decide on the roof",
    ],
)
def test_words_that_are_no_time_change_nothing(decisions: MemoryStore, question: str) -> None:
    for month in range(1, 13):
        decisions.remember(
            f"Note number {month}.",
            id=f"m{month}",
            happened_at=datetime(2025, month, 10, tzinfo=UTC),
        )
    hits = decisions.search(question, explain=True, threshold=0)
    assert hits.time is None
    assert all(hit.explanation is not None and hit.explanation.time == 0 for hit in hits)


def test_a_time_of_which_nothing_is_stored_changes_nothing(decisions: MemoryStore) -> None:
    plain = decisions.search("may I drill into the roof", threshold=0)
    timed = decisions.search("may I drill into the roof at 9 am", threshold=0)
    assert timed.time is timed.empty_time is None
    assert plain.time is plain.empty_time is None


@pytest.mark.parametrize(
    ("question", "likely"),
    [
        ("What happened yesterday?", False),
        ("What did we do yesterday?", False),
        ("yesterday", False),
        ("What did we decide yesterday on the roof?", True),
    ],
)
def test_a_question_for_a_time_of_which_nothing_is_stored_says_so(
    decisions: MemoryStore, question: str, likely: bool
) -> None:
    month_ago = datetime(2026, 4, 1, tzinfo=UTC)
    decisions.remember("Yesterday the plumber came.", id="plumber", happened_at=month_ago)
    hits = decisions.search(question)
    assert hits.best >= 0.15
    assert hits.time is None
    assert hits.empty_time is not None
    assert hits.empty_time.words == "yesterday"
    assert hits.likely is likely


@pytest.mark.parametrize(
    "question",
    [
        *("What happens tomorrow?", "appointments in October 2026"),
        "deadline in February",
        "did the plumber who changed the kitchen valve leave the invoice yesterday",
    ],
)
def test_a_time_to_come_or_named_by_a_hit_or_beside_a_subject_is_not_called_empty(
    decisions: MemoryStore, question: str
) -> None:
    decisions.remember("The deadline of Apollo was February 5.", id="deadline")
    assert decisions.search(question).empty_time is None


@pytest.mark.parametrize(
    "question", ["What did we do last week?", "last week", "我们上周做了什么？"]
)
def test_what_happened_answers_a_question_for_a_time_alone(
    decisions: MemoryStore, question: str
) -> None:
    decisions.remember("What did we do?", id="now")
    hits = decisions.search(question)
    assert {hit.memory.id for hit in hits[:4]} == {f"2026-04-22-{number}" for number in range(4)}
    assert hits.likely


def test_what_happened_comes_first_and_is_no_answer_where_nothing_is_likely(
    decisions: MemoryStore,
) -> None:
    hits = decisions.search("electricity last week", threshold=0)
    assert all(hit.memory.id.startswith("2026-04-22") for hit in hits[:4])
    assert not hits.likely


def test_what_is_due_in_the_time_of_a_question_belongs_to_it(decisions: MemoryStore) -> None:
    due = datetime(2026, 5, 4, tzinfo=UTC)
    decisions.remember("Order the primer.", id="primer", kind="reminder", valid_from=due)
    hits = decisions.search("What is due in the next few days?", threshold=0)
    assert hits[0].memory.id == "primer"
    assert hits.time is not None


def test_a_time_that_the_caller_gives_is_the_only_one(decisions: MemoryStore) -> None:
    hits = decisions.search("what was decided on the roof last week", when="March 2026")
    assert hits.time is None
    assert {hit.memory.id[:10] for hit in hits} == {"2026-03-25"}


def test_the_last_time_is_the_newest_conversation_if_nothing_answers(open_store: OpenStore) -> None:
    store = open_store()
    for conversation, day in (("old", 1), ("new", 20)):
        for turn, text in enumerate(("The heron nests by the weir.", "Ospreys come in April.")):
            store.remember(
                text,
                id=f"{conversation}{turn}",
                kind="message",
                conversation_id=conversation,
                happened_at=datetime(2026, 4, day, 10, turn, tzinfo=UTC),
            )
    for question in ("What did we talk about last time?", "上次我们聊了什么？"):
        hits = store.search(question)
        assert hits.newest_conversation == "new"
        assert [hit.memory.id for hit in hits] == ["new0", "new1"]
        assert not hits.likely


def test_the_last_time_of_something_is_searched_for(open_store: OpenStore) -> None:
    store = open_store()
    store.remember("Hello", id="chat", conversation_id="c", kind="message")
    store.remember("The chimney sweep came and found a nest in the flue.", id="sweep")
    hits = store.search("when did the chimney sweep come last time")
    assert hits.newest_conversation is None
    assert hits[0].memory.id == "sweep"


def test_the_last_time_is_the_newest_memories_if_none_has_a_conversation(
    open_store: OpenStore,
) -> None:
    store = open_store()
    for day, text in enumerate(("A heron", "Ospreys", "The weir", "Green tea"), 1):
        store.remember(text, id=f"m{day}", happened_at=datetime(2026, 4, day, tzinfo=UTC))
    hits = store.search("What did we talk about last time?")
    assert hits.newest_memories
    assert hits.newest_conversation is None
    assert [hit.memory.id for hit in hits] == ["m1", "m2", "m3", "m4"]
    assert not hits.likely
    assert not store.search("ospreys").newest_memories


def test_the_times_of_a_long_text_are_those_of_its_own_story(decisions: MemoryStore) -> None:
    story = "We met last week and talked at length about the roof. " * 100
    assert decisions.search(story).time is None
    assert decisions.search(story[:500]).time is not None


@pytest.mark.thorough
def test_a_long_word_is_a_quick_question(decisions: MemoryStore) -> None:
    """The square of its length would take hours."""
    for word in ("語", "a", "é", "A"):
        assert decisions.search(word * 100_000).time is None
