"""Near-twins: pairs judged by hand, and what no pair may do."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.model.criteria import Criteria
from infinite_memory.model.question import Arm, Question
from infinite_memory.model.record import Put
from infinite_memory.search.document import describe
from infinite_memory.search.index import SearchIndex
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.text.canonical import statement
from infinite_memory.text.code import is_code
from infinite_memory.text.relative_time import is_relative
from tests.search.test_index import EMBEDDER, MAY, record

PAIRS = [
    json.loads(line)
    for line in Path(__file__).with_name("twin_pairs.jsonl").read_text("utf-8").splitlines()
]
NUMBERS = st.integers(0, 10_000)
NAMES = st.sampled_from(
    "Alice Bob Carol 小明 parse_url parseUrl src/app.py -5 +5 v1.2 C C++".split()
)


def collapses(pair: dict[str, Any]) -> bool:
    """Tell whether a pair is one hit, the other text said `hours_later` if the pair has that."""
    one = describe(record(0, pair["one"]), model=EMBEDDER.model, dimensions=EMBEDDER.dimensions)
    moment = MAY + timedelta(hours=pair.get("hours_later", 0))
    later = record(0, pair["other"], happened_at=moment)
    other = describe(later, model=EMBEDDER.model, dimensions=EMBEDDER.dimensions)
    return one.twin == other.twin


@pytest.mark.parametrize("pair", [p for p in PAIRS if not p["twins"]], ids=lambda p: p["one"][:40])
def test_no_fact_is_hidden_behind_another(pair: dict[str, Any]) -> None:
    assert not collapses(pair)


@pytest.mark.parametrize("pair", [p for p in PAIRS if p["twins"]], ids=lambda p: p["one"][:40])
def test_small_differences_make_twins_unless_they_are_known_not_to_be_seen(
    pair: dict[str, Any],
) -> None:
    assert collapses(pair) == pair.get("seen", True)


@given(NUMBERS, NUMBERS)
def test_another_number_makes_another_statement(one: int, other: int) -> None:
    for form in ("the limit is {}", "{} users", "Budget: ${}", "端口是{}", "x = {}", "on June {}"):
        same = statement(form.format(one)) == statement(form.format(other))
        assert same == (one == other)


@given(NAMES, NAMES)
def test_another_name_makes_another_statement(one: str, other: str) -> None:
    for form in ("{} likes tea", "we use {}", "the owner is {}", "call {} on Monday", "是{}"):
        same = statement(form.format(one)) == statement(form.format(other))
        assert same == (one == other)


@given(st.text())
def test_every_text_states_something_and_always_the_same(text: str) -> None:
    assert statement(text)
    assert statement(text) == statement(text + "  ")


@pytest.mark.parametrize("word", ["not", "never", "no longer", "only", "was", "maybe", "almost"])
def test_a_word_that_may_change_the_meaning_counts(word: str) -> None:
    assert statement(f"Alice is {word} at home") != statement("Alice is at home")


def test_greetings_alone_are_compared_as_they_stand() -> None:
    assert statement("Hi!") != statement("Thanks!")
    assert statement("!!!") != statement("???")
    assert statement("Hello!") != statement("Hello?")
    assert statement("Hello.") == statement("Hello")


@pytest.mark.parametrize(
    "hostile",
    [
        "```\n" + " " * 200_000 + "x",
        'x = "' + '\\"' * 100_000,
        "f(" + ")" * 200_000 + " x",
        "hi, " * 50_000,
        "in " * 60_000 + "x",
        "in " + "x" * 200_000,
        "“" * 200_000,
        "`'\"" * 60_000,
        "半" * 200_000,
        "!" * 200_000 + "x",
        " \n" * 100_000 + "x",
    ],
    ids=lambda text: text[:8].strip(),
)
def test_a_hostile_text_is_read_in_linear_work(hostile: str) -> None:
    """Quadratic work on 200,000 characters and on a million would take minutes to hours."""
    assert statement(hostile) != statement(hostile + "y")
    assert statement(hostile[:999]) == statement(hostile[:999] + " ")
    assert isinstance(is_relative(hostile * 5), bool)
    assert isinstance(is_code(hostile), bool)


def test_the_order_of_arrival_and_the_segments_are_no_matter() -> None:
    texts = [
        "The deadline is June 5",
        "Deadline: June 5.",
        "Hi! The deadline is June 5",
        "The deadline is June 6",
    ]
    records = [record(i, text) for i, text in enumerate(texts)]
    question = Question(
        text="when is the deadline",
        criteria=Criteria(),
        limit=5,
        threshold=0.0,
        arms=frozenset({Arm.WORDS}),
    )
    found = set()
    for order in permutations(records):
        storage = InMemoryStorage()
        index = SearchIndex(storage, EMBEDDER)
        for one in order:
            storage.commit([Put(memory=one.memory, expected=0)])
            index.refresh()
        candidates = index.search(question).candidates
        found.add(tuple(sorted((c.id, c.twins) for c in candidates)))
    assert found == {(("m2", ("m1", "m0")), ("m3", ()))}
