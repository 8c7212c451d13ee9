"""The built-in judge: what it links, and what it says."""

from __future__ import annotations

import re

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.core.values.dream.pair import Pair
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.features.background.dreamer.job import LocalJudge
from tests.harness.dreaming import NOW


def memory(name: str, **fields: object) -> Memory:
    return Memory(  # type: ignore[arg-type]
        id=name, text=f"secret {name}", happened_at=NOW, stored_at=NOW, **fields
    )


PAIR = Pair(
    first=memory("b"),
    second=memory("a"),
    cosine=0.71,
    score=0.8,
    sampled="new, near",
    meaning=3.0,
    words=1.0,
    shared_words=5,
)


def weight_of(pair: Pair) -> float:
    (judgement,) = LocalJudge().judge([pair])
    return judgement.weight


def messages(one: str | None, other: str | None) -> Pair:
    kinds = {"kind": Kind.MESSAGE}
    return evolve(
        PAIR,
        first=memory("b", conversation_id=one, **kinds),
        second=memory("a", conversation_id=other, **kinds),
    )


def test_a_pair_that_stands_out_is_linked_with_a_reason_of_numbers() -> None:
    (judgement,) = LocalJudge().judge([PAIR])
    assert judgement.weight == pytest.approx(0.61, abs=0.01)
    assert judgement.reason == "similar 0.71, 5 words in common"
    (near,) = LocalJudge().judge([evolve(PAIR, shared_words=1, shared_neighbors=2)])
    assert near.reason == "similar 0.71, 1 word in common, both near 2 other memories"
    (words,) = LocalJudge().judge([evolve(PAIR, cosine=0.5, meaning=None, words=4.0)])
    assert words.reason == "5 words in common"


def test_less_evidence_is_enough_with_a_common_neighbor_or_in_a_conversation() -> None:
    weak = evolve(PAIR, meaning=2.0)
    assert weight_of(weak) == 0
    assert weight_of(evolve(weak, shared_neighbors=1)) > 0
    assert weight_of(evolve(messages("c", "c"), meaning=2.0)) > 0
    assert weight_of(evolve(weak, meaning=1.0, shared_neighbors=9)) == 0


@pytest.mark.parametrize("conversations", [("c", "d"), (None, "d"), (None, None)])
def test_messages_of_two_conversations_need_much_more(
    conversations: tuple[str | None, str | None],
) -> None:
    pair = messages(*conversations)
    assert weight_of(evolve(pair, shared_neighbors=3)) == 0
    assert weight_of(evolve(pair, meaning=4.5)) > 0
    assert weight_of(evolve(pair, meaning=4.5, shared_words=2)) == 0


def test_words_in_common_are_needed_and_more_of_them_where_they_are_all_there_is() -> None:
    assert weight_of(evolve(PAIR, shared_words=0)) == 0
    assert weight_of(evolve(PAIR, shared_words=1)) > 0
    alone = evolve(PAIR, cosine=None, meaning=None, words=3.0)
    assert weight_of(evolve(alone, shared_words=2)) == 0
    assert weight_of(evolve(alone, shared_words=3)) > 0


@given(
    meaning=st.none() | st.floats(-50, 50),
    words=st.floats(-50, 50),
    shared=st.integers(0, 500),
    neighbors=st.integers(0, 50),
)
def test_weights_are_in_their_range_and_reasons_quote_nothing(
    meaning: float | None, words: float, shared: int, neighbors: int
) -> None:
    pair = evolve(
        PAIR, meaning=meaning, words=words, shared_words=shared, shared_neighbors=neighbors
    )
    (judgement,) = LocalJudge().judge([pair])
    assert judgement.weight == 0 or 0.4 <= judgement.weight <= 1
    assert re.fullmatch(
        r"(similar 0\.71, )?\d+ words? in common(, both near \d+ other memor(y|ies))?",
        judgement.reason,
    )
    more = evolve(pair, words=words + 1)
    assert weight_of(more) >= judgement.weight


def test_pairs_are_judged_in_order() -> None:
    pairs = [PAIR, evolve(PAIR, meaning=0.0), evolve(PAIR, meaning=6.0)]
    weights = [judgement.weight for judgement in LocalJudge().judge(pairs)]
    assert weights == [weight_of(pair) for pair in pairs]
    assert weights[1] == 0 < weights[0] < weights[2]
