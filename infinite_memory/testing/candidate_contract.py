"""The contract of `CandidateEngine` as tests: derive a test class and define `make_engine` in it.

Every answer is compared with that of the built-in index, which is exact; an engine that finds the
nearest in part only must find all among as few memories as there are here.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from attrs import evolve

from infinite_memory.core.protocols import Embedder
from infinite_memory.core.protocols.candidates import CandidateEngine, Selection
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.core.values.time_range import TimeRange
from infinite_memory.search.candidates.built_in import BuiltInCandidates
from infinite_memory.search.document import Document, describe, hash_term
from infinite_memory.search.segment import Segment
from infinite_memory.testing.embedders import HashingEmbedder

__all__ = ["CandidateContract", "describe_texts"]

Engine = CandidateEngine[Segment, Document]
_START = datetime(2026, 1, 1, tzinfo=UTC)
_WORDS = "tea coffee harbour ship lamp green black parrot kettle island letter garden".split()
_SHARES = {hash_term("green"): 1.0, hash_term("ship"): 1.0, hash_term("parrot"): 0.5}
_CRITERIA = (
    Criteria(),
    Criteria(scopes=frozenset({"work", "nowhere"})),
    Criteria(kinds=frozenset({Kind.SUMMARY})),
    Criteria(topic_summaries=False),
    Criteria(statuses=frozenset({Status.CURRENT}), scopes=frozenset({"Global"})),
    Criteria(conversation_id="c1"),
    Criteria(tags=("Sea",)),
    Criteria(since=_START + timedelta(days=3), until=_START + timedelta(days=9)),
    Criteria(as_of=_START + timedelta(days=5)),
    Criteria(unended_at=_START + timedelta(days=12), begun_at=_START + timedelta(days=8)),
)
_SELECTIONS = (
    *(Selection(criteria=criteria) for criteria in _CRITERIA),
    Selection(criteria=Criteria(), without=frozenset({"m1", "m2", "m3", "nobody"})),
    Selection(
        criteria=Criteria(),
        within=TimeRange(start=_START + timedelta(days=2), end=_START + timedelta(days=4)),
    ),
)


def describe_texts(embedder: HashingEmbedder, number: int, *, seed: int = 0) -> list[Document]:
    """Return documents of random texts with all that a selection may ask for."""
    draw, documents = random.Random(seed), list[Document]()
    for count in range(number):
        text = " ".join(draw.choices(_WORDS, k=draw.randint(2, 9)))
        day = _START + timedelta(days=draw.randint(0, 12))
        is_dreamed = draw.random() < 0.1
        memory = Memory(
            id=f"m{count}",
            text=text,
            happened_at=day,
            stored_at=day + timedelta(hours=count),
            scope=draw.choice(["Global", "work", "home"]),
            kind=Kind.SUMMARY if is_dreamed else draw.choice([Kind.NOTE, Kind.MESSAGE]),
            origin=Origin.DREAM if is_dreamed else Origin.USER,
            context={"dreamed": {"level": 1}} if is_dreamed else {},
            status=draw.choice([Status.CURRENT, Status.CURRENT, Status.SUPERSEDED]),
            speaker=draw.choice([None, "Alice", "Bob"]),
            conversation_id=draw.choice([None, "c1", "c2"]),
            tags=draw.choice([(), ("sea",), ("sea", "land")]),
            valid_from=draw.choice([None, day + timedelta(days=3)]),
            valid_to=draw.choice([None, None, day + timedelta(days=5)]),
            important=draw.random() < 0.1,
        )
        spans = embedder.spans(text)
        vectors = embedder.embed([text[start:end] for start, end in spans])
        embedding = Embedding(model=embedder.model, spans=spans, vectors=vectors)
        has_vector = draw.random() < 0.9
        record = Record(memory=memory, embeddings=(embedding,) if has_vector else ())
        documents.append(describe(record, model=embedder.model, dimensions=embedder.dimensions))
    return documents


def _ids(segment: Segment) -> list[str]:
    return sorted(segment.id_of(doc) for doc in range(len(segment)))


class CandidateContract:
    """Tests that hold for every implementation of `CandidateEngine`."""

    @classmethod
    def make_engine(cls, embedder: Embedder) -> Engine:
        """Make an empty engine under test, for a store of its own."""
        raise NotImplementedError("define make_engine in the class that derives")

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> HashingEmbedder:
        """Return a quick embedder."""
        return HashingEmbedder()

    @pytest.fixture(scope="class")
    @classmethod
    def documents(cls, embedder: HashingEmbedder) -> list[Document]:
        """Return the documents that both engines have."""
        return describe_texts(embedder, 150)

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, embedder: HashingEmbedder, documents: list[Document]) -> Iterator[Engine]:
        """Return the engine under test with the documents, for tests that change nothing."""
        engine = cls.make_engine(embedder)
        assert engine.take_in(documents, [], after=0, position=7)
        yield engine
        engine.close()

    @pytest.fixture(scope="class")
    @classmethod
    def exact(cls, embedder: HashingEmbedder, documents: list[Document]) -> Engine:
        """Return the built-in index with the documents."""
        exact = BuiltInCandidates(embedder.dimensions)
        exact.take_in(documents, [], after=0, position=7)
        return exact

    @pytest.fixture
    def changing(self, embedder: HashingEmbedder, documents: list[Document]) -> Iterator[Engine]:
        """Return an engine of its own with the documents."""
        engine = self.make_engine(embedder)
        assert engine.take_in(documents, [], after=0, position=7)
        yield engine
        engine.close()

    @pytest.mark.parametrize("selection", _SELECTIONS)
    def test_the_best_by_words_and_the_counts_are_those_of_the_selected(
        self, engine: Engine, exact: Engine, selection: Selection
    ) -> None:
        found = engine.match_words(_SHARES, selection, limit=12)
        expected = exact.match_words(_SHARES, selection, limit=12)
        assert found.counts == expected.counts
        assert _ids(found.sample) == _ids(expected.sample)
        assert found.ids == expected.ids
        assert engine.match_words({}, selection, limit=3).ids == ()

    @pytest.mark.parametrize("selection", _SELECTIONS)
    def test_the_nearest_are_those_of_the_selected(
        self,
        engine: Engine,
        exact: Engine,
        selection: Selection,
        embedder: HashingEmbedder,
    ) -> None:
        vectors = embedder.embed(["green ship", "a letter to the parrot"])
        found = engine.nearest(vectors, selection, limit=150)
        assert found == pytest.approx(exact.nearest(vectors, selection, limit=150), abs=1e-2)
        best = engine.nearest(vectors[:1], selection, limit=5)
        assert len(best) == min(5, len(found))
        every = engine.nearest(vectors[:1], selection, limit=150)
        assert sorted(best.values()) == sorted(every.values())[-len(best) :][: len(best)]

    @pytest.mark.parametrize("selection", _SELECTIONS)
    @pytest.mark.parametrize("ids", [("m5",), ("m1", "m70", "m149", "nobody"), ()])
    def test_columns_come_with_their_neighbours_and_twins(
        self, engine: Engine, exact: Engine, selection: Selection, ids: Collection[str]
    ) -> None:
        found, expected = engine.columns(ids, selection), exact.columns(ids, selection)
        wanted = set(_ids(expected))
        assert wanted == set(_ids(found))
        for doc in range(len(found)):
            if found.id_of(doc) in wanted:
                _assert_equal(found, doc, expected)

    def test_a_change_replaces_and_removes(
        self, changing: Engine, documents: list[Document], embedder: HashingEmbedder
    ) -> None:
        everything = Selection(criteria=Criteria())
        moved = evolve(documents[3], scope="elsewhere")
        assert changing.take_in([moved], ["m4", "nobody"], after=7, position=9)
        assert changing.position() == 9
        counts = changing.match_words({}, everything, limit=1).counts
        assert counts.memories == len(documents) - 1
        there = Selection(criteria=Criteria(scopes=frozenset({"elsewhere"})))
        assert _ids(changing.columns(["m3", "m4", "m5"], there)) == ["m3"]
        near = changing.nearest(embedder.embed(["tea"]), everything, limit=200)
        assert "m4" not in near

    def test_a_change_after_another_cursor_changes_nothing(
        self, changing: Engine, documents: list[Document]
    ) -> None:
        assert not changing.take_in([], ["m1"], after=6, position=8)
        assert not changing.take_in(documents, [], after=0, position=20)
        assert changing.position() == 7
        everything = Selection(criteria=Criteria())
        assert "m1" in _ids(changing.columns(["m1"], everything))

    def test_a_cleared_engine_begins_anew(
        self, changing: Engine, documents: list[Document]
    ) -> None:
        changing.clear()
        everything = Selection(criteria=Criteria())
        assert changing.position() == 0
        assert changing.match_words(_SHARES, everything, limit=3).counts.memories == 0
        assert changing.take_in(documents[:2], [], after=0, position=2)
        assert changing.match_words(_SHARES, everything, limit=3).counts.memories == 2
        changing.scrub()
        changing.close()
        assert changing.position() == 2


def _assert_equal(found: Segment, doc: int, expected: Segment) -> None:
    other = expected.find(found.id_of(doc))
    assert other is not None
    for name in ("kind", "status", "happened", "stored", "held_from", "held_to", "length"):
        assert getattr(found, name)[doc] == getattr(expected, name)[other]
    for name in ("is_question", "important", "canonical_hash"):
        assert getattr(found, name)[doc] == getattr(expected, name)[other]
    for name in ("scope", "speaker", "conversation"):
        codes = getattr(found, name)[doc], getattr(expected, name)[other]
        assert found.names[codes[0]] == expected.names[codes[1]]
    ours, theirs = (
        slice(*segment.passage_start[number : number + 2])
        for segment, number in ((found, doc), (expected, other))
    )
    assert np.array_equal(found.high[ours], expected.high[theirs])
    assert np.array_equal(found.spans[ours], expected.spans[theirs])
    for term in expected.term_hash:
        counts = [
            dict(zip(docs.tolist(), numbers.tolist(), strict=True)).get(number)
            for (docs, numbers), number in (
                (found.postings(int(term)), doc),
                (expected.postings(int(term)), other),
            )
        ]
        assert counts[0] == counts[1]
