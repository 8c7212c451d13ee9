"""A question with ways over links: a linked memory has a part of the total of its match."""

from __future__ import annotations

from typing import Any

import pytest

from infinite_memory.core.protocols import Search
from infinite_memory.core.values.criteria import Criteria, Depth
from infinite_memory.core.values.hits import Reached
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.question import Question
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.linear import LinearSearch
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.search_contract import put_text, question

TO_FAR = Reached(match="near", links=(LinkType.SEMANTIC,), weight=0.6)


@pytest.fixture(params=[SearchIndex, LinearSearch])
def search(request: pytest.FixtureRequest) -> Search:
    storage, embedder = InMemoryStorage(), HashingEmbedder()
    put_text(storage, embedder, "near", "the harbour of Bergen")
    put_text(storage, embedder, "close", "Bergen")
    put_text(storage, embedder, "far", "茶", scope="work")
    made: Search = request.param(storage, embedder)
    return made


def asked(criteria: Criteria | None = None, **fields: Any) -> Question:
    values = {"depth": Depth.EXHAUSTIVE, "explain": True, "reached": {"far": TO_FAR}, **fields}
    return question("harbour of Bergen", criteria, **values)


def test_a_linked_memory_has_half_of_the_score_times_the_weight(search: Search) -> None:
    assert "far" not in [c.id for c in search.search(asked(reached={})).candidates]
    candidates = {candidate.id: candidate for candidate in search.search(asked()).candidates}
    near, far = candidates["near"], candidates["far"]
    assert (far.reached, near.reached) == (TO_FAR, None)
    assert far.score == pytest.approx(0.3 * near.score, abs=1e-5)
    assert far.explanation is not None
    assert far.explanation.linked == far.explanation.total


def test_what_the_search_does_not_cover_is_not_raised(search: Search) -> None:
    at_home = Criteria(scopes=frozenset({"Global"}))
    assert search.search(asked(at_home)) == search.search(asked(at_home, reached={}))


@pytest.mark.parametrize(
    "reached",
    [
        {"far": Reached(match="nobody", links=TO_FAR.links, weight=1.0)},
        {"nobody": TO_FAR},
        {"close": Reached(match="near", links=TO_FAR.links, weight=0.01)},
    ],
    ids=["no such match", "no such memory", "matches better itself"],
)
def test_a_way_that_leads_nowhere_new_changes_nothing(
    search: Search, reached: dict[str, Reached]
) -> None:
    assert search.search(asked(reached=reached)) == search.search(asked(reached={}))


def test_the_place_of_a_linked_memory_is_known(search: Search) -> None:
    assert search.search(asked(reached={}, about="far")).place is None
    place = search.search(asked(about="far")).place
    assert place is not None
    candidates = search.search(asked()).candidates
    assert candidates[place[0] - 1].id == "far"
