"""What a call costs does not depend on how many scopes the store has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from infinite_memory import MemoryStore, Scope
from infinite_memory.core.values.commit import Commit
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import count_calls

FEW, MANY = 10, 10_000


class Stores:
    """A store, and a handle confined to two of its scopes."""

    def __init__(self, folder: Path, scopes: int) -> None:
        self.store = MemoryStore.open(folder, embedder=HashingEmbedder())
        made = [Scope(name=f"team/part {n}", keywords=(f"part{n}",)) for n in range(scopes)]
        made += [Scope(name=f"closed {n}", active=False) for n in range(3)]
        self.store._services.storage.commit(Commit(scopes=made))
        for n in range(20):
            self.store.remember(f"note {n} on Apollo and its deadline", scope=f"team/part {n % 5}")
        self.handle = self.store.confine(scopes=["team/part 1", "TEAM/part 2"], client="c")
        self.first = self.handle.remember("A first note", scope="team/part 1").id
        self.numbers = count()

    def name(self, word: str) -> str:
        return f"{word} {next(self.numbers)}"


CALLS: dict[str, Callable[[Stores], object]] = {
    "search": lambda s: s.store.search("when is Apollo due in part 3?"),
    "search a scope": lambda s: s.store.search("when is Apollo due?", scope="team/part 3"),
    "search ALL": lambda s: s.store.search("when is Apollo due?", scope="ALL"),
    "browse": lambda s: s.store.browse(limit=5),
    "get": lambda s: s.store.get(s.first),
    "remember": lambda s: s.store.remember(s.name("A text"), scope="TEAM/part 4"),
    "remember in a new scope": lambda s: s.store.remember("A text", scope=s.name("new")),
    "create a scope": lambda s: s.store.scopes.create(s.name("made"), parent="team/part 3"),
    "search confined": lambda s: s.handle.search("when is Apollo due?"),
    "browse confined": lambda s: s.handle.browse(limit=5),
    "get confined": lambda s: s.handle.get(s.first),
    "remember confined": lambda s: s.handle.remember(s.name("A text"), scope="team/part 2"),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stores, Stores]]:
    few = Stores(tmp_path_factory.mktemp("few"), FEW)
    many = Stores(tmp_path_factory.mktemp("many"), MANY)
    yield few, many
    few.store.close()
    many.store.close()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_among_ten_thousand_scopes_takes_the_function_calls_of_one_among_ten(
    name: str, stores: tuple[Stores, Stores]
) -> None:
    few, many = (_count(name, part) for part in stores)
    print(f"{name}: {few:,} calls among {FEW} scopes, {many:,} among {MANY:,}")
    assert many <= 1.1 * few


def _count(name: str, stores: Stores) -> int:
    CALLS[name](stores)  # the first call may read what later ones keep
    return min(count_calls(partial(CALLS[name], stores)) for _ in range(3))


def test_a_scope_that_is_made_after_thousands_is_found_by_every_handle(
    stores: tuple[Stores, Stores],
) -> None:
    store = stores[1].store
    wide = store.confine(scopes=["late/*"], client="d")
    assert [scope.name for scope in wide.scopes] == []
    made = store.scopes.create("late/one", keywords=["Lateness"], parent="team/part 7")
    inside = store.remember("The lamp is green", scope="LATE/ONE").id
    assert [hit.memory.id for hit in store.search("the lamp of lateness", limit=1)] == [inside]
    assert list(wide.scopes) == [Scope(name="late/one", keywords=made.keywords)]
    store.forget(inside, hard=True)
    store.scopes.delete("late/one")
    assert list(wide.scopes) == []
    assert "late/one" not in [scope.name for scope in store.scopes]
