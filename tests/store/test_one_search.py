"""Twenty questions over all kinds of things, asked of the ordinary search without a scope."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import MemoryStore
from tests.stopped_clock import StoppedClock

NOW = datetime(2026, 11, 26, 9, tzinfo=UTC)
DAY = timedelta(days=1)
APOLLO, BOREALIS = "github.com/octo/apollo", "github.com/octo/borealis"

QUESTIONS = {
    "Is anything due tomorrow?": "invoice",
    "my reminders": "books",
    "What are my open problems in apollo?": "problem",
    "What did we decide about the storage?": "decision",
    "What is overdue?": "books",
    "What do I have to do this week?": "invoice",
    "When is the launch of WindWatch?": "launch",
    "What is on tomorrow?": "launch",
    "What to do when tests hang on CI?": "lesson",
    "Which colour for the garden shed?": "dark green",
    "Where does my sister Nadia live?": "Trieste",
    "What should I offer Alice to drink?": "jasmine",
    "What is the kitchen floor made of?": "summary",
    "What must I pay to the boatyard?": "invoice",
    "Who can give me the staging password?": "priya",
    "Which change made the parser read UTF-16?": "change",
    "What did we decide about the stairs?": "stairs",
    "problems in borealis": "thumbnails",
    "Which car has a dent?": "Volvo",
    "lessons of apollo": "lesson",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    clock = StoppedClock(NOW - 3 * DAY)
    with MemoryStore.open(tmp_path_factory.mktemp("home"), clock=clock) as opened:
        fill(opened)
        clock.now = NOW
        yield opened


def fill(store: MemoryStore) -> None:
    projects, conversations = store.projects, store.conversations
    projects.store_decision(
        "Use SQLite through apsw for the storage",
        rationale="it needs no server",
        repository=APOLLO,
        id="decision",
    )
    projects.store_lesson(
        "The tests hang on CI", "Give every socket a timeout", repository=APOLLO, id="lesson"
    )
    for kind, text, repository, name in (
        ("problem", "The upload of large files fails after a minute", APOLLO, "problem"),
        ("code_change", "The parser reads UTF-16 since the tokenizer changed", APOLLO, "change"),
        ("problem", "The thumbnails are rotated wrongly on phones", BOREALIS, "thumbnails"),
    ):
        projects.store_chunk(text, kind=kind, repository=repository, id=name)
    conversations.log(
        [
            {"role": "user", "content": "We should paint the garden shed dark green this spring"},
            {"role": "assistant", "content": "Two coats of dark green it is."},
        ],
        "chat-1",
    )
    conversations.add_short_term(
        [{"role": "user", "content": "My sister Nadia moved to Trieste and teaches sailing"}],
        "chat-2",
    )
    store.triggers.add("tea", "Offer Alice jasmine tea, never coffee", {"any_of": ["drink"]})
    store.attachments.attach(
        uri="file:///photos/car.jpg", description="The red Volvo with a dent in its door"
    )
    store.remember("We renovated: oak for the kitchen floor", kind="summary", id="summary")
    store.remember(
        "The launch of WindWatch is on November 27, 10:00",
        kind="fact",
        scope="windwatch",
        id="launch",
    )
    for name, text, due in (
        ("invoice", "Pay the invoice of the boatyard", NOW + timedelta(hours=20)),
        ("passport", "Renew the passport", NOW + 5 * DAY),
        ("books", "Return the library books", NOW - 2 * DAY),
        ("priya", "Ask Priya for the staging password", None),
    ):
        store.remember(text, kind="reminder", id=name, valid_from=due)
    store.remember("The wifi password of the cabin is in the blue book", id="wifi")
    store.remember("We decided on oak for the stairs of the house", kind="decision", id="stairs")


def test_eighteen_of_twenty_questions_have_the_right_thing_among_three(store: MemoryStore) -> None:
    wrong = []
    for question, wanted in QUESTIONS.items():
        hits = store.search(question, cut="asked")[:3]
        if not any(wanted == hit.id or wanted in hit.text for hit in hits):
            wrong.append((question, [hit.text for hit in hits]))
    assert len(wrong) <= 2, wrong


def test_what_a_question_lists_is_there_once_with_its_kind(store: MemoryStore) -> None:
    hits = store.search("my reminders", cut="asked")
    assert [hit.id for hit in hits][:4] == ["books", "invoice", "passport", "priya"]
    assert len({hit.id for hit in hits}) == len(hits)
    assert {hit.memory.kind for hit in hits[:4]} == {"reminder"}
    assert [hit.id for hit in store.search("my reminders", limit=2)] == ["books", "invoice"]


def test_what_a_question_lists_is_of_the_scopes_that_are_searched(store: MemoryStore) -> None:
    tomorrow = {hit.id for hit in store.search("What is on tomorrow?", scope="Global")}
    assert "invoice" in tomorrow
    assert "launch" not in tomorrow
    both = {hit.id for hit in store.search("What is on tomorrow?", scope="windwatch")}
    assert both >= {"invoice", "launch"}


@pytest.mark.parametrize(
    "conditions", [{"kinds": ["note"]}, {"threshold": 0.0}, {"cut": "pushed"}, {"when": "2026"}]
)
def test_a_search_with_conditions_of_its_own_lists_nothing(
    store: MemoryStore, conditions: dict[str, object]
) -> None:
    hits = store.search("my reminders", **conditions)  # type: ignore[arg-type]
    assert all(hit.score < 1 for hit in hits)


def test_a_question_for_what_happened_keeps_what_happened_first(
    tmp_path: Path,
) -> None:
    with MemoryStore.open(tmp_path, clock=StoppedClock(NOW)) as store:
        store.remember("Ran 5 km along the river", id="run", happened_at=NOW - DAY)
        store.remember("Call the bank", kind="reminder", id="bank", valid_from=NOW + DAY)
        found = [hit.id for hit in store.search("What did I run this week?")]
        assert found[0] == "run"


def test_a_day_on_which_nothing_is_due_is_said_to_be_empty(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, clock=StoppedClock(NOW)) as store:
        store.remember("Remind me on Monday to pay the boatyard invoice", id="invoice")
        for question in ("Is anything due tomorrow?", "What is on tomorrow?", "reminders tomorrow"):
            hits = store.search(question, cut="asked")
            assert hits.empty_time is not None
            assert hits.empty_time.range.start == datetime(2026, 11, 27, tzinfo=UTC)
        assert store.search("Is anything due on Monday?").empty_time is None
        assert [hit.id for hit in store.search("Is anything due on Monday?")] == ["invoice"]
        store.conversations.log(
            [{"role": "user", "content": "The dentist is due tomorrow at nine."}], "talk"
        )
        told = store.search("Is anything due tomorrow?", cut="wide")
        assert "dentist" in " ".join(hit.text for hit in told)
        assert told.empty_time is None
