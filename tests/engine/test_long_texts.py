"""A long text is read before its commit: a search after it reads nothing for seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.values.commit import Commit
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import count_calls

LINES = 2_000
CHANGES: dict[str, Callable[[MemoryStore, str, str], object]] = {
    "remember": lambda store, _, text: store.remember(text),
    "revise": lambda store, memory_id, text: store.revise(memory_id, revision=1, text=text),
}


@pytest.mark.parametrize("verb", CHANGES)
def test_a_search_right_after_the_commit_of_a_long_text_reads_none_of_it(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (f"Word{n} of {verb} mended src/app_{n}.py:{n} in May\n" for n in range(LINES))
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        receipt = store.remember("Apollo is a project")
        storage = store._services.storage
        commit, calls = storage.commit, []
        index = store._services.models.answering().index
        index.refresh()

        def commit_and_search(wanted: Commit) -> Any:
            done = commit(wanted)
            calls.append(count_calls(index.refresh))
            return done

        monkeypatch.setattr(storage, "commit", commit_and_search)
        CHANGES[verb](store, receipt.id, "".join(lines))
    assert calls
    assert max(calls) < 30 * LINES, "to read the text takes a hundred calls a line"
