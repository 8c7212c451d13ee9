"""The limit and the threshold that the configuration gives a search without any."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.values.hits import Step

Open = Callable[..., MemoryStore]

DRAFTS = 14


def fill(store: MemoryStore) -> MemoryStore:
    for number in range(DRAFTS):
        store.remember(f"draft {number} of the harbour plan", id=f"m{number}", tags=["draft"])
    return store


@pytest.mark.parametrize("depth", ["normal", "overview"])
def test_a_search_without_a_limit_takes_the_configured_one(open_store: Open, depth: str) -> None:
    store = fill(open_store(search={"limit": 3}))
    assert len(store.search("harbour plan", depth=depth)) == 3
    assert len(store.search("harbour plan", depth=depth, limit=12)) == 12
    fourth = store.search("harbour plan", depth=depth, limit=4)[3].memory.id
    assert store.why_not("harbour plan", fourth, depth=depth).step is Step.LIMIT
    assert store.why_not("harbour plan", fourth, depth=depth, limit=4).step is Step.FOUND


def test_without_the_setting_a_search_returns_ten(open_store: Open) -> None:
    assert len(fill(open_store()).search("harbour plan")) == 10


def test_an_exhaustive_search_stays_exhaustive(open_store: Open) -> None:
    store = fill(open_store(search={"limit": 3, "threshold": 1.0}))
    hits = store.search("harbour plan", depth="exhaustive")
    assert (len(hits), hits.below) == (DRAFTS, 0)


def test_an_exhaustive_search_returns_no_less_than_another(open_store: Open) -> None:
    store = open_store(search={"limit": 60})
    for number in range(70):
        store.remember(f"draft {number} of the harbour plan")
    assert len(store.search("harbour plan", depth="exhaustive")) == 60


@pytest.mark.parametrize("depth", ["normal", "overview"])
def test_a_configured_threshold_cuts_exactly_as_a_given_one(open_store: Open, depth: str) -> None:
    store = fill(open_store(search={"threshold": 0.999}))
    query = "a harbour far away"
    configured = store.search(query, depth=depth)
    given = store.search(query, depth=depth, threshold=0.999)
    assert [hit.memory.id for hit in configured] == [hit.memory.id for hit in given] == []
    assert configured.below == given.below > 0
    assert store.why_not(query, "m0", depth=depth).step is Step.THRESHOLD
    assert len(store.search(query, depth=depth, threshold=0)) == 10


def test_without_the_setting_the_first_five_are_never_cut(open_store: Open) -> None:
    assert len(fill(open_store()).search("a harbour far away")) >= 5


def test_lists_keep_their_own_size(open_store: Open) -> None:
    store = fill(open_store(search={"limit": 3}))
    assert len(store.browse().memories) == DRAFTS
    assert len(store.recall_by_time(when="always")) == DRAFTS


def test_the_settings_do_not_change_how_much_is_forgotten(open_store: Open) -> None:
    store = fill(open_store(search={"limit": 3, "threshold": 1.0}))
    assert store.bulk.preview_forget("draft of the harbour plan", threshold=0).count == 10
    assert store.bulk.preview_forget("draft of the harbour plan").count == 10
