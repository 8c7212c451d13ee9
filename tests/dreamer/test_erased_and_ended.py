"""What was erased, has ended, or is damaged, and the summaries and cycles around it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from infinite_memory import Conflict, InvalidInput, MemoryStore, Status
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Memory
from infinite_memory.features.background.dreamer.cycle import DreamCycle
from infinite_memory.features.background.upkeep.report import StepAction
from infinite_memory.storage.hash_chain import EntryDamaged
from infinite_memory.storage.inmemory import InMemoryStorage
from tests.harness.dreaming import NOW, StorageAndStore, open_store, tell_topics

SECRET = "quagga"


@pytest.fixture
def opened() -> Iterator[StorageAndStore]:
    with open_store() as (storage, store):
        tell_topics(store, number=6)
        yield storage, store


def accept_ferries(store: MemoryStore, text: str, *numbers: int) -> None:
    sources = [f"ferry-{number}" for number in numbers]
    store.dreams.accept(topics=[{"sources": sources, "text": text}])


def topics_of(store: MemoryStore) -> list[Memory]:
    return list(store.browse(scope="ALL", kinds=["summary"]).memories)


def test_a_source_that_a_summary_had_once_is_erased_with_it(opened: StorageAndStore) -> None:
    storage, store = opened
    accept_ferries(store, f"the ferry and the {SECRET}", 0, 1, 2, 3)
    (topic,) = topics_of(store)
    store.forget("ferry-3")
    for seed in range(5):
        store.dream(seed, scope="Global")
    assert "ferry-3" not in store.get(topic.id).sources
    assert any(SECRET in revision.text for revision in storage.history(topic.id))
    receipt = store.forget("ferry-3", hard=True)
    assert topic.id in str(receipt.erased)
    assert storage.history(topic.id) == []


def test_what_has_ended_leaves_its_summary(opened: StorageAndStore) -> None:
    clock = [NOW]
    with open_store(clock=lambda: clock[0]) as (_, store):
        tell_topics(store, number=4, valid_to=NOW + timedelta(days=30))
        accept_ferries(store, "the ferry leaves", 0, 1, 2, 3)
        (topic,) = topics_of(store)
        clock[0] = NOW + timedelta(days=60)
        reports = [store.dream(seed) for seed in range(5)]
        assert store.get(topic.id).status is Status.ARCHIVED
        steps = [step for report in reports for step in report.steps]
        assert [(s.action, s.memory_id) for s in steps] == [(StepAction.ARCHIVE, topic.id)]
        assert topics_of(store) == []


def test_a_damaged_entry_of_the_journal_stops_no_cycle() -> None:
    class Damaged(InMemoryStorage):
        def journal(self, **options: object) -> list[object]:  # type: ignore[override]
            entries = super().journal(**options)  # type: ignore[arg-type]
            if any(entry.number == 3 for entry in entries):
                raise EntryDamaged("the test", 3, "is damaged")
            return list(entries)

    with open_store(storage=Damaged()) as (_, store):
        tell_topics(store, number=6)
        for number in range(5):
            store.remember(f"one more thing {number}", id=f"more-{number}")
        reports = [store.dream(seed) for seed in range(3)]
        assert [report.failure for report in reports] == [None] * 3
        assert store.dreams.diary()
        assert store.dreams.material().scope == "Global"


def test_a_scope_that_becomes_private_meanwhile_gets_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recheck = DreamCycle.recheck

    def make_private(cycle: DreamCycle) -> object:
        store.scopes.update("diary", sensitivity="private")
        return recheck(cycle)

    with open_store() as (_, store):
        store.scopes.create("diary")
        tell_topics(store, number=6, scope="diary")
        monkeypatch.setattr(DreamCycle, "recheck", make_private)
        report = store.dream(1)
        assert (report.failure, report.entry) == (None, None)
        assert store.graph.links("ferry-0") == ()


def test_a_summary_whose_leaf_changes_meanwhile_is_not_stored(
    opened: StorageAndStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, store = opened
    for name in ("ferry", "kiln", "choir"):
        sources = [f"{name}-{number}" for number in range(3)]
        store.dreams.accept(topics=[{"sources": sources, "text": f"about the {name}"}])
    below = [topic.id for topic in topics_of(store)]
    recheck = DreamCycle.recheck

    def move_a_leaf(cycle: DreamCycle) -> object:
        if store.get("kiln-1").revision == 1:
            store.revise("kiln-1", revision=1, text="another thing")
        return recheck(cycle)

    monkeypatch.setattr(DreamCycle, "recheck", move_a_leaf)
    store.dreams.accept(topics=[{"sources": below, "text": "about all three"}])
    assert "about all three" not in [topic.text for topic in topics_of(store)]
    monkeypatch.undo()
    store.dreams.accept(topics=[{"sources": below, "text": "about all three"}])
    assert "about all three" in [topic.text for topic in topics_of(store)]


def test_two_cycles_of_a_confined_handle_look_at_other_things(opened: StorageAndStore) -> None:
    _, store = opened
    tell_topics(store, number=6, scope="work", prefix="work-")
    with store.confine(scopes=["Global", "work"]) as handle:
        reports = [handle.dream() for _ in range(2)]
        assert reports[0].entry is not None
        assert len({report.looked_at.rpartition(" ")[2] for report in reports}) == 2


def test_a_verdict_on_what_somebody_forgot_is_refused(opened: StorageAndStore) -> None:
    _, store = opened
    accept_ferries(store, "the ferry leaves", 0, 1, 2)
    (topic,) = topics_of(store)
    store.forget(topic.id)
    with pytest.raises(Conflict, match="somebody forgot or changed"):
        accept_ferries(store, "the ferry has left", 0, 1, 2)
    assert topics_of(store) == []


@pytest.mark.parametrize(
    "given",
    [
        {
            "links": [
                {"source": "ferry-0", "target": "ferry-1", "weight": 1},
                {"source": "ferry-1", "target": "ferry-0", "weight": 0},
            ]
        },
        {
            "topics": [
                {"sources": ["ferry-0", "ferry-1", "ferry-2"], "text": "one"},
                {"sources": ["ferry-2", "ferry-1", "ferry-0"], "text": "two"},
            ]
        },
    ],
)
def test_two_verdicts_on_the_same_are_refused(
    opened: StorageAndStore, given: dict[str, list[dict[str, object]]]
) -> None:
    _, store = opened
    with pytest.raises(InvalidInput, match="has two entries on"):
        store.dreams.accept(**given)
    assert not [e for e in store.journal.entries() if e.action.operation is Operation.DREAM]


@pytest.mark.parametrize("scopes", [None, ["Global"]])
def test_a_refused_pair_loses_its_link_and_is_not_linked_again(
    opened: StorageAndStore, scopes: list[str] | None
) -> None:
    _, store = opened
    report = store.dream(1)
    step = next(step for step in report.steps if step.action is StepAction.LINK)
    handle = store if scopes is None else store.confine(scopes=scopes)
    refusal = {"source": step.memory_id, "target": step.other, "weight": 0}
    refused = handle.dreams.accept(links=[refusal])
    assert "1 refused and 1 of their links removed" in refused.looked_at
    ends = frozenset({step.memory_id, step.other})
    for seed in range(10):
        store.dream(seed)
    links = store.graph.links(step.memory_id)
    assert ends not in {frozenset({link.source, link.target}) for link in links}
    assert refused.entry is not None
    store.undo(refused.entry)
    links = store.graph.links(step.memory_id)
    assert ends in {frozenset({link.source, link.target}) for link in links}


def test_a_report_names_what_was_committed(
    opened: StorageAndStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, store = opened
    planned = store.dream(1, dry_run=True).steps
    gone = next(step.memory_id for step in planned if step.action is StepAction.LINK)
    recheck = DreamCycle.recheck

    def forget_one(cycle: DreamCycle) -> object:
        if store.get(gone).status is Status.CURRENT:
            store.forget(gone)
        return recheck(cycle)

    monkeypatch.setattr(DreamCycle, "recheck", forget_one)
    report = store.dream(1)
    assert report.steps
    assert all(gone not in (step.memory_id, step.other) for step in report.steps)
