"""Which texts collapse into one hit: pairs judged by hand, and the order of arrival."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.question import Arm, Question
from infinite_memory.search.document import describe
from infinite_memory.search.index import SearchIndex
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from tests.search.test_index import EMBEDDER, MAY, record

DISTINCT = [
    json.loads(line)
    for line in Path(__file__).with_name("distinct_pairs.jsonl").read_text("utf-8").splitlines()
]
EQUAL = [
    ("The deadline is June 5", "The deadline is June 5."),
    ("The deadline  is June 5 ", "The deadline is June 5"),
    ("Caf\u00e9 at 9", "Cafe\u0301 at 9."),
    ("我喜欢喝茶", "我喜欢喝茶。"),
    ("下周一开会", "下周一开会。"),
    ("Bob works at Acme Inc.", "Bob works at Acme Inc"),
    ("x = load(path) ", "x = load(path)"),
    ("one\ntwo\n", "one\ntwo"),
]


def collapses(one: str, other: str, *, hours_later: float = 0) -> bool:
    """Return whether two texts become one hit, the other told `hours_later`."""
    earlier = record(0, one, happened_at=MAY)
    later = record(0, other, happened_at=MAY + timedelta(hours=hours_later))
    documents = [
        describe(each, model=EMBEDDER.model, dimensions=EMBEDDER.dimensions)
        for each in (earlier, later)
    ]
    return documents[0].canonical_hash == documents[1].canonical_hash


@pytest.mark.parametrize("pair", DISTINCT, ids=lambda pair: pair["one"][:40])
def test_no_fact_is_hidden_behind_another(pair: dict[str, Any]) -> None:
    assert not collapses(**pair)


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_texts_of_one_canonical_form_collapse(one: str, other: str) -> None:
    assert collapses(one, other)


def test_the_order_of_arrival_and_the_segments_are_no_matter() -> None:
    texts = [
        "The deadline is June 5",
        "The deadline is June 5.",
        "The deadline  is June 5",
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
    hits = set()
    for order in permutations(records):
        storage = InMemoryStorage()
        index = SearchIndex(storage, EMBEDDER)
        for each in order:
            storage.commit(Commit(puts=[Put(memory=each.memory, expected=0)]))
            index.refresh()
        candidates = index.search(question).candidates
        hits.add(tuple(sorted((c.id, c.twins) for c in candidates)))
    assert hits == {(("m2", ("m1", "m0")), ("m3", ()))}
