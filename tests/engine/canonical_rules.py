"""A store that was made under one rule of the canonical form, opened under another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from infinite_memory import MemoryStore, Outcome

Open = Callable[[], MemoryStore]

_FILLERS = [{"text": f"note number {number}", "scope": "notes"} for number in range(600)]


def change_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let letter case count no more, as a later release might."""
    monkeypatch.setattr("infinite_memory.search.document.canonicalize", str.casefold)
    monkeypatch.setattr("infinite_memory.search.snapshot.CANONICAL_VERSION", 1_000_000)


def make_store(store: MemoryStore) -> None:
    """Fill a store with enough for a snapshot, and two texts that the later rule makes equal."""
    store.remember_many([*_FILLERS, {"text": "Tea at nine", "id": "tea"}])
    store.remember("TEA AT NINE", tags=["loud"])
    hits = store.search("tea at nine", scope="Global", threshold=0)
    assert [hit.twins for hit in hits] == [(), ()]


def check_store(store: MemoryStore) -> None:
    """Check that only what search shows has changed."""
    assert store.verify().findings == ()
    (hit,) = store.search("tea at nine", scope="Global", threshold=0)
    assert (hit.memory.text, hit.twins) == ("TEA AT NINE", ("tea",))
    again = store.remember("TEA AT NINE", tags=["loud"])
    assert (again.id, again.outcome) == (hit.memory.id, Outcome.STRENGTHENED)
    other = store.remember("Tea at nine", tags=["loud"])
    assert other.outcome is Outcome.STORED
    assert store.verify().findings == ()
