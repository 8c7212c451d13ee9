"""Near-duplicates among statements, as groups that a person settles."""

from __future__ import annotations

import pytest

from infinite_memory import InvalidInput, MemoryStore

KEY = "The spare key of the studio hangs behind the third kiln shelf"


def test_statements_that_say_nearly_the_same_are_grouped_however_old(store: MemoryStore) -> None:
    for text in (KEY, f"{KEY}.", f"{KEY}!"):
        store.remember(text, kind="fact", scope="Studio", similar=False)
    store.remember(KEY, scope="Studio")
    store.upkeep.optimize(jobs=["link-duplicates"])
    store.remember_many([{"text": f"Buoy {n} is red", "kind": "fact"} for n in range(120)])
    ((third, second, first),) = store.graph.duplicates()
    assert [memory.text for memory in (first, second, third)] == [KEY, f"{KEY}.", f"{KEY}!"]
    assert store.graph.duplicates(scope="Global") == []
    # A word of a person settles two of them, and undo takes it back.
    store.graph.link(second.id, first.id, reason="not the same")
    store.graph.link(third.id, first.id, reason="not the same")
    assert store.graph.duplicates() in ([[third, second]], [])
    store.undo()
    store.undo()
    store.revise(third.id, revision=1, supersedes=[first.id, second.id])
    assert store.graph.duplicates() == []
    with pytest.raises(InvalidInput):
        store.graph.duplicates(limit=0)


def test_duplicates_of_a_private_scope_are_listed_by_its_name_alone(store: MemoryStore) -> None:
    store.scopes.create("diary")
    for text in (KEY, f"{KEY}!"):
        store.remember(text, kind="fact", scope="diary", similar=False)
    store.upkeep.optimize(jobs=["link-duplicates"])
    store.scopes.update("diary", sensitivity="private")
    with store.confine(scopes=["diary"]) as handle:
        assert handle.graph.duplicates() == []
        (group,) = handle.graph.duplicates(scope="diary")
        assert len(group) == 2
