"""Links by hand: made, listed, removed and undone, within a scope, and never in place of others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from infinite_memory import Conflict, InvalidInput, LinkType, MemoryStore, NotFound

OpenStore = Callable[..., MemoryStore]


@pytest.fixture
def linked(store: MemoryStore) -> MemoryStore:
    """Return a store with three memories in `Global` and one in "Work"."""
    for memory_id, text in {
        "a": "The harbour opens at nine",
        "b": "明天去上海",
        "c": "Tea",
    }.items():
        store.remember(text, id=memory_id)
    store.remember("The deadline is June 5", id="w", scope="Work")
    return store


def test_a_link_has_a_type_a_weight_a_maker_and_a_reason(linked: MemoryStore) -> None:
    link = linked.graph.link("a", "b", type="intent", weight=0.5, reason="去上海的船")
    assert linked.graph.links("a") == linked.graph.links("b") == (link,)
    assert (link.source, link.target, link.type, link.weight) == ("a", "b", LinkType.INTENT, 0.5)
    assert (link.made_by, link.reason) == ("python", "去上海的船")
    assert linked.graph.links("c") == ()


def test_the_same_link_again_changes_nothing(linked: MemoryStore) -> None:
    link = linked.graph.link("a", "b")
    entries = linked.journal.entries()
    assert linked.graph.link("a", "b", type="semantic", weight=0.8) == link
    assert linked.journal.entries() == entries


def test_another_weight_replaces_the_link_and_an_undo_brings_it_back(linked: MemoryStore) -> None:
    first = linked.graph.link("a", "b", weight=0.3)
    second = linked.graph.link("a", "b", weight=1, reason="surely")
    assert linked.graph.links("a") == (second,)
    linked.undo()
    assert linked.graph.links("a") == (first,)
    made = [entry for entry in linked.journal if entry.action.operation == "link"][-1]
    linked.undo(made.number)
    assert linked.graph.links("a") == ()


def test_both_directions_and_several_types_stand_beside_each_other(linked: MemoryStore) -> None:
    linked.graph.link("a", "b")
    linked.graph.link("b", "a")
    linked.graph.link("a", "b", type="context")
    assert len(linked.graph.links("b")) == 3
    assert [link.type for link in linked.graph.unlink("a", "b")] == ["context", "semantic"]
    assert [link.source for link in linked.graph.links("b")] == ["b"]


def test_a_removed_link_comes_back_with_an_undo(linked: MemoryStore) -> None:
    link = linked.graph.link("a", "b", reason="the same trip")
    assert linked.graph.unlink("a", "b", type="semantic") == (link,)
    assert linked.graph.unlink("a", "b", type="semantic") == linked.graph.unlink("a", "b") == ()
    linked.undo()
    assert linked.graph.links("a") == (link,)


def test_a_link_never_joins_two_scopes(linked: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="'Global' and memory 'w' in 'Work'"):
        linked.graph.link("a", "w")
    assert linked.graph.links("a") == ()


def test_a_forgotten_memory_is_not_linked(linked: MemoryStore) -> None:
    linked.forget("b")
    for ends in (("a", "b"), ("b", "a")):
        with pytest.raises(Conflict, match="memory 'b' was forgotten"):
            linked.graph.link(*ends)


def test_links_go_with_an_erased_memory(linked: MemoryStore) -> None:
    linked.graph.link("a", "b")
    linked.forget("b", hard=True)
    assert linked.graph.links("a") == ()
    with pytest.raises(NotFound, match="'b'"):
        linked.graph.links("b")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"type": "supersedes"}, "supersedes="),
        ({"type": "derived_from"}, "sources="),
        ({"type": "near_duplicate_of"}, "the upkeep makes it"),
        ({"type": "semantics"}, "the nearest is 'semantic'"),
        ({"type": None}, "type None is unknown"),
        *(({"weight": weight}, "weight") for weight in (0, 1.01, -1, "0.5", True, float("nan"))),
        *(({"reason": reason}, "reason") for reason in (None, 3, "two\nlines", "x" * 201)),
        ({"reason": "attachment"}, "attachments.attach"),
        ({"target": "a"}, "linked to itself"),
        ({"target": ""}, "id ''"),
        ({"target": 7}, "id 7"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(
    linked: MemoryStore, changed: dict[str, Any], message: str
) -> None:
    entries = linked.journal.entries()
    with pytest.raises(InvalidInput, match=message):
        linked.graph.link(**{"source": "a", "target": "b", **changed})
    assert (linked.graph.links("a"), linked.journal.entries()) == ((), entries)


def test_an_unknown_memory_has_no_links(linked: MemoryStore) -> None:
    for call in (
        lambda: linked.graph.links("nobody"),
        lambda: linked.graph.link("a", "nobody"),
        lambda: linked.graph.unlink("nobody", "a"),
    ):
        with pytest.raises(NotFound, match="nobody"):
            call()


def test_links_that_say_what_replaced_what_are_not_removed_by_hand(linked: MemoryStore) -> None:
    linked.remember("The harbour opens at ten", id="later", supersedes=["a"])
    (link,) = linked.graph.links("a")
    for chosen in ("supersedes", None):
        with pytest.raises(InvalidInput, match="undo the change that superseded"):
            linked.graph.unlink("later", "a", type=chosen)
    assert linked.graph.links("a") == (link,)


def test_the_link_of_an_attachment_is_neither_replaced_nor_removed(linked: MemoryStore) -> None:
    picture = linked.attachments.attach("a", uri="https://example.org/a.png", description="boats")
    with pytest.raises(InvalidInput, match="is attached to 'a'"):
        linked.graph.link("a", picture.id, type="context")
    with pytest.raises(InvalidInput, match="forget the attachment"):
        linked.graph.unlink("a", picture.id)
    linked.graph.link("a", picture.id)
    assert [link.type for link in linked.graph.unlink("a", picture.id)] == ["semantic"]
    assert [attachment.id for attachment in linked.attachments.list("a")] == [picture.id]


def test_links_made_at_once_are_all_kept(open_store: OpenStore) -> None:
    with open_store() as store:
        for number in range(9):
            store.remember(f"fact {number}", id=f"id-{number}", kind="message")
        begun = threading.Barrier(4)

        def link(number: int) -> None:
            begun.wait()
            for target in range(1, 9):
                store.graph.link("id-0", f"id-{target}", weight=(number + 1) / 4)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(link, range(4)))
        assert len(store.graph.links("id-0")) == 8


def test_no_link_joins_two_scopes_while_a_memory_moves(open_store: OpenStore) -> None:
    with open_store() as store:
        for number in range(20):
            store.remember(f"fact {number}", id=f"b{number}", kind="message")

        def move(number: int) -> None:
            store.revise(f"b{number}", revision=1, scope="Work")

        def link(number: int) -> bool:
            try:
                store.graph.link("b0", f"b{number}")
            except InvalidInput:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            moves = [pool.submit(move, number) for number in range(1, 20)]
            links = [pool.submit(link, number) for number in range(1, 20)]
            made = [number for number, call in enumerate(links, 1) if call.result()]
            [call.result() for call in moves]
        # Whoever is second, the link or the move, finds the other: nothing is left.
        assert store.graph.links("b0") == ()
        entries = {entry.number: entry.action for entry in store.journal.entries(limit=200)}
        moved = {
            step.id: number
            for number, action in entries.items()
            for step in action.memories
            if step.before == 1
        }
        for number, action in entries.items():
            for step in action.links:
                link_made = step.after or step.before
                assert link_made is not None
                assert (number < moved[link_made.target]) is (step.after is not None)
        linked = [step for action in entries.values() for step in action.links if step.after]
        assert len(linked) == len(made)


def test_a_memory_that_moves_leaves_its_links_behind_and_an_undo_brings_them_back(
    store: MemoryStore,
) -> None:
    store.remember("We move to Lyon", id="plan")
    store.remember("The lease ends in June", id="lease", sources=["plan"])
    store.remember("We move to Nice", id="later", supersedes=["plan"])
    store.graph.link("plan", "lease", type="intent")
    store.graph.link("lease", "plan")
    before = store.graph.links("plan")
    store.revise("plan", revision=store.get("plan").revision, scope="old")
    assert [link.type for link in store.graph.links("plan")] == ["supersedes"]
    assert store.graph.links("lease") == ()
    store.undo()
    assert store.graph.links("plan") == before


def test_an_undo_joins_no_two_scopes_with_a_link(store: MemoryStore) -> None:
    for name in ("plan", "lease", "bill"):
        store.remember(f"about the {name}", id=name)
    store.graph.link("plan", "lease")
    linked = store.journal.entries()[0].number
    undone = store.undo(linked)
    store.revise("plan", revision=1, scope="home")
    moved = store.journal.entries()[0].number
    with suppress(Conflict):
        store.undo(undone.entry)
    assert store.graph.links("plan") == ()
    store.revise("bill", revision=1, scope="home")
    store.graph.link("plan", "bill")
    store.undo(moved)
    assert store.get("plan").scope == "Global"
    assert store.graph.links("bill") == ()
