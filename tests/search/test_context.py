"""Memories in their conversations: what was said around them counts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Origin
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.search.calibration import Calibration, calibrate
from infinite_memory.search.conversation.turns import NONE, find_conversation_turns
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import Document, describe
from infinite_memory.search.ranking import rank
from infinite_memory.search.reader import Reader
from infinite_memory.search.scoring import DEFAULT_WEIGHTS, Weights
from infinite_memory.search.segment import build
from infinite_memory.testing.embedders import HashingEmbedder

EMBEDDER = HashingEmbedder()
START = datetime(2026, 1, 1, tzinfo=UTC)


def turn(number: int, text: str, **fields: object) -> Memory:
    memory = Memory(
        id=f"t{number:03}",
        text=text,
        happened_at=START,
        stored_at=START + timedelta(seconds=number),
        conversation_id="talk",
        kind=Kind.MESSAGE,
    )
    return evolve(memory, **fields)


def documents(memories: Sequence[Memory]) -> list[Document]:
    vectors = EMBEDDER.embed([memory.text for memory in memories])
    return [
        describe(
            Record(
                memory=memory,
                embeddings=(
                    Embedding(
                        model=EMBEDDER.model,
                        spans=np.array([[0, len(memory.text)]], np.int32),
                        vectors=vector[np.newaxis],
                    ),
                ),
            ),
            model=EMBEDDER.model,
            dimensions=EMBEDDER.dimensions,
        )
        for memory, vector in zip(memories, vectors, strict=True)
    ]


def view_of(*batches: Sequence[Memory]) -> Reader:
    reader = Reader()
    for batch in batches:
        reader = reader.apply_changes(
            documents(batch), [], cursor=reader.cursor + len(batch), dimensions=EMBEDDER.dimensions
        )
    return reader


def ask(
    reader: Reader, text: str, weights: Weights = DEFAULT_WEIGHTS, criteria: Criteria | None = None
) -> Ranking:
    question = Question(
        text=text, criteria=criteria or Criteria(), limit=20, threshold=0.0, explain=True
    )
    return rank(
        reader, question, EMBEDDER.embed_query, background=EMBEDDER.background, weights=weights
    )


def ids(ranking: Ranking) -> list[str]:
    return [candidate.id for candidate in ranking.candidates]


TALK = [
    turn(0, "good morning to you"),
    turn(1, "where did you spend the summer holidays?"),
    turn(2, "in Rome, with my sister"),
    turn(3, "and now back to the ledger"),
    turn(4, "something else altogether", conversation_id="other"),
    turn(5, "and again something else", conversation_id=None),
]


def test_an_answer_is_found_by_the_question_before_it() -> None:
    reader = view_of(TALK)
    found = ask(reader, "summer holidays")
    assert "t002" in ids(found)[:2]
    alone = evolve(DEFAULT_WEIGHTS, around=0.0, before=0.0, after=0.0, conversation=0.0)
    assert "t002" not in ids(ask(reader, "summer holidays", alone))


def spoken(turns: Sequence[Memory], speakers: str) -> Reader:
    return view_of([evolve(turn, speaker=name) for turn, name in zip(turns, speakers, strict=True)])


def test_a_turn_by_the_same_speaker_is_no_answer() -> None:
    assert "t002" in ids(ask(spoken(TALK[:4], "ABAB"), "summer holidays"))[:2]
    shown = ask(spoken(TALK[:4], "AAAA"), "summer holidays")
    best = shown.candidates[0].explanation
    assert best is not None
    assert best.around == pytest.approx(0, abs=1e-6)


def test_a_question_to_which_nobody_replies_counts_in_full() -> None:
    talk = [turn(0, "the harbour lights?"), turn(1, "fishing boats")]
    losses = []
    for speakers in ("AA", "AB"):
        best = ask(spoken(talk, speakers), "harbour lights").candidates[0]
        assert best.id == "t000"
        assert best.explanation is not None
        losses.append(best.explanation.is_question)
    assert losses[0] == 0 > losses[1]


def sessions_that_asked(text: str, reply: str, number: int) -> list[Memory]:
    return [
        turn(2 * session + place, said, conversation_id=f"session {session}", speaker=speaker)
        for session in range(number)
        for place, (speaker, said) in enumerate((("user", text), ("assistant", reply)))
    ]


@pytest.mark.parametrize("sessions", [1, 8])
def test_a_fact_comes_before_sessions_that_asked_for_it(sessions: int) -> None:
    question = "Where does my sister Nadia live?"
    fact = turn(99, "My sister Nadia moved to Trieste", conversation_id=None)
    asked = sessions_that_asked(question, "I do not know that yet", sessions)
    found = ask(view_of([fact, *asked]), question)
    assert ids(found)[0] == fact.id
    unmoved = ask(view_of([fact, *asked]), question, evolve(DEFAULT_WEIGHTS, is_question=0.0))
    assert ids(unmoved)[0] != fact.id


def test_a_reply_of_few_words_is_found_by_the_question_before_it() -> None:
    question = "Where does my sister Nadia live?"
    talk = [*sessions_that_asked(question, "Trieste", 1), turn(9, "Hazelnuts are forbidden")]
    assert "t001" in ids(ask(view_of(talk), question))[:2]


def test_another_conversation_gains_nothing() -> None:
    found = ask(view_of(TALK), "summer holidays")
    assert "t004" not in ids(found)
    assert "t005" not in ids(found)


def test_a_question_counts_less_than_what_says_the_same() -> None:
    reader = view_of([turn(0, "the harbour lights?", conversation_id=None)])
    said = view_of([turn(0, "the harbour lights", conversation_id=None)])
    asked, told = (ask(v, "harbour lights").candidates[0] for v in (reader, said))
    assert asked.explanation is not None
    assert asked.explanation.is_question < 0
    assert asked.score < told.score


@pytest.mark.parametrize(
    ("kind", "origin", "loses"),
    [
        (Kind.NOTE, Origin.USER, False),
        (Kind.DISCUSSION, Origin.USER, False),
        (Kind.DISCUSSION, Origin.TOOL, True),  # a piece of a session
        (Kind.MESSAGE, Origin.USER, True),
    ],
)
def test_only_what_was_said_loses_because_it_asks(kind: Kind, origin: Origin, loses: bool) -> None:
    text = "Shall we move the harbour lights?"
    memory = turn(0, text, kind=kind, origin=origin, conversation_id=None)
    best = ask(view_of([memory]), "move the harbour lights").candidates[0]
    assert best.explanation is not None
    assert (best.explanation.is_question < 0) == loses


def test_what_may_not_be_seen_moves_no_score() -> None:
    hidden = [evolve(TALK[1], scope="Secret"), *TALK[2:]]
    criteria = Criteria(scopes=frozenset({"Global"}))
    found = ask(view_of(hidden), "summer holidays", criteria=criteria)
    without = ask(view_of(TALK[2:]), "summer holidays", criteria=criteria)
    assert found.candidates == without.candidates


@settings(deadline=None, max_examples=30)
@given(st.randoms(use_true_random=False))
def test_the_order_of_arrival_and_the_segments_change_nothing(random: Random) -> None:
    talk = [
        turn(i, f"word{i % 5} word{i % 3} and more", conversation_id=f"c{i % 2}") for i in range(30)
    ]
    whole = ask(view_of(talk), "word1 word2")
    shuffled = list(talk)
    random.shuffle(shuffled)
    cuts = sorted(random.sample(range(1, 30), 4))
    batches = [shuffled[a:b] for a, b in pairwise([0, *cuts, 30])]
    parted = ask(view_of(*batches), "word1 word2")
    assert ids(parted) == ids(whole)
    assert [c.score for c in parted.candidates] == pytest.approx(
        [c.score for c in whole.candidates], abs=1e-5
    )


def test_neighbours_are_those_before_and_after_in_time() -> None:
    segment = build(documents(TALK), dimensions=EMBEDDER.dimensions)
    everything = DocFilter(size=len(segment))
    turns = find_conversation_turns([segment], [everything], np.array([0, 0]), np.array([2, 5]))
    row = {segment.id_of(int(doc)): i for i, doc in enumerate(turns.doc)}
    assert set(row) == {"t000", "t001", "t002", "t003", "t005"}
    assert turns.doc[turns.before[row["t002"]]] == 1
    assert turns.doc[turns.after[row["t002"]]] == 3
    assert turns.before[row["t005"]] == turns.after[row["t005"]] == turns.after[row["t003"]] == NONE
    assert {segment.id_of(int(turns.doc[i])) for i in turns.wanted} == {
        *("t001", "t002", "t003", "t005")
    }
    assert turns.size[turns.conversation[row["t002"]]] == 4
    assert turns.size[turns.conversation[row["t005"]]] == 1


def test_a_turn_that_is_not_selected_is_no_neighbour() -> None:
    segment = build(documents(TALK), dimensions=EMBEDDER.dimensions)
    mask = np.array([True, False, True, True, True, True])
    turns = find_conversation_turns([segment], [DocFilter.of(mask)], np.array([0]), np.array([2]))
    row = {segment.id_of(int(doc)): i for i, doc in enumerate(turns.doc)}
    assert turns.doc[turns.before[row["t002"]]] == 0
    assert "t001" not in row


@given(
    st.floats(0.01, 3),
    st.sampled_from(
        [DEFAULT_WEIGHTS, evolve(DEFAULT_WEIGHTS, words=0), evolve(DEFAULT_WEIGHTS, meaning=0)]
    ),
)
def test_a_threshold_is_the_score_of_the_least_total(total: float, weights: Weights) -> None:
    curve = calibrate((), 0, 0.0, weights, 5)
    score = curve.score(total)
    assert 0 < score <= 1
    if 1e-4 < score < 1 - 1e-4:
        assert curve.total(score) == pytest.approx(total, abs=1e-2)


def test_nothing_scores_nothing_and_the_ends_are_the_ends() -> None:
    curve = Calibration(middle=0.75, width=0.1)
    assert (curve.score(0.0), curve.score(0.75)) == (0.0, 0.5)
    assert (curve.total(0.0), curve.total(1.0)) == (0.0, float("inf"))
