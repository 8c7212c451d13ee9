"""What happened again, or holds again, is kept: only what was told just now is a repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import Config, MemoryStore, Outcome, Receipt, Status
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

START = datetime(2026, 5, 4, 9, tzinfo=UTC)

STATEMENTS = [
    "The user went to the gym",
    "took the medicine",
    "deployed version 2",
    "Paid the rent",
    "Called grandmother",
    "The build failed",
    "Backed up the laptop.",
    "watered the plants",
    "Slept badly",
    "The server was restarted",
    "用户去了健身房",
    "吃了药",
    "付了房租",
    "部署了版本2",
    "给奶奶打了电话",
]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


Open = Callable[..., MemoryStore]


@pytest.fixture
def moved() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def open_here(request: pytest.FixtureRequest, tmp_path: Path, moved: Clock) -> Iterator[Open]:
    """Open the one store of this test, any number of times; each handle is as another process."""
    storage = InMemoryStorage() if request.param == "memory" else None
    opened: list[MemoryStore] = []

    def open_one(clock: Callable[[], datetime] = moved) -> MemoryStore:
        store = MemoryStore.open(
            None if storage else tmp_path / "home",
            storage=storage,
            config=Config(home=tmp_path / "home"),
            embedder=HashingEmbedder(),
            clock=clock,
        )
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


def outcome(receipt: Receipt) -> str:
    return str(receipt.outcome)


@pytest.mark.thorough
@pytest.mark.parametrize("origin", ["user", "assistant"])
@pytest.mark.parametrize("recall", [False, True])
@pytest.mark.parametrize("gap", [{"days": 1}, {"minutes": 61}], ids=["day", "hour"])
def test_what_is_told_on_three_days_is_kept_three_times(
    open_here: Open, moved: Clock, origin: str, recall: bool, gap: dict[str, float]
) -> None:
    store = open_here()
    for number, text in enumerate(STATEMENTS):
        scope = f"Diary {number}"
        told = []
        for _ in range(3):
            if recall and told:
                assert store.search(text, scope=scope)
            moved.move(**gap)
            told.append(store.remember(text, scope=scope, origin=origin))
        assert [receipt.outcome for receipt in told] == [Outcome.STORED] * 3, text
        today = store.recall_by_time(when="today", scope=scope)
        assert told[2].id in [memory.id for memory in today]
        (hit,) = store.search(text, scope=scope, threshold=0)
        assert hit.memory.id == told[2].id
        assert hit.twins == (told[1].id, told[0].id)


def test_what_is_told_within_the_hour_with_nothing_between_is_a_repeat(
    open_here: Open, moved: Clock
) -> None:
    store = open_here()
    for text in STATEMENTS:
        first = store.remember(text)
        moved.move(minutes=59)
        again = open_here().remember(text)
        assert (again.id, again.outcome) == (first.id, Outcome.STRENGTHENED), text


@pytest.mark.parametrize("origin", ["user", "assistant"])
@pytest.mark.parametrize("key", [None, "length"])
def test_what_holds_again_is_the_newest_at_once(
    open_here: Open, moved: Clock, origin: str, key: str | None
) -> None:
    texts = ["Prefers short answers", "Prefers long answers", "Prefers short answers"]
    told = []
    for text in texts:
        store = open_here()
        store.search("answers", threshold=0)
        moved.move(minutes=1)
        told.append(store.remember(text, origin=origin, key=key))
    assert [receipt.outcome for receipt in told] == [Outcome.STORED] * 3
    newest = max(
        (hit.memory for hit in open_here().search("Prefers which answers?", threshold=0)),
        key=lambda memory: memory.happened_at,
    )
    assert (newest.id, newest.text) == (told[2].id, texts[2])
    if key is not None:
        assert [memory.id for memory in store.browse(mode="current").memories] == [told[2].id]


def test_a_search_in_between_makes_no_echo_of_what_holds_again(
    open_here: Open, moved: Clock
) -> None:
    store = open_here()
    for text in ("Prefers short", "Prefers long"):
        store.remember(text, origin="assistant")
        moved.move(seconds=1)
    assert len(store.search("what does the user prefer?", threshold=0)) == 2
    assert outcome(store.remember("Prefers short", origin="assistant")) == "stored"


def test_what_was_stored_in_another_scope_in_between_does_not_count(
    open_here: Open, moved: Clock
) -> None:
    store = open_here()
    first = store.remember("The build failed", scope="Apollo")
    for number in range(30):
        moved.move(seconds=1)
        open_here().remember(f"note {number}", scope="Other")
    again = store.remember("The build failed", scope="Apollo")
    assert (again.id, outcome(again)) == (first.id, "strengthened")


def test_an_echo_of_a_wider_scope_minds_what_both_scopes_were_told(
    open_here: Open, moved: Clock
) -> None:
    store = open_here()
    store.remember("Prefers short", origin="assistant")
    assert store.search("prefers", scope="Global", threshold=0)
    store.scopes.create("Apollo")
    echo = store.remember("Prefers short", scope="Apollo", origin="assistant")
    assert outcome(echo) == "echo"
    store.remember("Prefers long", scope="Apollo", origin="assistant")
    again = store.remember("Prefers short", scope="Apollo", origin="assistant")
    assert outcome(again) == "stored"


def test_what_moved_out_of_a_scope_was_stored_there_in_between(
    open_here: Open, moved: Clock
) -> None:
    store = open_here()
    store.remember("Prefers short", scope="Apollo")
    other = store.remember("Prefers long", scope="Apollo")
    store.revise(other.id, revision=1, scope="Elsewhere")
    assert outcome(store.remember("Prefers short", scope="Apollo")) == "stored"


def revise_other(store: MemoryStore, other: Receipt) -> None:
    store.revise(other.id, revision=1, text="Prefers long")


def store_and_undo(store: MemoryStore, _: Receipt) -> None:
    store.remember("Prefers long")
    store.undo()


def store_and_erase(store: MemoryStore, _: Receipt) -> None:
    store.forget(store.remember("Prefers long").id, hard=True)


@pytest.mark.parametrize("change", [revise_other, store_and_undo, store_and_erase])
def test_every_change_of_another_memory_counts_as_something_in_between(
    open_here: Open, change: Callable[[MemoryStore, Receipt], None]
) -> None:
    store = open_here()
    other = store.remember("Prefers something")
    store.remember("Prefers short")
    change(store, other)
    assert outcome(store.remember("Prefers short")) == "stored"


def test_erasing_what_was_stored_before_is_nothing_in_between(open_here: Open) -> None:
    store = open_here()
    other = store.remember("Prefers something")
    first = store.remember("Prefers short")
    store.forget(other.id, hard=True)
    again = store.remember("Prefers short")
    assert (again.id, outcome(again)) == (first.id, "strengthened")


@pytest.mark.parametrize(
    ("letters", "expected"),
    [("AA", "sr"), ("ABA", "sss"), ("ABB", "ssr"), ("ABAA", "sssr"), ("AABA", "srss")],
)
def test_within_a_batch_only_what_follows_itself_is_a_repeat(
    open_here: Open, letters: str, expected: str
) -> None:
    store = open_here()
    receipts = store.remember_many([{"text": f"fact {letter}"} for letter in letters])
    assert "".join("s" if outcome(each) == "stored" else "r" for each in receipts) == expected


def test_a_batch_with_other_scopes_in_between_still_repeats(open_here: Open) -> None:
    drafts = [
        {"text": "fact A", "scope": "Apollo"},
        {"text": "fact B", "scope": "Other"},
        {"text": "fact A", "scope": "Apollo"},
    ]
    receipts = open_here().remember_many(drafts)
    assert [outcome(each) for each in receipts] == ["stored", "stored", "strengthened"]
    assert receipts[2].id == receipts[0].id


def test_of_a_batch_told_again_only_the_last_is_a_repeat(open_here: Open) -> None:
    drafts = [{"text": f"fact {number}"} for number in range(300)]
    open_here().remember_many(drafts)
    (again,) = open_here().remember_many(drafts[-1:])
    assert outcome(again) == "strengthened"
    receipts = open_here().remember_many(drafts)
    assert {outcome(each) for each in receipts} == {"stored"}


def test_a_time_of_its_own_makes_no_exception(open_here: Open, moved: Clock) -> None:
    store = open_here()
    first = store.remember("took the medicine", happened_at=START)
    again = store.remember("took the medicine", happened_at=START)
    assert (again.id, outcome(again)) == (first.id, "strengthened")
    other_day = store.remember("took the medicine", happened_at=START - timedelta(days=1))
    undated = store.remember("took the medicine")
    assert (outcome(other_day), outcome(undated)) == ("stored", "stored")
    moved.move(hours=2)
    late = store.remember("took the medicine", happened_at=START)
    assert outcome(late) == "stored"


@pytest.mark.parametrize("hours", [-48, -2, 2, 48])
def test_a_clock_that_went_back_is_not_within_the_hour(
    open_here: Open, moved: Clock, hours: int
) -> None:
    store = open_here()
    store.remember("took the medicine")
    moved.move(hours=hours)
    assert outcome(store.remember("took the medicine")) == "stored"


def test_a_value_told_again_a_day_later_is_dated_anew(open_here: Open, moved: Clock) -> None:
    store = open_here()
    first = store.remember("Lives in Berlin", key="city", kind="fact")
    moved.move(days=1)
    second = store.remember("Lives in Berlin", key="city", kind="fact")
    assert (outcome(second), second.superseded) == ("stored", (first.id,))
    for mode in ("current", "strict"):
        (hit,) = store.search("where does the user live?", threshold=0, mode=mode)
        assert (hit.memory.id, hit.memory.happened_at) == (second.id, moved.now)
    history = store.journal.history("city")
    assert [memory.id for memory in history] == [first.id, second.id]
    assert [memory.status for memory in history] == [Status.SUPERSEDED, Status.CURRENT]
    assert history[0].valid_to == history[1].held_from
    assert store.journal.conflicts() == []


def test_a_value_with_a_beginning_of_its_own_told_again_is_no_conflict(
    open_here: Open, moved: Clock
) -> None:
    store = open_here()
    for _ in range(2):
        receipt = store.remember("Berlin", key="city", kind="fact", valid_from=START)
        assert (outcome(receipt), receipt.conflicts) == ("stored", ())
        moved.move(days=1)
    (hit,) = store.search("Berlin", threshold=0)
    assert hit.memory.id == receipt.id
    assert store.journal.conflicts() == []
    rome = store.remember("Rome", key="city", kind="fact")
    assert len(rome.superseded) == 2


def test_a_store_whose_journal_is_long_keeps_what_it_cannot_look_back_to(
    open_here: Open, moved: Clock
) -> None:
    store = open_here()
    store.remember("The build failed", scope="Apollo")
    store.remember_many([{"text": f"n{i}", "kind": "message"} for i in range(1001)])
    assert outcome(store.remember("The build failed", scope="Apollo")) == "stored"


def test_what_several_tell_at_once_is_stored_once_also_behind_many_alike(
    open_here: Open, moved: Clock
) -> None:
    for _ in range(40):
        moved.move(days=1)
        assert outcome(open_here().remember("took the medicine")) == "stored"
    moved.move(days=1)
    stores = [open_here() for _ in range(6)]
    with ThreadPoolExecutor(6) as threads:
        receipts = list(threads.map(lambda store: store.remember("took the medicine"), stores))
    assert sorted(map(outcome, receipts)) == ["stored"] + ["strengthened"] * 5
