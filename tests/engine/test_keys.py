"""Facts with a key: the one that began last holds, and none is lost."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from attrs import evolve

from infinite_memory import Conflict, InvalidInput, MemoryStore, NotFound, Status
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import LinkType

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)


def told(store: MemoryStore, text: str, day: int, key: str = "job", **fields: object) -> str:
    """Remember a fact that began on a day, counted from the start of the year."""
    moment = START + day * DAY
    receipt = store.remember(text, kind="fact", key=key, happened_at=moment, **fields)  # type: ignore[arg-type]
    return receipt.id


def held(store: MemoryStore, day: float, key: str = "job") -> list[str]:
    """Return the texts that held on a day, as the storage finds them."""
    criteria = Criteria(
        key=key,
        as_of=START + day * DAY,
        statuses=frozenset({Status.CURRENT, Status.SUPERSEDED}),
    )
    return [memory.text for memory in store._services.storage.find(criteria, limit=99).memories]


def test_a_later_fact_takes_the_place_of_the_one_before(store: MemoryStore) -> None:
    old = told(store, "works at Acme", 10)
    receipt = store.remember(
        "works at Globex", kind="fact", key="job", happened_at=START + 20 * DAY
    )
    assert receipt.superseded == (old,)
    assert (receipt.superseded_by, receipt.conflicts) == (None, ())
    closed, current = store.get(old), store.get(receipt.id)
    assert (closed.status, closed.valid_to) == (Status.SUPERSEDED, START + 20 * DAY)
    assert (current.status, current.valid_to) == (Status.CURRENT, None)
    assert [hit.memory.id for hit in store.search("where does she work")] == [receipt.id]
    (link,) = store._services.storage.links([old])
    assert (link.source, link.target, link.type) == (receipt.id, old, LinkType.SUPERSEDES)
    assert (link.made_by, link.reason) == ("python", "the same key")
    assert [memory.text for memory in store.journal.history("job")] == [
        "works at Acme",
        "works at Globex",
    ]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_the_order_of_telling_does_not_matter(store: MemoryStore, order: list[int]) -> None:
    for number in order:
        told(store, f"job {number}", number * 10)
    assert [memory.text for memory in store.journal.history("job")] == [
        f"job {n}" for n in range(4)
    ]
    assert [memory.status for memory in store.journal.history("job")] == [
        *["superseded"] * 3,
        "current",
    ]
    assert [held(store, day) for day in (-1, 0, 9.9, 10, 25, 30, 99)] == [
        [],
        ["job 0"],
        ["job 0"],
        ["job 1"],
        ["job 2"],
        ["job 3"],
        ["job 3"],
    ]


def test_many_at_once_are_placed_as_one_after_the_other(store: MemoryStore) -> None:
    drafts = [
        {"text": f"job {n}", "key": "job", "happened_at": START + n * DAY} for n in (3, 0, 2, 1)
    ]
    receipts = store.remember_many(drafts)
    assert [memory.text for memory in store.journal.history("job")] == [
        f"job {n}" for n in range(4)
    ]
    assert receipts[1].superseded_by == receipts[3].id
    assert [held(store, day) for day in (0.5, 1.5, 2.5, 3.5)] == [[f"job {n}"] for n in range(4)]


def test_what_is_told_late_is_history_at_once(store: MemoryStore) -> None:
    new = told(store, "works at Globex", 20)
    receipt = store.remember("works at Acme", key="job", happened_at=START)
    assert receipt.superseded_by == new
    assert store.get(receipt.id).status is Status.SUPERSEDED
    assert store.get(new).status is Status.CURRENT
    again = store.remember("works at Acme", key="job", happened_at=START, id=receipt.id)
    assert again.outcome == "unchanged"


def test_keys_of_other_scopes_are_others(store: MemoryStore) -> None:
    told(store, "works at Acme", 0)
    told(store, "works at Globex", 1, scope="alice")
    assert [memory.status for memory in store.journal.history("job")] == ["current"]
    assert [memory.text for memory in store.journal.history("job", scope="alice")] == [
        "works at Acme",
        "works at Globex",
    ]


def test_without_an_order_both_stay_and_are_reported(store: MemoryStore) -> None:
    one = told(store, "June 5", 0, key="deadline")
    receipt = store.remember("June 6", key="deadline", happened_at=START)
    assert receipt.conflicts == (one,)
    ((first, second),) = store.journal.conflicts()
    assert {first.id, second.id} == {one, receipt.id}
    assert {first.status, second.status} == {Status.CURRENT}
    told(store, "other", 0, key="other")
    decided = store.remember("June 7", key="deadline", happened_at=START + DAY)
    assert sorted(decided.superseded) == sorted([one, receipt.id])
    assert store.journal.conflicts() == []


def test_what_is_told_late_ends_all_that_held_until_then(store: MemoryStore) -> None:
    for text in ("June 5", "June 6"):
        told(store, text, 0, key="deadline")
    told(store, "July 1", 20, key="deadline")
    told(store, "June 9", 10, key="deadline")
    assert [held(store, day, "deadline") for day in (15, 25)] == [["June 9"], ["July 1"]]


def test_what_is_told_late_finds_its_place_when_the_holder_was_forgotten(
    store: MemoryStore,
) -> None:
    told(store, "works at Acme", 0)
    store.forget(told(store, "works at Globex", 20))
    told(store, "works at Initech", 10)
    assert [memory.valid_to for memory in store.journal.history("job")] == [START + 10 * DAY, None]
    assert held(store, 15) == ["works at Initech"]


def test_one_that_comes_back_beside_its_successor_is_reported(store: MemoryStore) -> None:
    old = told(store, "works at Acme", 0)
    store.forget(old)
    new = told(store, "works at Globex", 10)
    assert store.journal.conflicts() == []
    store.undo(2)
    assert [[memory.id for memory in group] for group in store.journal.conflicts()] == [[old, new]]
    store.revise(old, revision=3, valid_to=START + 10 * DAY)
    assert store.journal.conflicts() == []


def test_a_repeat_of_what_was_put_behind_another_is_unchanged(store: MemoryStore) -> None:
    ahead = store.remember("blue", key="colour")
    store.revise(ahead.id, revision=1, happened_at=store.get(ahead.id).stored_at + DAY)
    moved = store.get(ahead.id)
    later = evolve(moved, revision=3, stored_at=moved.held_from)
    # As if it had been stored by a machine whose clock is a day ahead.
    store._services.storage.commit(Commit(puts=[Put(memory=later, expected=2)]))
    store.remember("green", key="colour", id="mine")
    assert store.get("mine").valid_from is not None
    assert store.remember("green", key="colour", id="mine").outcome == "unchanged"


def test_a_repeat_of_what_was_put_before_another_is_unchanged(store: MemoryStore) -> None:
    store.remember("green", key="colour", valid_from=datetime(2099, 1, 1, tzinfo=UTC))
    store.remember("blue", key="colour", id="mine")
    assert store.get("mine").valid_to is not None
    assert store.remember("blue", key="colour", id="mine").outcome == "unchanged"


def test_the_same_said_again_is_no_conflict(store: MemoryStore) -> None:
    told(store, "June 5", 0, key="deadline")
    assert store.remember("June 5", key="deadline", happened_at=START).conflicts == ()
    assert store.journal.conflicts() == []


def test_a_decision_replaces_another_by_name(store: MemoryStore) -> None:
    old = store.remember("We use REST", kind="decision", scope="apollo").id
    receipt = store.remember("We use gRPC", kind="decision", scope="apollo", supersedes=[old])
    assert receipt.superseded == (old,)
    assert store.get(old).valid_to == store.get(receipt.id).happened_at
    assert [m.text for m in store.journal.history(old)] == ["We use REST", "We use gRPC"]
    assert store.journal.history(receipt.id) == store.journal.history(old)


def test_a_stored_memory_replaces_others_by_one_call_that_one_undo_takes_back(
    store: MemoryStore,
) -> None:
    old = told(store, "We use REST", 1, key="api")
    other = store.remember("APIs are RESTful", happened_at=START).id
    new = store.remember("We use gRPC").id
    entries = len(store.journal.entries(limit=100))
    receipt = store.revise(new, revision=1, supersedes=[old, other])
    assert (receipt.outcome, receipt.revision) == ("revised", 1)
    assert receipt.superseded == (old, other)
    assert {store.get(each).status for each in (old, other)} == {Status.SUPERSEDED}
    assert store.get(old).valid_to == store.get(new).happened_at
    assert [m.text for m in store.journal.history(old)] == [
        "APIs are RESTful",
        "We use REST",
        "We use gRPC",
    ]
    assert [memory.id for memory in store.browse().memories] == [new]
    assert store.revise(new, revision=1, supersedes=[old, other]).outcome == "unchanged"
    assert len(store.journal.entries(limit=100)) == entries + 1
    store.undo()
    assert {store.get(each).status for each in (old, other)} == {Status.CURRENT}
    assert store._services.storage.links([new]) == []


def test_a_change_and_what_it_replaces_are_one_entry(store: MemoryStore) -> None:
    new = told(store, "We use gRPC", 1, key="api")
    old = store.remember("We use REST", happened_at=START + 2 * DAY).id
    later = START + 3 * DAY
    with pytest.raises(InvalidInput, match="give a later valid_from or happened_at"):
        store.revise(new, revision=1, supersedes=[old])
    change = {"happened_at": later, "supersedes": [old]}
    receipt = store.revise(new, revision=1, **change)
    assert (receipt.revision, receipt.superseded) == (2, (old,))
    assert store.get(old).valid_to == later
    assert store.revise(new, revision=1, **change).outcome == "unchanged"
    store.undo()
    assert (store.get(new).happened_at, store.get(old).valid_to) == (START + DAY, None)


def test_a_repeated_change_that_now_replaces_something_is_not_taken_for_the_same(
    store: MemoryStore,
) -> None:
    old = told(store, "We use REST", 1, key="api")
    new = store.remember("We use gRPC").id
    store.revise(new, revision=1, important=True)
    with pytest.raises(Conflict, match="now has revision 2, not 1"):
        store.revise(new, revision=1, important=True, supersedes=[old])
    assert store.get(old).status is Status.CURRENT


def test_what_a_stored_memory_cannot_replace_is_refused(store: MemoryStore) -> None:
    elsewhere = store.remember("one", scope="apollo").id
    gone = store.remember("two").id
    store.forget(gone)
    first = told(store, "works at Acme", 1)
    second = told(store, "works at Globex", 2)
    new = store.remember("new", id="mine").id
    future = store.remember("three", happened_at=datetime(2099, 1, 1, tzinfo=UTC)).id
    entries = len(store.journal.entries(limit=100))
    for memory_id, wrong, why in (
        (new, "none", "no such memory"),
        (new, new, "itself"),
        (new, elsewhere, "'apollo'.*status superseded"),
        (new, gone, "forgotten"),
        (new, future, "2099"),
        (new, first, f"superseded by {second} already: name the memory that holds now"),
        (first, second, "it holds since"),
        (gone, first, "give the status current too"),
        (new, "not an id!", "1 to 128"),
    ):
        with pytest.raises(InvalidInput, match=why):
            store.revise(memory_id, revision=store.get(memory_id).revision, supersedes=[wrong])
    with pytest.raises(InvalidInput, match="nothing to revise"):
        store.revise(new, revision=1, supersedes=[])
    assert len(store.journal.entries(limit=100)) == entries
    receipt = store.revise(new, revision=1, supersedes=[first, second])
    assert receipt.superseded == (second,)


def test_two_memories_do_not_replace_each_other(store: MemoryStore) -> None:
    one = told(store, "in May", 1, key="start")
    two = told(store, "in June", 1, key="start")
    store.revise(two, revision=1, supersedes=[one])
    store.revise(one, revision=2, status="current")
    with pytest.raises(InvalidInput, match=f"it has superseded '{one}' itself"):
        store.revise(one, revision=3, supersedes=[two])
    assert store.revise(two, revision=1, supersedes=[one]).superseded == (one,)
    store.undo()
    assert store.get(one).status is Status.CURRENT
    assert len(store._services.storage.links([one])) == 1


def test_an_undo_of_an_undo_does_not_let_two_memories_replace_each_other(
    store: MemoryStore,
) -> None:
    one, two, new = (told(store, text, 1, key=text) for text in ("tea", "milk", "coffee"))
    store.revise(one, revision=1, supersedes=[two])
    undone = store.undo().entry
    store.revise(two, revision=3, supersedes=[one])
    with pytest.raises(Conflict, match=f"{one}' since, by entry 6"):
        store.undo(undone)
    assert (store.get(one).status, store.get(two).status) == ("superseded", "current")
    with pytest.raises(InvalidInput, match=f"superseded by {two} already"):
        store.revise(new, revision=1, supersedes=[one])
    store.undo(6)
    store.undo(undone)
    assert (store.get(one).status, store.get(two).status) == ("current", "superseded")


def test_three_memories_do_not_replace_one_another_in_a_circle(store: MemoryStore) -> None:
    one, two, three = (told(store, text, 1, key=text) for text in ("tea", "milk", "coffee"))
    store.revise(one, revision=1, supersedes=[two])
    undone = store.undo().entry
    store.revise(three, revision=1, supersedes=[one])
    store.revise(two, revision=3, supersedes=[three])
    with pytest.raises(Conflict, match=f"{one}' since, by entry 6"):
        store.undo(undone)
    assert store.get(two).status is Status.CURRENT


def test_what_is_superseded_in_a_circle_is_not_taken_for_replaced_by_another(
    store: MemoryStore,
) -> None:
    one, two, new = (told(store, text, 1, key=text) for text in ("tea", "milk", "coffee"))
    store.revise(one, revision=1, supersedes=[two])
    (link,) = store._services.storage.links([one])
    store._services.storage.commit(Commit(links=(evolve(link, source=two, target=one),)))
    with pytest.raises(InvalidInput, match=f"superseded by {one} already"):
        store.revise(new, revision=1, supersedes=[two])


def test_what_cannot_be_superseded_is_refused(store: MemoryStore) -> None:
    old = store.remember("one", scope="apollo").id
    gone = store.remember("two").id
    store.forget(gone)
    future = store.remember("three", happened_at=datetime(2099, 1, 1, tzinfo=UTC)).id
    entries = len(store.journal.entries(limit=100))
    for wrong, why in (
        ("none", "no such memory"),
        ("mine", "itself"),
        (old, "'apollo'"),
        (gone, "forgotten"),
        (future, "2099"),
        ("not an id!", "1 to 128"),
    ):
        with pytest.raises(InvalidInput, match=why):
            store.remember("new", id="mine", supersedes=[wrong])
    with pytest.raises(NotFound):
        store.get("mine")
    assert len(store.journal.entries(limit=100)) == entries


def test_a_clock_that_is_behind_makes_no_history_of_the_present(store: MemoryStore) -> None:
    ahead = store.remember("blue", key="colour")
    storage = store._services.storage
    memory = store.get(ahead.id)
    later = memory.stored_at + timedelta(hours=1)
    with pytest.raises(Conflict):
        store.revise(ahead.id, revision=7, text="nothing")
    store.revise(ahead.id, revision=1, happened_at=later)
    # As if it had been stored by a machine whose clock is an hour ahead.
    moved = store.get(ahead.id)
    storage.commit(
        Commit(puts=[Put(memory=evolve(moved, revision=3, stored_at=later), expected=2)])
    )
    receipt = store.remember("green", key="colour")
    assert receipt.superseded == (ahead.id,)
    assert store.get(receipt.id).status is Status.CURRENT
    assert [memory.text for memory in store.journal.history("colour")] == ["blue", "green"]


def test_what_is_to_come_does_not_end_the_present(store: MemoryStore) -> None:
    told(store, "works at Acme", 0)
    store.remember("works at Globex", key="job", valid_from=datetime(2099, 1, 1, tzinfo=UTC))
    assert [memory.status for memory in store.journal.history("job")] == ["current", "current"]
    assert store.search("works at Acme", mode="strict")[0].memory.text == "works at Acme"
    receipt = store.remember("works at Initech", key="job")
    assert (receipt.superseded_by, len(receipt.superseded)) == (None, 1)
    history = store.journal.history("job")
    assert [memory.text for memory in history] == [
        *("works at Acme", "works at Initech", "works at Globex")
    ]
    assert [memory.status for memory in history] == ["superseded", "current", "current"]
    assert [memory.valid_to for memory in history][1:] == [history[2].valid_from, None]
    assert [hit.memory.text for hit in store.search("works at", mode="strict")] == [
        "works at Initech"
    ]
    assert store.journal.conflicts() == []


def test_history_of_what_is_not_there_says_so(store: MemoryStore) -> None:
    with pytest.raises(NotFound, match="no memory has the id 'none'"):
        store.journal.history("none")
    with pytest.raises(InvalidInput):
        store.journal.history("")


YEAR = 365


@pytest.mark.parametrize(
    ("end", "told_late", "closed"),
    [
        (20, 10, 10),  # it would have ended later: the late one ends it
        (20, 30, 20),  # it had ended by itself before the late one began
        (20, 20, 20),
        (30 * YEAR, 10, 10),  # its end is yet to come
    ],
)
def test_a_current_fact_with_an_end_of_its_own_is_superseded_by_one_told_late(
    store: MemoryStore, end: int, told_late: int, closed: int
) -> None:
    first = told(store, "Acme", 0, valid_to=START + end * DAY)
    assert store.get(first).status is Status.CURRENT
    late = told(store, "Globex", told_late)
    before, after = store.get(first), store.get(late)
    assert (before.status, before.valid_to) == (Status.SUPERSEDED, START + closed * DAY)
    assert (after.status, after.valid_to) == (Status.CURRENT, None)
    assert store.journal.conflicts() == []
    assert held(store, told_late - 0.5) == (["Acme"] if told_late <= closed else [])
    assert held(store, told_late) == ["Globex"]
    assert [memory.id for memory in store.journal.history("job")] == [first, late]


@pytest.mark.parametrize(("end", "closed"), [(5, 5), (20, 10), (30 * YEAR, 10)])
def test_one_told_late_before_a_later_fact_ends_a_current_one_where_it_still_held(
    store: MemoryStore, end: int, closed: int
) -> None:
    first = told(store, "Acme", 0, valid_to=START + end * DAY)
    # It begins in the far future, so that the first one is current until its own end.
    future = told(store, "Initech", 20 * YEAR)
    ended = min(end, 20 * YEAR)
    assert store.get(first).valid_to == START + ended * DAY
    late = told(store, "Globex", 10)
    before, between = store.get(first), store.get(late)
    assert (before.status, before.valid_to) == (Status.SUPERSEDED, START + closed * DAY)
    assert (between.status, between.valid_to) == (Status.CURRENT, START + 20 * YEAR * DAY)
    assert store.get(future).status is Status.CURRENT
    assert held(store, 9) == (["Acme"] if closed > 9 else [])
    assert [held(store, day) for day in (10, 20 * YEAR)] == [["Globex"], ["Initech"]]
    assert [memory.id for memory in store.journal.history("job")] == [first, late, future]


def test_one_that_is_put_between_leaves_alone_what_has_ended_before_it(store: MemoryStore) -> None:
    first = told(store, "Acme", 0, valid_to=START + 20 * YEAR * DAY)
    last = told(store, "Initech", 40 * YEAR)
    receipt = store.remember("Globex", kind="fact", key="job", happened_at=START + 30 * YEAR * DAY)
    assert receipt.superseded == ()
    assert store.get(receipt.id).valid_to == START + 40 * YEAR * DAY
    before = store.get(first)
    assert (before.status, before.valid_to) == (Status.CURRENT, START + 20 * YEAR * DAY)
    replaced = {link.source for link in store._services.storage.links([first])}
    assert replaced == {last}
