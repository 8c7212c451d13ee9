"""What holds when: the index answers as a look at every memory would."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_memory.core.values.commit import Commit, Erase, Put
from infinite_memory.core.values.criteria import Criteria, Depth, Mode, Tense
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.question import Question
from infinite_memory.core.values.record import Record
from infinite_memory.engine.retrieval.validity import in_tense
from infinite_memory.search import index as index_module
from infinite_memory.search.document import NEVER, describe
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.reader import Reader, SegmentReader
from infinite_memory.search.segment import Segment, build
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

START = datetime(2024, 1, 1, tzinfo=UTC)
EMBEDDER = HashingEmbedder()
EVERY_DAY = [START + timedelta(days=days) for days in range(13)]
DAYS = st.sampled_from(EVERY_DAY)
# Made once, and never drawn in vain: most of the time would go into that.
SPANS = st.one_of(
    st.just((None, None)),
    st.sampled_from([(day, None) for day in EVERY_DAY]),
    st.sampled_from([(None, day) for day in EVERY_DAY]),
    st.sampled_from(list(combinations(EVERY_DAY, 2))),
)
STATUSES = st.sampled_from(list(Status))
MICROSECOND = timedelta(microseconds=1)


@st.composite
def memories(draw: st.DrawFn) -> list[Memory]:
    made = []
    for number in range(draw(st.integers(0, 25))):
        (begin, end), moment = draw(SPANS), draw(DAYS)
        made.append(
            Memory(
                id=f"m{number}",
                text=f"tea {number}",
                happened_at=moment,
                stored_at=moment,
                valid_from=begin,
                valid_to=end,
                status=draw(STATUSES),
            )
        )
    return made


@st.composite
def wanted(draw: st.DrawFn) -> Criteria:
    edge = draw(st.sampled_from([-MICROSECOND, timedelta(0), MICROSECOND]))
    now, then = draw(DAYS) + edge, draw(st.none() | DAYS)
    modes = st.just(Mode.CURRENT) if then is not None else st.sampled_from(list(Mode))
    tense = Tense(mode=draw(modes), as_of=then, now=now)
    statuses = draw(st.none() | st.frozensets(st.sampled_from(list(Status)), min_size=1))
    return in_tense(
        Criteria(statuses=statuses),
        tense,
        draw(st.sampled_from(list(Depth))),
        statuses_given=statuses is not None,
    )


def found(index: SearchIndex, criteria: Criteria) -> set[str]:
    question = Question(
        text="tea", criteria=criteria, limit=1000, threshold=0.0, depth=Depth.EXHAUSTIVE
    )
    ranking = index.search(question)
    assert ranking.eligible == len(ranking.candidates)
    return {candidate.id for candidate in ranking.candidates}


@given(memories(), memories(), st.lists(wanted(), min_size=1, max_size=6), st.integers(1, 8))
def _the_index_finds_what_the_criteria_admit(
    first: list[Memory], second: list[Memory], questions: list[Criteria], batch: int
) -> None:
    """In segments of any size, after changes that bury some, folded and not."""
    storage = InMemoryStorage()
    index = SearchIndex(storage, EMBEDDER)
    state: dict[str, Memory] = {}
    for round_number, made in enumerate((first, second)):
        for start in range(0, len(made), batch):
            for memory in made[start : start + batch]:
                held = state.get(memory.id)
                revision = 1 if held is None else held.revision + 1
                state[memory.id] = memory = evolve(memory, revision=revision)
                storage.commit(Commit(puts=[Put(memory=memory, expected=revision - 1)]))
            index.refresh()
        if round_number == 0 and "m0" in state:
            del state["m0"]
            storage.commit(Commit(erases=[Erase(id="m0")]))
    folded = SearchIndex(storage, EMBEDDER)
    folded._reader = index.refresh().compact()
    for criteria in questions:
        expected = {each.id for each in state.values() if criteria.admit(each)}
        assert found(index, criteria) == found(folded, criteria) == expected
        assert {m.id for m in storage.find(criteria, limit=100).memories} == expected


@pytest.mark.parametrize("examples", [60, pytest.param(600, marks=pytest.mark.slow("index-walks"))])
def test_the_index_finds_what_the_criteria_admit(examples: int) -> None:
    settings(max_examples=examples, deadline=None)(_the_index_finds_what_the_criteria_admit)()


def memory(number: int, **fields: object) -> Memory:
    moment = START + timedelta(minutes=number)
    made = Memory(id=f"m{number}", text=f"tea {number}", happened_at=moment, stored_at=moment)
    return evolve(made, **fields)


def test_a_snapshot_keeps_when_each_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "_FOLD_CHANGES", 50)
    storage = InMemoryStorage()
    ended = {"valid_to": START + timedelta(days=1)}
    every = [memory(n, **(ended if n % 3 == 0 else {})) for n in range(120)]
    storage.commit(Commit(puts=[Put(memory=each, expected=0) for each in every]))

    def opened() -> SearchIndex:
        snapshot = Snapshot(
            tmp_path,
            identity=storage.identity,
            model=EMBEDDER.model,
            dimensions=EMBEDDER.dimensions,
        )
        return SearchIndex(storage, EMBEDDER, snapshot=snapshot)

    writer = opened()
    writer.refresh()
    writer._wait_for_folding()
    reader = opened()
    late = evolve(memory(1), revision=2, valid_to=START + timedelta(hours=1))
    assert len(reader.refresh().segment_readers) == 1
    storage.commit(Commit(puts=[Put(memory=late, expected=1)]))
    every[1] = late
    for criteria in (
        Criteria(unended_at=START + timedelta(days=2)),
        Criteria(as_of=START + timedelta(minutes=70)),
        Criteria(as_of=START + timedelta(minutes=59)),
        Criteria(),
    ):
        expected = {each.id for each in every if criteria.admit(each)}
        assert found(writer, criteria) == found(reader, criteria) == expected


def segment_of(*made: Memory) -> Segment:
    documents = [
        describe(Record(memory=each), model=EMBEDDER.model, dimensions=EMBEDDER.dimensions)
        for each in made
    ]
    return build(documents, dimensions=EMBEDDER.dimensions)


def test_no_mask_is_made_where_nothing_has_ended_and_all_has_begun() -> None:
    segment = segment_of(memory(0), memory(1, valid_to=START + timedelta(days=9)))
    segment_reader = Reader(
        segment_readers=(SegmentReader(segment=segment, live_docs=segment.kind >= 0),)
    ).segment_readers[0]
    early, late = START + timedelta(days=1), START + timedelta(days=9)
    assert list(segment_reader._conditions(Criteria(unended_at=early))) == []
    assert list(segment_reader._conditions(Criteria(as_of=early))) == []
    (mask,) = segment_reader._conditions(Criteria(unended_at=late))
    assert mask.tolist() == [True, False]
    (mask,) = segment_reader._conditions(Criteria(as_of=START))
    assert mask.tolist() == [True, False]
    assert segment_of().first_end == NEVER
