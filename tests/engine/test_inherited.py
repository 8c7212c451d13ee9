"""The place of what a scope inherits: among its own memories, behind them, or nowhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from infinite_memory import InvalidInput, MemoryStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    """A store in which the newest memories are those that `lander` inherits."""
    store.scopes.create("apollo")
    store.scopes.create("lander", parent="apollo")
    for day, scope in enumerate(["lander", "lander", "apollo", "Global", "lander", "Global"]):
        store.remember(
            f"The launch log of day {day}",
            id=f"{scope}-{day}",
            scope=scope,
            happened_at=NOON + timedelta(days=day),
        )
    return store


OWN = ["lander-4", "lander-1", "lander-0"]
INHERITED = ["Global-5", "Global-3", "apollo-2"]


@pytest.mark.parametrize("limit", range(1, 8))
def test_a_list_by_pages_of_any_size_has_the_own_memories_first(
    filled: MemoryStore, limit: int
) -> None:
    listed: list[str] = []
    after = None
    while True:
        page = filled.browse(scope="lander", inherited="last", limit=limit, after=after)
        assert page.memories
        listed += [memory.id for memory in page.memories]
        after = page.next
        if after is None:
            break
    assert listed == OWN + INHERITED


@pytest.mark.parametrize("limit", range(1, 8))
def test_a_search_has_the_own_memories_first(filled: MemoryStore, limit: int) -> None:
    hits = filled.search("the launch log", scope="lander", inherited="last", limit=limit)
    own, rest = [hit.memory.scope == "lander" for hit in hits], max(0, limit - 3)
    assert own == ([True] * 3)[:limit] + [False] * min(3, rest)
    assert (hits.matches, len(hits) + hits.more) == (6, 6)
    assert hits.scopes == ("Global", "apollo", "lander")


def test_inherited_memories_can_be_left_out(filled: MemoryStore) -> None:
    page = filled.browse(scope="lander", inherited="none")
    assert [memory.id for memory in page.memories] == OWN
    assert {hit.memory.scope for hit in filled.search("log", scope="lander", inherited="none")} == {
        "lander"
    }
    recalled = filled.recall_by_time(when="always", scope="lander", inherited="none")
    assert [memory.id for memory in recalled] == OWN[::-1]


def test_without_a_scope_the_default_scope_leads(open_store: Callable[..., MemoryStore]) -> None:
    with open_store(default_scope="work") as store:
        store.remember("A note at work", id="work")
        store.remember("A note for all", id="all", scope="Global")
        page = store.browse(inherited="last")
        assert [memory.id for memory in page.memories] == ["work", "all"]
        assert [memory.id for memory in store.browse(inherited="none").memories] == ["work"]


def test_every_scope_inherits_nothing_further(filled: MemoryStore) -> None:
    in_time = [memory.id for memory in filled.browse(scope="ALL").memories]
    assert [m.id for m in filled.browse(scope="ALL", inherited="last").memories] == in_time


def test_what_has_no_such_order_is_refused(filled: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="'last' is for a search or a list"):
        filled.recall_by_time(when="always", scope="lander", inherited="last")
    with pytest.raises(InvalidInput, match="offset 2 cannot go together"):
        filled.search("log", scope="lander", inherited="last", offset=2)
    with pytest.raises(InvalidInput, match="'first'"):
        filled.browse(scope="lander", inherited="first")
