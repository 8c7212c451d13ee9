"""A receipt says what was there already: repeats and echoes; and no text is lost."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from infinite_memory import Config, MemoryStore, Outcome, Receipt, Status
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.engine.sentences import differing

START = datetime(2026, 1, 1, tzinfo=UTC)


def texts_of(store: MemoryStore) -> Counter[str]:
    found: Counter[str] = Counter()
    after = None
    while True:
        page = store.browse(limit=1000, after=after, scope="ALL", statuses=[])
        found.update(memory.text for memory in page.memories)
        after = page.next
        if after is None:
            return found


def outcomes(receipts: Sequence[Receipt]) -> list[Outcome]:
    return [receipt.outcome for receipt in receipts]


@pytest.fixture
def storage() -> InMemoryStorage:
    return InMemoryStorage()


@pytest.fixture
def store(storage: InMemoryStorage) -> Any:
    with MemoryStore.open(storage=storage, embedder=HashingEmbedder(), config=Config()) as opened:
        yield opened


def test_sentences_that_differ_in_one_fact_are_all_stored(store: MemoryStore) -> None:
    texts = differing()
    assert len(texts) == 3000
    receipts = store.remember_many([{"text": text} for text in texts])
    assert {receipt.outcome for receipt in receipts} == {Outcome.STORED}
    assert texts_of(store) == Counter(texts)


def test_a_repeat_is_counted_and_not_stored_again(
    store: MemoryStore, storage: InMemoryStorage
) -> None:
    first = store.remember("Alice likes tea", tags=["a"])
    again = store.remember("Alice likes tea\n", tags=["a"])
    assert (again.id, again.outcome, again.revision) == (first.id, Outcome.STRENGTHENED, 1)
    assert again.searchable == first.searchable
    assert storage.usage([first.id])[first.id].count == 1
    assert len(store.journal.entries(limit=9)) == 1
    assert texts_of(store) == Counter(["Alice likes tea"])


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "mine"},
        {"kind": "fact"},
        {"kind": "message"},
        {"tags": ["new"]},
        {"speaker": "Bob"},
        {"title": "Title"},
        {"context": {"a": 1}},
        {"conversation_id": "talk"},
        {"happened_at": START},
        {"scope": "Other"},
        {"origin": "assistant"},
        {"important": True},
        {"key": "tea"},
        {"valid_from": START},
        {"attachments": ["tea.png"]},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_brings_anything_new_is_stored(store: MemoryStore, fields: dict[str, Any]) -> None:
    first = store.remember("Alice likes tea")
    receipt = store.remember("Alice likes tea", **fields)
    assert receipt.outcome is Outcome.STORED
    assert receipt.id != first.id


@pytest.mark.parametrize("status", [Status.ARCHIVED, Status.FORGOTTEN])
def test_what_is_out_of_sight_is_stored_anew(store: MemoryStore, status: Status) -> None:
    first = store.remember("Alice likes tea")
    store.revise(first.id, revision=1, status=status)
    again = store.remember("Alice likes tea")
    assert again.outcome is Outcome.STORED
    assert again.id != first.id


def test_a_message_is_stored_each_time(store: MemoryStore) -> None:
    receipts = store.remember_many([{"text": "ok", "kind": "message"}] * 3)
    assert outcomes(receipts) == [Outcome.STORED] * 3
    assert len({receipt.id for receipt in receipts}) == 3


def test_tomorrow_said_again_is_another_day(store: MemoryStore) -> None:
    text = "Dentist appointment tomorrow at 9"
    first = store.remember(text, happened_at=START)
    soon = store.remember(text, happened_at=START + timedelta(minutes=5))
    later = store.remember(text, happened_at=START + timedelta(hours=8))
    assert outcomes([first, soon, later]) == [Outcome.STORED] * 3


def test_the_same_value_of_a_key_strengthens_its_holder_alone(store: MemoryStore) -> None:
    berlin = store.remember("Berlin", key="city", kind="fact")
    assert store.remember("Berlin", key="city", kind="fact").id == berlin.id
    rome = store.remember("Rome", key="city", kind="fact")
    back = store.remember("Berlin", key="city", kind="fact")
    assert back.outcome is Outcome.STORED
    assert back.superseded == (rome.id,)
    many = store.remember_many(
        [{"text": text, "key": "k", "kind": "fact"} for text in ("a1", "b2", "a1", "a1")]
    )
    stored = Outcome.STORED
    assert outcomes(many) == [stored, stored, stored, Outcome.STRENGTHENED]
    assert many[3].id == many[2].id


def test_a_repeat_within_one_batch_is_stored_once_and_counted(
    store: MemoryStore, storage: InMemoryStorage
) -> None:
    receipts = store.remember_many(
        [{"text": text} for text in ("The port is 80", "The port is 80", "Port: 80", "80")]
    )
    first, again, *others = receipts
    assert (again.id, again.outcome) == (first.id, Outcome.STRENGTHENED)
    assert outcomes(others) == [Outcome.STORED] * 2
    assert storage.usage([first.id])[first.id].count == 1
    assert sum(texts_of(store).values()) == 3


def test_what_an_assistant_has_just_recalled_is_an_echo(storage: InMemoryStorage) -> None:
    now = START
    with MemoryStore.open(
        storage=storage, embedder=HashingEmbedder(), config=Config(), clock=lambda: now
    ) as store:
        first = store.remember("Alice likes tea", tags=["a", "b"], scope="Kitchen")
        (hit,) = store.search("who likes tea", scope="Kitchen", threshold=0)
        echo = store.remember(hit.memory.text, scope="Kitchen", tags=["a"], origin="assistant")
        assert (echo.id, echo.outcome) == (first.id, Outcome.ECHO)
        elsewhere = store.remember(hit.memory.text, origin="assistant")
        by_hand = store.remember(hit.memory.text, scope="Kitchen", tags=["a", "b"])
        assert elsewhere.outcome is Outcome.STORED
        assert (by_hand.outcome, by_hand.id) == (Outcome.STRENGTHENED, first.id)
        now += timedelta(hours=1)
        soon = store.remember("Alice likes tea", scope="Kitchen", tags=["a"], origin="assistant")
        assert (soon.id, soon.outcome) == (first.id, Outcome.ECHO)
        more = store.remember(hit.memory.text, scope="Kitchen", tags=["new"], origin="assistant")
        assert more.outcome is Outcome.STORED
        # Something else was stored in between.
        again = store.remember("Alice likes tea", scope="Kitchen", tags=["a"], origin="assistant")
        assert again.outcome is Outcome.STORED
        store.search("who likes tea", scope="Kitchen", threshold=0)
        now += timedelta(hours=1, seconds=1)
        late = store.remember("Alice likes tea", scope="Kitchen", tags=["a"], origin="assistant")
        assert late.outcome is Outcome.STORED


def test_an_echo_may_leave_out_what_the_recalled_memory_says(store: MemoryStore) -> None:
    first = store.remember("Alice drinks caf\u00e9", kind="fact", key="drink", speaker="Bob")
    store.get(first.id)
    echo = store.remember("Alice drinks cafe\u0301\r\n", origin="assistant")
    assert (echo.id, echo.outcome) == (first.id, Outcome.ECHO)
    other = store.remember("Alice drinks caf\u00e9", origin="assistant", kind="lesson")
    assert other.outcome is Outcome.STORED


def test_what_another_process_recalled_is_no_echo(
    store: MemoryStore, storage: InMemoryStorage
) -> None:
    first = store.remember("Alice likes tea", kind="fact")
    with MemoryStore.open(storage=storage, embedder=HashingEmbedder(), config=Config()) as other:
        other.get(first.id)
        receipt = store.remember("Alice likes tea", origin="assistant")
        assert receipt.outcome is Outcome.STORED


def test_a_recalled_memory_that_is_damaged_by_now_is_no_echo(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        first = store.remember("Alice likes tea", id="tea")
        store.get(first.id)
        with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
            connection.execute("UPDATE memories SET text = 'Alice likes gin' WHERE id = 'tea'")
        receipt = store.remember("Alice likes tea", origin="assistant")
        assert receipt.outcome is Outcome.STORED
        assert store.get(receipt.id).text == "Alice likes tea"


@pytest.mark.parametrize("recall", ["browse", "recall_by_time", "get", "search"])
def test_every_way_to_recall_is_known_to_echo(store: MemoryStore, recall: str) -> None:
    first = store.remember("See you tomorrow")
    since = store.get(first.id).happened_at - timedelta(days=1) if recall != "get" else START
    with_words = {
        "browse": lambda: store.browse(),
        "recall_by_time": lambda: store.recall_by_time(since=since),
        "get": lambda: store.get(first.id),
        "search": lambda: store.search("see you"),
    }
    with_words[recall]()
    assert store.remember("See you tomorrow", origin="assistant").outcome is Outcome.ECHO


def _remember(folder: Path, texts: list[str]) -> None:
    with MemoryStore.open(folder, embedder=HashingEmbedder()) as store:
        for text in texts:
            store.remember(text)


@pytest.mark.thorough
def test_processes_that_remember_the_same_at_once_lose_nothing(tmp_path: Path) -> None:
    texts = [f"fact number {number} is true" for number in range(60)]
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()):
        pass
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_remember, args=(tmp_path, texts)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        found = texts_of(store)
        assert set(found) == set(texts)
        assert store.verify().sound
        ids = [each.id for each in store.browse(limit=1000).memories]
    storage = SqliteStorage.open(tmp_path)
    counted = sum(usage.count for usage in storage.usage(ids).values())
    storage.close()
    assert sum(found.values()) + counted == 3 * len(texts)
