"""An embedder that somebody else wrote may raise anything; what was stored stays stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory import MemoryStore, Outcome
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.testing.embedders import HashingEmbedder


class BrokenEmbedder(HashingEmbedder):
    """Raises, or returns, what it is told to, until it is mended."""

    def __init__(self, fault: Exception | NDArray[np.generic] | None) -> None:
        super().__init__()
        self.fault = fault

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if isinstance(self.fault, Exception):
            raise self.fault
        return super().embed(texts) if self.fault is None else self.fault


FAULTS = {
    "a runtime error": RuntimeError("CUDA is gone"),
    "a failed connection": ConnectionError("no route to the host"),
    "too few rows": np.zeros((0, 64), np.float32),
    "a double": np.zeros((1, 64)),
    "not a number": np.full((1, 64), np.nan, np.float32),
    "no rows at all": np.float32(3),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_text_is_stored_and_found_by_its_words_whatever_the_embedder_does(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = BrokenEmbedder(FAULTS[name])
    with MemoryStore.open("memory://", embedder=embedder) as store:
        receipt = store.remember("the deadline is June 5", id="a")
        assert (receipt.outcome, receipt.searchable) == (Outcome.STORED, Searchable.WORDS)
        assert "1 memory waits to be embedded" in caplog.text
        revised = store.revise("a", revision=1, text="the deadline is June 6")
        assert (revised.outcome, revised.searchable) == (Outcome.REVISED, Searchable.WORDS)
        assert [hit.memory.id for hit in store.search("deadline", arms=["words"])] == ["a"]
        assert store.models.catch_up() == 0
        embedder.fault = None
        assert store.models.catch_up() == 1
        assert store.search("deadline", arms=["meaning"])[0].memory.id == "a"


def test_what_the_user_ends_is_not_kept_going() -> None:
    class Interrupted(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:  # noqa: ARG002
            raise KeyboardInterrupt

    with MemoryStore.open("memory://", embedder=Interrupted()) as store:
        with pytest.raises(KeyboardInterrupt):
            store.remember("one", id="a")
        assert store.get("a").text == "one"
