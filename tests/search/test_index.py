"""The derived index: whatever happened, it answers as one that was built anew."""

from __future__ import annotations

import gc
import math
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from infinite_memory.core.values.commit import Attach, Commit, Erase, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import Explanation
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.search import snapshot as snapshots
from infinite_memory.search.bm25 import K1, K3, B, bm25
from infinite_memory.search.cosine import (
    ABSENT,
    QueryVector,
    approximate_cosines,
    best_passage,
    cosines,
)
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import describe
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.names import remove_names
from infinite_memory.search.reader import Reader, merge
from infinite_memory.search.segment import ARRAYS, Segment, build
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.search.text.analyzer import terms
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

MAY = datetime(2023, 5, 8, tzinfo=UTC)
EMBEDDER = HashingEmbedder()
WORDS = ["harbour", "lights", "tea", "rocket", "deadline", "Alice", "数据库", "parse_url"]


def memory(number: int, text: str, **fields: object) -> Memory:
    moment = MAY + timedelta(days=number)
    return evolve(
        Memory(id=f"m{number}", text=text, happened_at=moment, stored_at=moment), **fields
    )


def embedding(text: str) -> Embedding:
    spans = EMBEDDER.spans(text)
    return Embedding(
        model=EMBEDDER.model, spans=spans, vectors=EMBEDDER.embed([text[a:b] for a, b in spans])
    )


def record(number: int, text: str, **fields: object) -> Record:
    return Record(memory=memory(number, text, **fields), embeddings=(embedding(text),))


def segment_of(*records: Record) -> Segment:
    return build(
        [describe(r, model=EMBEDDER.model, dimensions=EMBEDDER.dimensions) for r in records],
        dimensions=EMBEDDER.dimensions,
    )


def ask(index: SearchIndex, text: str, **fields: object) -> Ranking:
    question = Question(text=text, criteria=Criteria(), limit=10, threshold=0.0, explain=True)
    return index.search(evolve(question, **fields))


def test_bm25_is_the_published_formula() -> None:
    texts = ["tea tea harbour", "harbour lights at night", "rocket tea", "nothing of it"]
    segment = segment_of(*(record(i, text) for i, text in enumerate(texts)))
    everything = DocFilter(size=len(segment))
    (scores,), asked = bm25(terms("tea harbour tea"), [segment], [everything])
    counts = [Counter(terms(text)) for text in texts]
    lengths = [int(n) for n in segment.length]
    mean = sum(lengths) / len(lengths)
    idf = {}
    for term in set(terms("tea harbour")):
        n = sum(term in count for count in counts)
        idf[term] = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
    for i, count in enumerate(counts):
        expected = sum(
            (repeats * (K3 + 1) / (repeats + K3))
            * idf[term]
            * count[term]
            * (K1 + 1)
            / (count[term] + K1 * (1 - B + B * lengths[i] / mean))
            for term, repeats in Counter(terms("tea harbour tea")).items()
        )
        assert scores[i] == pytest.approx(expected, rel=1e-5)
    assert asked.ideal == pytest.approx(idf["tea"] * 2 * (K3 + 1) / (2 + K3) + idf["harbor"])


def test_bm25_counts_only_what_may_be_seen() -> None:
    records = [record(i, "tea harbour" if i % 2 else "tea") for i in range(10)]
    segment = segment_of(*records)
    visible = DocFilter.of(np.array([i % 2 == 1 for i in range(10)]))
    (scores,), asked = bm25(terms("harbour"), [segment], [visible])
    alone = segment_of(*(r for i, r in enumerate(records) if i % 2))
    (expected,), expected_asked = bm25(terms("harbour"), [alone], [DocFilter(size=5)])
    assert asked.ideal == pytest.approx(expected_asked.ideal)
    assert scores == pytest.approx(expected)
    nothing, none = bm25(terms("tea"), [segment], [DocFilter.of(np.zeros(10, bool))])
    assert none.ideal == 0.0
    assert len(nothing[0]) == 0


def test_no_reference_is_lost_however_many_products_are_made() -> None:
    segment = segment_of(*(record(i, "a rocket leaves the harbour") for i in range(20)))
    query = QueryVector.of(EMBEDDER.embed_query("rocket harbour"))
    # What other tests left behind refers to None as well, and may be collected at any moment.
    gc.collect()
    gc.disable()
    try:
        before = sys.getrefcount(None)
        for _ in range(500):
            approximate_cosines(query, segment, DocFilter(size=20))
            approximate_cosines(query, segment, DocFilter.of(np.arange(20) == 3))
            cosines(query, segment, np.array([3, 7], np.int32))
        assert abs(sys.getrefcount(None) - before) < 100
    finally:
        gc.enable()


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_the_cosine_of_a_document_is_that_of_its_best_passage(share: float) -> None:
    rng = np.random.default_rng(3)
    long = "first sentence about tea. " * 30 + "a rocket leaves the harbour. " * 30
    records = [record(i, long if i % 3 == 0 else "short tea") for i in range(60)]
    records[5] = Record(memory=records[5].memory)
    segment = segment_of(*records)
    mask = rng.random(60) < share
    mask[[0, 5]] = True
    vector = EMBEDDER.embed_query("rocket harbour")
    query = QueryVector.of(vector)
    doc_filter = DocFilter.of(mask)
    approximate = approximate_cosines(query, segment, doc_filter)
    chosen = np.flatnonzero(mask).astype(np.int32)
    precise = cosines(query, segment, chosen)
    assert len(approximate) == len(precise) == len(chosen)
    for place, doc in enumerate(chosen.tolist()):
        made = records[doc]
        if not made.embeddings:
            assert approximate[place] == precise[place] == ABSENT
        else:
            exact = float((made.embeddings[0].vectors @ vector).max())
            assert precise[place] == pytest.approx(exact, abs=1e-4)
            assert abs(approximate[place] - exact) <= 0.01
    start, end = best_passage(query, segment, 0) or (0, 0)
    assert "rocket" in long[start:end]
    assert best_passage(query, segment, 5) is None
    assert len(approximate_cosines(query, segment, DocFilter.of(np.zeros(60, bool)))) == 0
    assert len(cosines(query, segment, np.empty(0, np.int32))) == 0


def test_merging_keeps_the_living_as_if_they_had_been_built_together() -> None:
    records = [
        record(i, " ".join(WORDS[: 1 + i % 8]), scope=f"s{i % 3}", tags=("a",) * (i % 2))
        for i in range(30)
    ]
    records[7] = Record(memory=records[7].memory)
    one, two = segment_of(*records[:20]), segment_of(*records[20:])
    live_docs = np.array([i % 4 != 0 for i in range(20)])
    merged = merge([(one, live_docs), (two, np.ones(10, bool))])
    expected = segment_of(*(r for i, r in enumerate(records) if i >= 20 or i % 4))
    for name in ARRAYS:
        if name in ("scope", "speaker", "conversation"):
            named = [merged.names[code] for code in getattr(merged, name)]
            assert named == [expected.names[code] for code in getattr(expected, name)]
        else:
            assert np.array_equal(getattr(merged, name), getattr(expected, name)), name
    assert merged.find("m1") == 0
    assert merged.find("m0") is None
    assert [merged.id_of(i) for i in range(3)] == ["m1", "m2", "m3"]


changes = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "erase", "forget", "attach"]),
        st.integers(0, 7),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
        st.booleans(),
    ),
    max_size=60,
)


@given(changes)
def _an_index_that_followed_every_change_equals_one_built_anew(
    steps: list[tuple[str, int, list[str], bool]],
) -> None:
    storage = InMemoryStorage()
    followed = SearchIndex(storage, EMBEDDER)
    for verb, number, words, look in steps:
        held = storage.get([f"m{number}"]).get(f"m{number}")
        text = " ".join(words)
        if verb == "put" or (held is None and verb == "forget"):
            revision = held.memory.revision if held else 0
            put = memory(number, text, revision=revision + 1)
            vectors = (embedding(text),) if look else ()
            storage.commit(Commit(puts=[Put(memory=put, expected=revision, embeddings=vectors)]))
        elif held is not None and verb == "forget":
            gone = evolve(held.memory, status=Status.FORGOTTEN, revision=held.memory.revision + 1)
            storage.commit(Commit(puts=[Put(memory=gone, expected=held.memory.revision)]))
        elif held is not None and verb == "attach":
            vectors = embedding(held.memory.text)
            storage.commit(
                Commit(
                    attaches=[
                        Attach(id=held.memory.id, revision=held.memory.revision, embedding=vectors)
                    ]
                )
            )
        elif held is not None:
            storage.commit(Commit(erases=[Erase(id=held.memory.id)]))
        if look:
            followed.refresh()
    anew = SearchIndex(storage, EMBEDDER)
    assert len(followed.refresh()) == len(anew.refresh())
    for query in (*WORDS, "tea at the harbour"):
        for criteria in (Criteria(), Criteria(statuses=frozenset({Status.CURRENT}))):
            mine = ask(followed, query, criteria=criteria)
            theirs = ask(anew, query, criteria=criteria)
            assert [c.id for c in mine.candidates] == [c.id for c in theirs.candidates]
            assert [c.score for c in mine.candidates] == pytest.approx(
                [c.score for c in theirs.candidates], abs=2e-6
            )
            assert (mine.eligible, mine.pending) == (theirs.eligible, theirs.pending)


@pytest.mark.parametrize("examples", [15, pytest.param(120, marks=pytest.mark.slow("index-walks"))])
def test_an_index_that_followed_every_change_equals_one_built_anew(examples: int) -> None:
    settings(max_examples=examples, deadline=None)(
        _an_index_that_followed_every_change_equals_one_built_anew
    )()


def test_many_small_changes_leave_few_segments() -> None:
    reader = Reader()
    for i in range(300):
        document = describe(record(i, "tea"), model=EMBEDDER.model, dimensions=EMBEDDER.dimensions)
        reader = reader.apply_changes([document], [], cursor=i, dimensions=EMBEDDER.dimensions)
    assert len(reader) == 300
    assert len(reader.segment_readers) <= 10
    emptied = reader.apply_changes([], [f"m{i}" for i in range(300)], cursor=301, dimensions=64)
    assert len(emptied) == 0
    assert emptied.segment_readers == ()
    assert emptied.compact() == emptied


def store(storage: InMemoryStorage, *records: Record) -> None:
    puts = [Put(memory=r.memory, expected=0, embeddings=r.embeddings) for r in records]
    storage.commit(Commit(puts=puts))


def filled(count: int = 40) -> InMemoryStorage:
    storage = InMemoryStorage()
    tea = (record(i, f"tea number {i}", kind=Kind.FACT, tags=("hot",)) for i in range(count))
    store(storage, *tea)
    return storage


def snapshot_for(storage: InMemoryStorage, folder: Path, **other: object) -> Snapshot:
    fields = {"identity": storage.identity, "model": EMBEDDER.model, "dimensions": 64, **other}
    return Snapshot(folder, **fields)  # type: ignore[arg-type]


def is_mapped(array: NDArray[np.generic]) -> bool:
    """Tell whether an array lies in a file that is mapped."""
    base = array.base
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    return base is not None


def test_a_large_low_plane_is_read_from_the_file_and_answers_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = filled()
    snapshot = snapshot_for(storage, tmp_path / "index")
    built = SearchIndex(storage, EMBEDDER)
    assert snapshot.write(built.refresh().compact())
    monkeypatch.setattr(snapshots, "_READ_FROM_FILE", 1)
    mapped = SearchIndex(storage, EMBEDDER, snapshot=snapshot)
    assert mapped.refresh().segment_readers[0].segment.low_in_file is not None
    for number in range(10):
        assert ask(mapped, f"number {number}") == ask(built, f"number {number}")
    storage.commit(Commit(erases=[Erase(id="m7")]))
    merged = mapped.refresh().compact().segment_readers[0].segment
    assert merged.low_in_file is None
    assert (merged.low == built.refresh().compact().segment_readers[0].segment.low).all()


def test_a_snapshot_is_mapped_and_answers_as_the_index_that_wrote_it(tmp_path: Path) -> None:
    storage = filled()
    snapshot = snapshot_for(storage, tmp_path / "index")
    built = SearchIndex(storage, EMBEDDER)
    assert snapshot.read() is None
    assert snapshot.write(built.refresh().compact())
    reader = snapshot.read()
    assert reader is not None
    assert is_mapped(reader.segment_readers[0].segment.high)
    mapped = SearchIndex(storage, EMBEDDER, snapshot=snapshot)
    assert ask(mapped, "number 7") == ask(built, "number 7")
    storage.commit(Commit(erases=[Erase(id="m7")]))
    assert ask(mapped, "number 7") == ask(built, "number 7")
    assert "m7" not in {c.id for c in ask(mapped, "number 7").candidates}


def test_an_index_writes_its_snapshot_when_enough_has_changed(tmp_path: Path) -> None:
    storage = filled(40)
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, tmp_path))
    index.save()
    assert list(tmp_path.iterdir()) == []
    storage.commit(
        Commit(puts=[Put(memory=memory(i, "more"), expected=0) for i in range(100, 700)])
    )
    index.save()
    (file,) = tmp_path.iterdir()
    written = file.stat().st_mtime_ns
    index.save()
    assert file.stat().st_mtime_ns == written
    assert len(snapshot_for(storage, tmp_path).read() or ()) == 640
    index.discard()
    index.discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "other", [{"identity": "another"}, {"model": "another"}, {"dimensions": 32}]
)
def test_a_snapshot_of_another_store_or_model_is_passed_over(
    tmp_path: Path, other: dict[str, object]
) -> None:
    storage = filled()
    foreign = snapshot_for(storage, tmp_path, **other)
    assert foreign.write(SearchIndex(storage, EMBEDDER).refresh().compact())
    (file,) = tmp_path.iterdir()
    ours = snapshot_for(storage, tmp_path)
    if ours._path != file:
        file.rename(ours._path)
    assert ours.read() is None


def test_a_snapshot_from_the_future_of_its_store_is_removed(tmp_path: Path) -> None:
    storage = filled(600)
    snapshot = snapshot_for(storage, tmp_path)
    reader = SearchIndex(storage, EMBEDDER).refresh().compact()
    assert snapshot.write(evolve(reader, cursor=10**6))
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot)
    assert index.refresh().cursor == storage.position()
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_snapshot_never_crashes_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    storage = filled(20)
    folder = tmp_path_factory.mktemp("index")
    snapshot = snapshot_for(storage, folder)
    snapshot.write(SearchIndex(storage, EMBEDDER).refresh().compact())
    (file,) = folder.iterdir()
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    file.write_bytes(content)
    reader = snapshot.read()
    if reader is not None:
        intact = SearchIndex(storage, EMBEDDER).refresh().compact().segment_readers[0].segment
        mapped = reader.segment_readers[0].segment
        for name in ARRAYS:
            assert np.array_equal(getattr(mapped, name), getattr(intact, name)), name
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot)
    assert "m7" in {c.id for c in ask(index, "number 7").candidates}


def test_a_folder_that_cannot_be_written_costs_only_the_snapshot(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file where the folder should be")
    storage = filled(600)
    index = SearchIndex(storage, EMBEDDER, snapshot=snapshot_for(storage, tmp_path / "index"))
    index.save()
    assert len(ask(index, "number 7").candidates) == 10
    assert index._snapshot is not None
    assert index._snapshot.write(Reader()) is False


@pytest.mark.parametrize(
    ("question", "names", "expected"),
    [
        ("When did Caroline's cat arrive?", {"Caroline"}, "When did cat arrive?"),
        ("what does ANNA LEE think", {"Anna Lee"}, "what does think"),
        ("Caroline?", {"Caroline"}, "Caroline?"),
        ("no names here", set(), "no names here"),
    ],
)
def test_names_of_speakers_are_taken_out_of_a_question(
    question: str, names: set[str], expected: str
) -> None:
    assert remove_names(question, names) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_question_whose_vector_is_not_finite_is_compared_by_words_alone(value: float) -> None:
    class Broken(HashingEmbedder):
        def embed_query(self, text: str) -> NDArray[np.float32]:
            vector = super().embed_query(text)
            vector[3] = value
            return vector

    found = ask(SearchIndex(filled(5), Broken()), "number 3")
    assert found.candidates[0].id == "m3"
    assert found.note is not None
    assert "not finite" in found.note


def test_an_outline_has_the_total_and_the_passage_of_the_explanation() -> None:
    storage = InMemoryStorage()
    store(storage, *(record(i, f"tea number {i} is green. " * 30) for i in range(5)))
    index = SearchIndex(storage, EMBEDDER)
    whole, outlined = ask(index, "green tea"), ask(index, "green tea", outline=True)
    for full, short in zip(whole.candidates, outlined.candidates, strict=True):
        assert full.explanation is not None
        assert full.explanation.meaning_rank is not None
        assert short.explanation == Explanation(
            total=full.explanation.total, passage=full.explanation.passage
        )
        assert (full.id, full.score) == (short.id, short.score)


def test_a_ranking_says_whether_anything_is_archived() -> None:
    storage = InMemoryStorage()
    store(storage, record(1, "green tea"))
    index = SearchIndex(storage, EMBEDDER)
    assert not ask(index, "coffee").has_archived
    store(storage, record(2, "black coffee", status=Status.ARCHIVED))
    assert ask(index, "coffee").has_archived
