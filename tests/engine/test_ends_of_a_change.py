"""A change of the model comes to its end, whatever is damaged, dropped or closed meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory import Config, MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.engine import active_model
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

OLD, NEW = HashingEmbedder(64), HashingEmbedder(32)
TEXTS = {f"m{number}": f"memory {number} about subject{number}" for number in range(6)}


class Gated(HashingEmbedder):
    """Embeds questions only while its gate is open, and counts them."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()
        self.questions: list[str] = []

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.asked.set()
        assert self.gate.wait(120)
        self.questions.append(text)
        return super().embed_query(text)


Reopen = Callable[..., MemoryStore]


@pytest.fixture
def reopen(tmp_path: Path) -> Iterator[Reopen]:
    """Open the store with a storage of its own, as another process would."""
    opened: list[tuple[MemoryStore, SqliteStorage]] = []

    def open_one(embedder: Embedder, former: Embedder | None = None) -> MemoryStore:
        storage = SqliteStorage.open(tmp_path / "s")
        config = Config(home=tmp_path / "home")
        store = MemoryStore.open(
            config=config, storage=storage, embedder=embedder, former_embedder=former
        )
        opened.append((store, storage))
        return store

    yield open_one
    for store, storage in opened:
        store.close()
        storage.close()


def fill(store: MemoryStore) -> None:
    for memory_id, text in TEXTS.items():
        store.remember(text, id=memory_id)


def embed_all(store: MemoryStore) -> None:
    while store.models.catch_up():
        pass


def damage(folder: Path, sql: str) -> None:
    connection = apsw.Connection(str(folder / "s" / "memory.db"))
    connection.execute(sql)
    connection.close()


def by_meaning(store: MemoryStore, text: str) -> list[str]:
    hits = store.search(text, arms=["meaning"], threshold=0.0, limit=1)
    return [hit.memory.id for hit in hits]


@pytest.mark.parametrize("many", [1, 6])
def test_damaged_memories_do_not_hold_a_change_up(
    reopen: Reopen, tmp_path: Path, many: int
) -> None:
    fill(reopen(OLD))
    damage(tmp_path, f"UPDATE memories SET text = 'lies' WHERE number <= {many}")
    store = reopen(NEW, OLD)
    assert sum(iter(store.models.catch_up, 0)) == 6 - many
    assert store.stats().answering == NEW.model


def test_a_fresh_handle_finds_that_nothing_waits_but_what_is_damaged(
    reopen: Reopen, tmp_path: Path
) -> None:
    fill(reopen(OLD))
    damage(tmp_path, "UPDATE memories SET text = 'lies' WHERE number IN (1, 4)")
    storage = SqliteStorage.open(tmp_path / "s")
    assert storage.pending(NEW.model, limit=1) == ["m1"]
    assert storage.pending(NEW.model, limit=9) == ["m1", "m2", "m4", "m5"]
    storage.close()
    embed_all(reopen(NEW, OLD))
    storage = SqliteStorage.open(tmp_path / "s")
    assert storage.pending(NEW.model, limit=1) == []
    assert storage.damaged == {"m0", "m3"}
    storage.close()


def test_a_memory_that_is_found_damaged_only_when_it_is_read_does_not_stop_the_work(
    reopen: Reopen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinite_memory.storage.sqlite.feed._MOST_CHECKED", 0)
    fill(reopen(OLD))
    damage(tmp_path, "UPDATE memories SET text = 'lies' WHERE number = 1")
    store = reopen(NEW, OLD)
    assert store.models.catch_up(limit=1) == 1
    assert sum(iter(store.models.catch_up, 0)) == 4


def test_a_former_model_whose_vectors_were_dropped_is_not_asked_for_long(
    reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active_model, "_PATIENCE_SECONDS", 0.01)
    fill(reopen(OLD))
    new = Gated(32)
    idle, working = reopen(new, OLD), reopen(NEW, OLD)
    assert by_meaning(idle, TEXTS["m3"]) == ["m3"]
    embed_all(working)
    working.models.drop_others()
    new.gate.clear()
    threading.Timer(0.5, new.gate.set).start()
    assert by_meaning(idle, TEXTS["m3"]) == ["m3"]
    assert idle.stats().answering == NEW.model


def test_an_answer_by_the_former_model_says_when_some_have_no_vector_by_it(
    reopen: Reopen,
) -> None:
    fill(reopen(OLD))
    store = reopen(NEW, OLD)
    assert store.search("memory").note is None
    store.remember("long " * 20_000, id="long")
    note = store.search("memory").note
    assert note is not None
    assert "memories that hashing-64 has not embedded are compared by words alone" in note
    assert store.search("memory", arms=["words"]).note is None


def test_a_closed_store_runs_the_new_model_no_more(
    reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active_model, "_CLOSING_SECONDS", 120.0)
    fill(reopen(OLD))
    new = Gated(32)
    store = reopen(new, OLD)
    assert by_meaning(store, TEXTS["m3"]) == ["m3"]
    embed_all(reopen(NEW, OLD))
    new.gate.clear()
    assert by_meaning(store, TEXTS["m3"]) == ["m3"]  # by the former one: the new one is held up
    assert new.asked.wait(60)
    closing = threading.Thread(target=store.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()  # it waits for what runs
    new.gate.set()
    closing.join(60)
    assert not closing.is_alive()
    assert [
        each.name for each in threading.enumerate() if each.name == "infinite-memory-model"
    ] == []
    assert new.questions == ["warm up"]


class Switching(HashingEmbedder):
    """Lets the new model take over at the moment when a question is looked at."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self.then: Callable[[], Any] = bool

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector = super().embed_query(text)
        self.then()
        return vector

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed(texts)


def test_the_sentences_of_an_overview_are_compared_by_one_model(
    reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active_model, "_PATIENCE_SECONDS", 120.0)
    old = Switching(64)
    writer = reopen(OLD)
    text = " ".join(f"Harbour {name} is quiet in the early morning." for name in "abcdefghijkl")
    writer.remember(text, id="harbour")
    store, other = reopen(NEW, old), reopen(NEW, OLD)
    question = "harbour quiet"
    assert [hit.memory.id for hit in store.search(question, threshold=0.0)] == ["harbour"]
    asked = iter([0, 1])

    def change() -> None:
        if next(asked, 0):
            embed_all(other)
            assert store.stats().answering == NEW.model

    old.then = change
    hits = store.search(question, depth="overview", threshold=0.0)
    assert [hit.memory.id for hit in hits] == ["harbour"]
    assert next(asked, None) is None
    assert store.stats().answering == NEW.model


def test_what_is_stored_while_the_new_model_is_made_ready_is_embedded_by_it_too(
    reopen: Reopen,
) -> None:
    fill(reopen(OLD))
    coming = Held()
    store = reopen(coming, OLD)
    assert by_meaning(store, TEXTS["m3"]) == ["m3"]  # by the former one
    embed_all(reopen(NEW, OLD))
    changing = threading.Thread(target=store.models.catch_up)  # finds that nothing waits
    changing.start()
    assert coming.asked.wait(120)
    store.remember("stored while nothing waits any more", id="late")
    coming.gate.set()
    changing.join(120)
    stats = store.stats()
    assert stats.answering == NEW.model
    assert stats.by_model[NEW.model] == 7


class Held(HashingEmbedder):
    """Embeds texts at any time, but questions only once its gate is open."""

    def __init__(self) -> None:
        super().__init__(32)
        self.gate = threading.Event()
        self.asked = threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return HashingEmbedder(32).embed(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.asked.set()
        assert self.gate.wait(120)
        return super().embed_query(text)
