"""Every change is entered in the journal, and can be undone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from infinite_memory import Conflict, MemoryStore, NotFound, Status
from infinite_memory.core.values.entry import Operation

START = datetime(2026, 1, 1, tzinfo=UTC)


def operations(store: MemoryStore) -> list[str]:
    return [str(entry.action.operation) for entry in reversed(store.journal.entries(limit=100))]


def test_every_change_has_one_entry(store: MemoryStore) -> None:
    first = store.remember("one", scope="apollo")
    store.remember_many([{"text": "two"}, {"text": "three"}])
    store.revise(first.id, revision=1, text="uno")
    store.forget(first.id)
    store.forget(first.id, hard=True)
    store.scopes.create("zeus", description="father")
    store.scopes.update("zeus", description="thunder")
    store.scopes.delete("zeus")
    assert operations(store) == [
        *("remember", "remember", "revise", "forget", "erase"),
        *("scope", "scope", "scope"),
    ]
    entries = store.journal.entries(limit=100)[::-1]
    steps = [[(s.before, s.after) for s in entry.action.memories] for entry in entries]
    assert steps == [[(0, 1)], [(0, 1), (0, 1)], [(1, 2)], [(2, 3)], [(3, 0)], [], [], []]
    assert {entry.action.actor.client for entry in entries} == {"python"}
    assert all(entry.action.actor.process for entry in entries)
    scopes = [(s.before, s.after) for entry in entries for s in entry.action.scopes]
    assert [before is None for before, _ in scopes] == [True, True, False, False]
    assert [after is None for _, after in scopes] == [False, False, False, True]
    assert [e.number for e in store.journal.entries(memory_id=first.id)] == [5, 4, 3, 1]
    assert [e.number for e in store.journal.entries(limit=2, before=4)] == [3, 2]


def test_what_changes_nothing_has_no_entry(store: MemoryStore) -> None:
    receipt = store.remember("one", id="a")
    store.remember("one", id="a")
    store.revise("a", revision=1, text="one")
    store.forget("a")
    store.forget("a")
    store.models.catch_up()
    store.search("one")
    assert operations(store) == ["remember", "forget"]
    assert receipt.id == "a"


def test_undo_takes_back_the_last_change_and_then_the_one_before(store: MemoryStore) -> None:
    store.remember("one", id="a", tags=["x"])
    store.revise("a", revision=1, text="two", tags=["y"])
    store.forget("a")
    assert store.undo().memories == ("a",)
    assert store.get("a").status is Status.CURRENT
    assert [hit.memory.text for hit in store.search("two")] == ["two"]
    undone = store.undo()
    assert undone.undone.action.operation is Operation.REVISE
    assert (store.get("a").text, store.get("a").tags) == ("one", ("x",))
    assert [hit.memory.text for hit in store.search("one")] == ["one"]
    store.undo()
    assert store.get("a").status is Status.FORGOTTEN
    with pytest.raises(NotFound, match="nothing left to undo"):
        store.undo()
    assert [memory.text for memory in store.journal.history("a")] == [
        "one",
        "two",
        "two",
        "two",
        "one",
        "one",
    ]


def test_an_undo_is_undone(store: MemoryStore) -> None:
    store.remember("one", id="a")
    store.revise("a", revision=1, text="two")
    undone = store.undo()
    assert store.get("a").text == "one"
    redone = store.undo(undone.entry)
    assert redone.undone.number == undone.entry
    assert store.get("a").text == "two"
    store.undo()
    assert store.get("a").text == "one"
    assert [entry.action.undoes for entry in store.journal.entries()][:3] == [2, 3, 2]


def test_a_supersession_is_undone_with_its_link(store: MemoryStore) -> None:
    old = store.remember("works at Acme", key="job", happened_at=START).id
    new = store.remember("works at Globex", key="job").id
    assert set(store.undo().memories) == {old, new}
    assert (store.get(old).status, store.get(old).valid_to) == (Status.CURRENT, None)
    assert store.get(new).status is Status.FORGOTTEN
    assert store._services.storage.links([old]) == []
    store.undo(store.journal.entries()[0].number)
    assert (store.get(old).status, store.get(new).status) == ("superseded", "current")
    assert len(store._services.storage.links([old])) == 1


def test_later_changes_stand_in_the_way(store: MemoryStore) -> None:
    store.remember("one", id="a")
    store.revise("a", revision=1, text="two")
    store.revise("a", revision=2, text="three")
    with pytest.raises(Conflict, match=r"entry 2 cannot be undone.*by entry 3") as refused:
        store.undo(2)
    assert "three" not in str(refused.value)
    undone = store.undo(3)
    with pytest.raises(Conflict, match=rf"undone already, by entry {undone.entry}"):
        store.undo(3)
    store.undo(2)
    assert store.get("a").text == "one"


def test_what_was_erased_stays_erased(store: MemoryStore) -> None:
    store.remember("one", id="a")
    store.revise("a", revision=1, text="two")
    store.forget("a", hard=True)
    for entry, why in ((3, "for good"), (2, "erased since"), (1, "erased since")):
        with pytest.raises(Conflict, match=why):
            store.undo(entry)
    with pytest.raises(NotFound, match="there is no entry 4"):
        store.undo(4)


def test_what_took_the_id_of_an_erased_memory_is_not_undone_with_it(store: MemoryStore) -> None:
    store.remember("one", id="a")
    store.forget("a", hard=True)
    store.remember("another", id="a")
    with pytest.raises(Conflict, match="erased since"):
        store.undo(1)
    assert store.get("a").status is Status.CURRENT


def test_scopes_are_undone(store: MemoryStore) -> None:
    store.scopes.create("zeus", description="father")
    store.scopes.update("zeus", description="thunder")
    assert store.undo().scopes == ("zeus",)
    assert store.scopes["zeus"].description == "father"
    store.undo()
    assert [scope.name for scope in store.scopes] == ["Global"]
    store.scopes.create("hera")
    store.scopes.delete("hera")
    store.undo()
    assert [scope.name for scope in store.scopes] == ["Global", "hera"]


def test_a_scope_in_use_by_now_stands_in_the_way(store: MemoryStore) -> None:
    store.scopes.create("zeus")
    store.remember("one", id="a", scope="zeus")
    with pytest.raises(Conflict, match="the scope 'zeus' still holds memory 'a'"):
        store.undo(1)
    assert "zeus" in [scope.name for scope in store.scopes]


def test_a_batch_is_undone_as_a_whole_or_not_at_all(store: MemoryStore) -> None:
    store.remember_many([{"text": f"text {n}", "id": f"m{n}"} for n in range(9)])
    store.revise("m4", revision=1, text="changed")
    with pytest.raises(Conflict, match="'m4'"):
        store.undo(1)
    assert {store.get(f"m{n}").status for n in range(9)} == {Status.CURRENT}
    store.undo(2)
    assert len(store.undo(1).memories) == 9
    assert {store.get(f"m{n}").status for n in range(9)} == {Status.FORGOTTEN}
