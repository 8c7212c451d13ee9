"""What a program meets in its first minute: what values look like, and what a slip is answered."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from infinite_memory import AsyncMemoryStore, InvalidInput, MemoryStore


def test_values_and_groups_are_shown_in_a_line(memory_store: MemoryStore) -> None:
    memory_store.remember("Alice drinks tea " * 20)
    assert repr(memory_store.search("tea")[0]).startswith("Hit('Alice drinks tea Alice")
    assert repr(memory_store.scopes) == "<Scopes of a store, open, memory>"
    awaited = AsyncMemoryStore(memory_store)
    assert repr(awaited) == "<AsyncMemoryStore of <MemoryStore open, memory>>"
    assert {"remember", "search", "scopes", "profile"} <= set(dir(memory_store)) & set(dir(awaited))


def test_values_travel_to_another_process_and_a_store_does_not(memory_store: MemoryStore) -> None:
    memory_store.remember("Alice drinks tea", happened_at="yesterday")
    for value in (hits := memory_store.search("tea"), hits[0], memory_store.browse()):
        assert pickle.loads(pickle.dumps(value)) == value
    with pytest.raises(TypeError, match="open it again in the other one"):
        pickle.dumps(memory_store)


SLIPS: list[tuple[Callable[[Any], object], type[Exception], str]] = [
    (lambda _: MemoryStore("folder"), TypeError, r"MemoryStore\.open"),  # type: ignore[arg-type]
    (lambda store: store.search("tea", limt=3), InvalidInput, "the nearest is 'limit'"),
    (lambda store: store.search("tea", tag="x"), InvalidInput, "the nearest is 'tags'"),
    (lambda store: store.remember("x", happend_at=1), InvalidInput, "'happened_at'"),
    (lambda store: store.remember("x", tags="abc"), InvalidInput, "must be a list of texts"),
]


@pytest.mark.parametrize(("slip", "error", "answer"), SLIPS)
def test_a_slip_is_answered_with_the_way_out(
    memory_store: MemoryStore, slip: Any, error: type[Exception], answer: str
) -> None:
    with pytest.raises(error, match=answer):
        slip(memory_store)
