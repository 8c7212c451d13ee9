"""A store with a search of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from infinite_memory import ConfigurationError, LinearSearch, MemoryStore
from infinite_memory.core.protocols import Embedder, Search, Storage
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.testing.embedders import HashingEmbedder


def opened(home: Path, search: Any = LinearSearch) -> MemoryStore:
    return MemoryStore.open(home, embedder=HashingEmbedder(), search=search)


class Doubtful(LinearSearch):
    """Answers as `wrong` makes it of the right ranking."""

    wrong: Any

    def search(self, question: Question) -> Ranking:
        ranking: Ranking = self.wrong(super().search(question))
        return ranking


def answering(wrong: Any) -> type[Doubtful]:
    return type("Doubtful", (Doubtful,), {"wrong": staticmethod(wrong)})


def test_a_store_does_everything_with_a_linear_search(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.models.warm_up()
        tea = store.remember("Alice likes green tea", id="tea", key="drink")
        store.scopes.create("harbour")
        store.remember("the ship leaves Harbour at nine", id="ship", scope="harbour")
        assert store.search("what does Alice like?")[0].memory.id == "tea"
        assert store.search("when leaves the ship, Harbour?", scope="harbour")[0].memory.id
        assert store.why_not("ship", "tea").id == "tea"
        page = store.recall_by_time(when="always", scope="Global")
        assert [memory.id for memory in page.memories] == ["tea"]
        assert page.total == 1
        store.revise("tea", revision=tea.revision, text="Alice likes black coffee")
        assert store.search("coffee")[0].memory.id == "tea"
        assert store.verify(mend=True).sound
        store.forget("tea", hard=True)
        assert [hit.memory.id for hit in store.search("coffee", scope="ALL")] != ["tea"]
        assert store.models.drop_others() == {}
    assert list(tmp_path.glob("index/*")) == []


def test_the_search_is_made_with_the_storage_and_the_embedder(tmp_path: Path) -> None:
    made: list[tuple[Storage, Embedder]] = []

    def factory(storage: Storage, embedder: Embedder) -> Search:
        made.append((storage, embedder))
        return LinearSearch(storage, embedder)

    with opened(tmp_path, factory) as store:
        store.remember("tea")
        assert len(store.search("tea")) == 1
    storage, embedder = made[0]
    assert storage.identity
    assert embedder.model == "hashing-64"


@pytest.mark.parametrize(
    ("factory", "sentence"),
    [
        (7, "search 7 cannot be called"),
        (lambda _storage, _embedder: None, "lacks the methods search and nearest"),
        (
            lambda _storage, _embedder: type("Half", (), {"search": print})(),
            "Half object at .* which lacks the method nearest",
        ),
    ],
)
def test_what_is_no_search_is_refused_when_the_store_is_opened(
    tmp_path: Path, factory: Any, sentence: str
) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        opened(tmp_path, factory)
    with opened(tmp_path) as store:
        store.remember("tea")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda _: [("a", 1.0)], "the search Doubtful answered with .* which is not a Ranking"),
        (
            lambda ranking: evolve(ranking, candidates=ranking.candidates * 11),
            "the search Doubtful answered with 11 candidates and the limit was 10",
        ),
        (
            lambda ranking: evolve(
                ranking, candidates=tuple(evolve(c, score=1.5) for c in ranking.candidates)
            ),
            "not a Candidate with a score from 0 to 1",
        ),
        (lambda ranking: evolve(ranking, candidates=("tea",)), "not a Candidate with a score"),
    ],
)
def test_an_answer_that_breaks_the_contract_names_the_search(
    tmp_path: Path, wrong: Any, sentence: str
) -> None:
    with opened(tmp_path, answering(wrong)) as store:
        store.remember("tea", id="tea")
        with pytest.raises(ConfigurationError, match=sentence):
            store.search("tea")
        assert store.get("tea").text == "tea"
