"""A short text and its vectors are one commit where the model is loaded; else the text is first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory import EmbedderError, MemoryStore, Receipt
from infinite_memory.core.values.entry import Operation
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import collect_statements, count_calls

TEXT = "The budget of the garden was agreed on in winter"
MOST_CALLS = 2_350


class Watched(HashingEmbedder):
    """Looks, before it embeds a text of the store, whether the text is stored already."""

    def __init__(self, folder: Path, *, is_loaded: bool = True, fault: str = "") -> None:
        super().__init__()
        self.database = str(folder / "memory.db")
        self.loaded = is_loaded
        self.fault = fault
        self.found_stored: list[bool] = []

    @property
    def is_loaded(self) -> bool:
        return self.loaded

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        connection = apsw.Connection(self.database, flags=apsw.SQLITE_OPEN_READONLY)
        query = "SELECT count(*) FROM memories WHERE instr(text, ?)"
        self.found_stored += [bool(connection.execute(query, (t,)).get) for t in texts]
        connection.close()
        if self.fault == "error":
            raise EmbedderError("the model is gone")
        vectors = super().embed(texts)
        return vectors * 2 if self.fault == "vectors" else vectors


def _remember(
    folder: Path, embedder: HashingEmbedder, work: Callable[[MemoryStore], Receipt]
) -> tuple[Receipt, int]:
    """Return the receipt of what `work` stores, and how many commits it took."""
    with (
        collect_statements() as statements,
        MemoryStore.open(folder, embedder=embedder) as store,
    ):
        store.remember("A first note, so that the model is decided")
        store.search("note")
        if isinstance(embedder, Watched):
            embedder.found_stored.clear()
        before = len(statements)
        receipt = work(store)
        return receipt, sum(sql == "COMMIT" for sql, _ in statements[before:])


def test_a_short_text_is_stored_with_its_vectors_in_one_commit_and_one_undo_takes_it_back(
    tmp_path: Path,
) -> None:
    embedder = Watched(tmp_path)
    receipt, commits = _remember(tmp_path, embedder, lambda store: store.remember(TEXT))
    assert (receipt.searchable, commits, embedder.found_stored) == ("meaning", 1, [False])
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        assert store.models.catch_up() == 0
        assert store.search(TEXT, arms=["meaning"], limit=1)[0].id == receipt.id
        assert [entry.action.operation for entry in store.journal.entries(limit=1)] == [
            Operation.REMEMBER
        ]
        store.undo()
        assert receipt.id not in [memory.id for memory in store.browse().memories]


@pytest.mark.parametrize("reason", ["not loaded", "long"])
def test_a_text_is_stored_first_where_its_vectors_may_take_long(
    tmp_path: Path, reason: str
) -> None:
    embedder = Watched(tmp_path, is_loaded=reason != "not loaded")
    text = TEXT if reason != "long" else f"{TEXT}. " * 50
    receipt, commits = _remember(tmp_path, embedder, lambda store: store.remember(text))
    assert (receipt.searchable, commits) == ("meaning", 2)
    assert all(embedder.found_stored)


@pytest.mark.parametrize("fault", ["error", "vectors"])
def test_a_text_is_stored_although_its_vectors_cannot_be_made(tmp_path: Path, fault: str) -> None:
    embedder = Watched(tmp_path)

    def remember(store: MemoryStore) -> Receipt:
        embedder.fault = fault
        return store.remember(TEXT)

    receipt, _ = _remember(tmp_path, embedder, remember)
    assert (receipt.outcome, receipt.searchable) == ("stored", "words")
    assert receipt.pending
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        assert store.get(receipt.id).text == TEXT
        assert store.models.catch_up() == 1


def test_what_a_remember_stored_is_found_without_reading_it_again(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.remember_many(
            [{"text": f"note {n} on the plan of part {n % 7}"} for n in range(1_000)]
        )
        other = MemoryStore.open(tmp_path, embedder=HashingEmbedder())
        for number in range(5):
            store.remember(f"{TEXT} {number}")
            other.remember(f"Another process stores {number} meanwhile")
        other.close()
        counts = [count_calls(lambda: store.remember(f"{TEXT} {n}")) for n in range(9, 12)]  # noqa: B023
        print(f"remember: {min(counts):,} calls among 1,000 memories")
        assert min(counts) <= MOST_CALLS
        found = {hit.memory.text for hit in store.search(TEXT, limit=20)}
        assert {f"{TEXT} {n}" for n in (*range(5), *range(9, 12))} <= found
        assert store.verify().sound
