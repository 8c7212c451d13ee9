"""Undo without a number always finds the next step, and says what it skipped and why."""

from __future__ import annotations

import pytest

from infinite_memory import Conflict, MemoryStore, NotFound, Status
from infinite_memory.core.values.entry import Operation


def test_what_was_erased_is_skipped_by_name_and_older_changes_are_reached(
    store: MemoryStore,
) -> None:
    store.remember("older", id="older")
    store.remember("one", id="a")
    store.revise("a", revision=1, text="two")
    store.forget("a", hard=True)
    undone = store.undo()
    assert undone.memories == ("older",)
    assert [entry.number for entry, _ in undone.skipped] == [4, 3, 2]
    reasons = [reason for _, reason in undone.skipped]
    assert "erased memory 'a' for good" in reasons[0]
    assert all("memory 'a' was erased since" in reason for reason in reasons[1:])
    with pytest.raises(NotFound, match=r"nothing left to undo.*skipped: entry 4 erased memory 'a'"):
        store.undo()


def test_of_a_batch_what_is_left_is_undone_and_what_was_erased_is_named(store: MemoryStore) -> None:
    store.remember_many([{"text": f"text {n}", "id": f"m{n}"} for n in range(5)])
    store.forget("m1", hard=True)
    undone = store.undo()
    assert undone.memories == ("m0", "m2", "m3", "m4")
    assert undone.erased == ("m1",)
    store.undo(undone.entry)
    assert {store.get(each).status for each in undone.memories} == {Status.CURRENT}


def test_what_it_replaced_comes_back_though_the_memory_itself_was_erased(
    store: MemoryStore,
) -> None:
    store.remember("works at Acme", id="old", key="job")
    store.remember("works at Globex", id="new", key="job")
    store.forget("new", hard=True)
    assert store.undo().erased == ("new",)
    assert store.get("old").status is Status.CURRENT


def test_a_link_to_an_erased_memory_is_not_entered_again(store: MemoryStore) -> None:
    store.remember("works at Acme", id="old", key="job")
    store.remember("works at Globex", id="new", key="job")
    undone = store.undo()
    store.forget("old", hard=True)
    store.undo(undone.entry)
    assert store.get("new").status is Status.CURRENT
    assert store.journal.entries(limit=1)[0].action.links == ()


def test_a_dry_run_says_what_would_be_and_changes_nothing(store: MemoryStore) -> None:
    store.remember("one", id="a")
    store.revise("a", revision=1, text="two", tags=["x"])
    store.forget("a", hard=False)
    before = store.journal.entries(limit=100)
    shown = store.undo(dry_run=True)
    assert (shown.entry, shown.undone.number, shown.memories) == (None, 3, ("a",))
    (change,) = shown.changes
    assert (change.before.status, change.after.status) == (Status.FORGOTTEN, Status.CURRENT)
    assert change.differing == ("status",)
    assert store.journal.entries(limit=100) == before
    done = store.undo()
    assert (done.undone, done.changes[0].differing) == (shown.undone, ("status",))
    assert store.undo(2, dry_run=True).changes[0].differing == ("text", "tags")
    with pytest.raises(NotFound):
        store.undo(40, dry_run=True)


def test_a_change_in_a_private_scope_is_marked(store: MemoryStore) -> None:
    store.scopes.create("health", sensitivity="private")
    store.remember("the blood test", id="a", scope="health")
    store.remember("a walk", id="b")
    assert store.undo(2, dry_run=True).changes[0].is_private
    assert not store.undo(3, dry_run=True).changes[0].is_private


def test_an_erasure_more_than_a_page_of_the_journal_ago_is_noticed(store: MemoryStore) -> None:
    store.remember("one", id="a")
    store.forget("a", hard=True)
    store.remember("another", id="a")
    # 100 entries of the memory are a page: the erasure stands on the second, then on the third.
    for revision in range(1, 231):
        store.revise("a", revision=revision, text=f"text {revision}")
        if revision in (98, 99, 100, 101, 198, 199, 200, 230):
            with pytest.raises(Conflict, match="memory 'a' was erased since"):
                store.undo(1)
    store.revise("a", revision=231, text="one")
    with pytest.raises(Conflict, match="memory 'a' was erased since"):
        store.undo(1)
    assert store.get("a").text == "one"


def test_an_undo_of_an_undo_counts_as_done_again(store: MemoryStore) -> None:
    store.remember("one", id="a")
    store.remember("two", id="b")
    redo = store.undo().entry
    store.undo(redo)
    assert store.undo().memories == ("b",)
    assert store.undo().memories == ("a",)
    with pytest.raises(NotFound):
        store.undo()
    assert {entry.action.operation for entry in store.journal.entries(limit=3)} == {Operation.UNDO}
