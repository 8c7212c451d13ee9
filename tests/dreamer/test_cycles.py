"""Whole cycles of the dreamer: what they add, that they only add, and that they are taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from infinite_memory import Config, InvalidInput, MemoryStore, NotFound, UnknownScope
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.dream.pair import Judgement, Pair
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.features.background.dreamer.cycle import DreamCycle
from infinite_memory.features.background.upkeep.report import JobReport, StepAction
from tests.harness.dreaming import StorageAndStore, open_store, tell_topics

_LINKS = (StepAction.LINK, StepAction.STRENGTHEN)


@pytest.fixture
def opened() -> Iterator[StorageAndStore]:
    with open_store() as (storage, store):
        tell_topics(store, number=6)
        yield storage, store


def read_state(storage: Storage) -> tuple[dict[str, Memory], set[Link]]:
    """Return everything that is not forgotten, and every link."""
    criteria = Criteria(statuses=frozenset(Status) - {Status.FORGOTTEN})
    memories = {m.id: m for m in storage.find(criteria, limit=1000).memories}
    return memories, set(storage.links(memories))


def dream_until_linked(store: MemoryStore) -> JobReport:
    """Run cycles until one has written a summary, and return its report."""
    for seed in range(20):
        report = store.dream(seed)
        assert report.failure is None
        if any(step.action is StepAction.SUMMARISE for step in report.steps):
            return report
    raise AssertionError("no cycle has written a summary")


def test_cycles_leave_what_was_told_byte_for_byte_and_undo_gives_the_state_before(
    opened: StorageAndStore,
) -> None:
    storage, store = opened
    store.graph.link("ferry-0", "kiln-0", weight=0.5)
    before = read_state(storage)
    for seed in range(10):
        store.dream(seed)
    memories, links = read_state(storage)
    assert {key: memories[key] for key in before[0]} == before[0]
    assert len(links) > len(before[1])
    assert any(memory.is_dreamed for memory in memories.values())
    cycles = store.dreams.diary(limit=100)
    for cycle in cycles:
        store.undo(cycle.entry)
    assert read_state(storage) == before
    assert all(cycle.undone_by is not None for cycle in store.dreams.diary(limit=100))


def test_an_equal_store_dreams_the_same_with_an_equal_seed() -> None:
    steps = []
    for _ in range(2):
        with open_store() as (_storage, store):
            tell_topics(store, number=6)
            steps.append([store.dream(seed).steps for seed in range(4)])
    assert steps[0] == steps[1]
    assert any(steps[0])


def test_a_dry_run_changes_nothing_and_says_what_the_cycle_does(opened: StorageAndStore) -> None:
    storage, store = opened
    before = read_state(storage), storage.journal_end()
    would = store.dream(3, dry_run=True)
    assert (read_state(storage), storage.journal_end()) == before
    assert would.entry is None
    done = store.dream(3)
    assert done.steps == would.steps
    assert done.entry is not None


def test_what_was_undone_is_not_dreamed_again_until_the_undo_is_undone(
    opened: StorageAndStore,
) -> None:
    _, store = opened
    report = dream_until_linked(store)
    linked = {frozenset({s.memory_id, s.other}) for s in report.steps if s.action in _LINKS}
    topics = {s.memory_id for s in report.steps if s.action is StepAction.SUMMARISE}
    undone = store.undo(report.entry)
    again = [step for seed in range(20) for step in store.dream(seed).steps]
    assert linked.isdisjoint({frozenset({step.memory_id, step.other}) for step in again})
    assert topics.isdisjoint({step.memory_id for step in again})
    store.undo(undone.entry)
    first = next(iter(linked))
    assert store.graph.links(min(first))


def test_a_link_that_a_person_removed_is_not_made_again(opened: StorageAndStore) -> None:
    _, store = opened
    report = dream_until_linked(store)
    step = next(step for step in report.steps if step.action is StepAction.LINK)
    assert step.other is not None
    store.graph.unlink(step.memory_id, step.other)
    for seed in range(20):
        store.dream(seed)
    ends = {frozenset({link.source, link.target}) for link in store.graph.links(step.memory_id)}
    assert frozenset({step.memory_id, step.other}) not in ends


def test_the_diary_says_what_was_done_and_keeps_no_word_of_an_erased_memory(
    opened: StorageAndStore,
) -> None:
    storage, store = opened
    report = dream_until_linked(store)
    cycle = next(cycle for cycle in store.dreams.diary() if cycle.entry == report.entry)
    assert (cycle.scope, cycle.looked_at) == ("Global", report.looked_at)
    link = cycle.links[0]
    assert link.in_common
    assert all(word in link.source_heading for word in link.in_common)
    assert cycle.topics[0].title
    store.forget(link.source, hard=True)
    told = str(storage.journal(limit=1000)) + str(store.dreams.diary(limit=1000))
    assert link.source_heading not in told
    assert link.source_heading.split()[0] not in told
    after = next(each for each in store.dreams.diary() if each.entry == report.entry)
    assert "" in {each.source_heading for each in after.links}


def test_what_changed_while_a_cycle_was_thinking_is_left_out(
    opened: StorageAndStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, store = opened
    changed: list[str] = []
    recheck = DreamCycle.recheck

    def change_first(cycle: DreamCycle) -> object:
        if not changed and (steps := [s for s in cycle.steps() if s.action is StepAction.LINK]):
            changed.append(steps[0].memory_id)
            memory = store.get(steps[0].memory_id)
            store.revise(memory.id, revision=memory.revision, text="something else altogether")
        return recheck(cycle)

    monkeypatch.setattr(DreamCycle, "recheck", change_first)
    dream_until_linked(store)
    (memory_id,) = changed
    cycle = store.dreams.diary(limit=100)[-1]
    assert all(memory_id not in (link.source, link.target) for link in cycle.links)
    assert all(memory_id not in store.get(topic.id).sources for topic in cycle.topics)


@pytest.mark.thorough
def test_neither_link_nor_summary_joins_scopes_and_a_confined_handle_sees_its_own() -> None:
    with open_store() as (storage, store):
        for scope in ("home", "work"):
            tell_topics(store, number=6, scope=scope, prefix=f"{scope}-")
        for seed in range(30):
            store.dream(seed)
        memories, links = read_state(storage)
        for link in links:
            assert memories[link.source].scope == memories[link.target].scope
        assert {m.scope for m in memories.values() if m.is_dreamed} == {"home", "work"}
        inside = store.confine(scopes=["home"])
        told = str([cycle.to_dict() for cycle in inside.dreams.diary(limit=1000)])
        assert "home-" in told
        assert "work" not in told
        for seed in range(5):
            assert "work" not in str(inside.dream(100 + seed).to_dict())
        with pytest.raises(UnknownScope):
            inside.dream(1, scope="work")


def test_a_private_scope_is_left_out_unless_it_is_switched_on() -> None:
    for include in (False, True):
        rules = {"upkeep": {"scopes": {"diary": {"include": True}}}} if include else {}
        with open_store(config=Config.model_validate(rules)) as (_, store):
            store.scopes.create("diary", sensitivity="private")
            tell_topics(store, number=6, scope="diary")
            reports = [store.dream(seed) for seed in range(5)]
            assert any(report.steps for report in reports) is include
            if not include:
                with pytest.raises(InvalidInput, match="leaves the scope 'diary' alone"):
                    store.dream(1, scope="diary")


def test_outdated_summaries_are_written_anew_however_long_the_pairs_take(
    opened: StorageAndStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, store = opened
    report = dream_until_linked(store)
    topic = next(s.memory_id for s in report.steps if s.action is StepAction.SUMMARISE)
    source = store.get(store.get(topic).sources[0])
    store.revise(source.id, revision=source.revision, text="something else altogether")
    monkeypatch.setattr("infinite_memory.features.background.dreamer.job._PAIRS_SECONDS", 0)
    for seed in range(5):
        store.dream(seed)
    assert read_state(storage)[0][topic].revision > 1


def test_dreaming_is_no_recall(opened: StorageAndStore) -> None:
    storage, store = opened
    for seed in range(5):
        store.dream(seed)
        store.dreams.material()
    assert not storage.usage(list(read_state(storage)[0]))


@pytest.mark.parametrize("number", [0, 1])
def test_a_cycle_over_next_to_nothing_does_nothing(number: int) -> None:
    with open_store() as (_, store):
        for each in range(number):
            store.remember(f"the only thing number {each}")
        report = store.dream(1)
        assert (report.steps, report.failure, report.entry) == ((), None, None)
        assert store.dreams.diary() == ()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_that_is_no_number_is_refused(seed: object) -> None:
    with open_store() as (_, store), pytest.raises(InvalidInput, match="seed"):
        store.dream(seed)  # type: ignore[arg-type]


def test_verdicts_of_an_assistant_are_a_cycle_with_one_undo(opened: StorageAndStore) -> None:
    storage, store = opened
    material = store.dreams.material(pairs=5, max_chars=2000)
    assert material.scope == "Global"
    assert 0 < len(material.pairs) <= 5
    before = read_state(storage)
    pair, other = material.pairs[:2]
    sources = [f"ferry-{number}" for number in range(3)]
    report = store.dreams.accept(
        links=[
            {"source": pair.second.id, "target": pair.first.id, "weight": 0.9, "reason": "same"},
            {"source": other.first.id, "target": other.second.id, "weight": 0},
        ],
        topics=[{"sources": sources, "text": "The ferry leaves Calais.", "title": "The ferry"}],
    )
    assert report.failure is None
    (link,) = store.dreams.diary()[0].links
    assert (link.source, link.target, link.weight) == (pair.first.id, pair.second.id, 0.9)
    (topic,) = [memory for memory in read_state(storage)[0].values() if memory.is_dreamed]
    assert (topic.title, topic.text, set(topic.sources)) == (
        "The ferry",
        "The ferry leaves Calais.",
        set(sources),
    )
    for seed in range(20):
        store.dream(seed)
    refused = frozenset({other.first.id, other.second.id})
    ends = {frozenset({link.source, link.target}) for link in read_state(storage)[1]}
    assert refused not in ends
    for cycle in store.dreams.diary(limit=100):
        store.undo(cycle.entry)
    assert read_state(storage) == before


def test_what_only_the_built_in_summariser_wrote_is_offered_to_an_assistant(
    opened: StorageAndStore,
) -> None:
    _, store = opened
    report = dream_until_linked(store)
    topics = {s.memory_id for s in report.steps if s.action is StepAction.SUMMARISE}
    groups = store.dreams.material(pairs=0, groups=20).groups
    assert topics <= {group.present for group in groups}
    (group,) = [group for group in groups if group.present == min(topics)]
    accepted = store.dreams.accept(topics=[{"sources": group.sources, "text": "in my words"}])
    assert [step.action for step in accepted.steps] == [StepAction.REWRITE]
    assert store.get(min(topics)).text == "in my words"
    groups = store.dreams.material(pairs=0, groups=20).groups
    assert min(topics) not in {group.present for group in groups}


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({}, InvalidInput, "nothing to accept"),
        ({"links": "ferry-0"}, InvalidInput, "links must be a list"),
        ({"links": [3]}, InvalidInput, "must be an object"),
        (
            {"links": [{"source": "ferry-0", "target": "ferry-0", "weight": 1}]},
            InvalidInput,
            "twice",
        ),
        ({"links": [{"source": "ferry-0", "target": "kiln-0"}]}, InvalidInput, "weight None"),
        (
            {"links": [{"source": "ferry-0", "target": "kiln-0", "weight": 2}]},
            InvalidInput,
            "weight 2",
        ),
        (
            {"links": [{"source": "ferry-0", "target": "kiln-0", "weight": 1, "why": "x"}]},
            InvalidInput,
            "'why'",
        ),
        ({"links": [{"source": "ferry-0", "target": "nobody", "weight": 1}]}, NotFound, "nobody"),
        (
            {"links": [{"source": "ferry-0", "target": "elsewhere", "weight": 1}]},
            InvalidInput,
            "neither a link nor a summary joins two",
        ),
        ({"topics": [{"sources": ["ferry-0"], "text": "x"}]}, InvalidInput, "give 3 to 40"),
        (
            {"topics": [{"sources": ["ferry-0", "ferry-1", "ferry-2"], "text": " "}]},
            InvalidInput,
            "text",
        ),
    ],
)
def test_verdicts_that_cannot_be_used_are_refused_and_change_nothing(
    opened: StorageAndStore, given: dict[str, object], error: type[Exception], says: str
) -> None:
    storage, store = opened
    store.remember("somewhere else", id="elsewhere", scope="work")
    before = read_state(storage)
    with pytest.raises(error, match=says):
        store.dreams.accept(**given)  # type: ignore[arg-type]
    assert read_state(storage) == before


def test_a_judge_and_a_summariser_of_the_caller_are_asked() -> None:
    class Judge:
        name = "mine"

        def judge(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
            return [
                Judgement(weight=0.5 if about(pair.first) == about(pair.second) else 0, reason="so")
                for pair in pairs
            ]

    class Summariser:
        name = "mine too"

        def summarise(self, sources: Sequence[Memory], *, max_chars: int) -> str:
            return f"{len(sources)} things"[:max_chars]

    with open_store(judge=Judge(), summariser=Summariser()) as (storage, store):
        tell_topics(store, number=4)
        report = dream_until_linked(store)
        assert 'judged by mine, summarised by "mine too"' in report.looked_at
        memories, links = read_state(storage)
        assert {link.weight for link in links if link.reason == "so"} == {0.5}
        assert any(memory.text.endswith(" things") for memory in memories.values())


def about(memory: Memory) -> str:
    return memory.id.rpartition("-")[0]
