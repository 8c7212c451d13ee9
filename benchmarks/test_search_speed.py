"""How long a warm search takes, beside the bare product of numpy on the same vectors.

Run with `pytest benchmarks/test_search_speed.py`. The whole call embeds nothing but the question,
looks at every memory by meaning and by words, and fetches the texts of the five best.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from infinite_memory import Draft, Kind, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

COUNT = 10_000
SAYING = 3_000
SCOPES = 3_000
QUESTION = "word17 word93 word250"


def texts() -> list[str]:
    draw = random.Random(0)
    words = [f"word{i}" for i in range(5000)]
    return [" ".join(draw.choices(words, k=25)) for _ in range(COUNT)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    drafts = [
        Draft(text=text, scope="rare" if i % 100 == 0 else "most") for i, text in enumerate(texts())
    ]
    home = tmp_path_factory.mktemp("home")
    with MemoryStore.open(home, embedder=HashingEmbedder(384), counts_usage=False) as opened:
        opened.remember_many(drafts)
        opened.search(QUESTION, scope="ALL")
        yield opened


@pytest.fixture(scope="module")
def chatty_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """Give as many memories, of which 3,000 are messages that say the same."""
    drafts = [Draft(text=text) for text in texts()[SAYING:]]
    drafts += [Draft(text="ok", kind=Kind.MESSAGE) for _ in range(SAYING)]
    home = tmp_path_factory.mktemp("home")
    with MemoryStore.open(home, embedder=HashingEmbedder(384), counts_usage=False) as opened:
        opened.remember_many(drafts)
        yield opened


@pytest.fixture(scope="module", params=[1, SCOPES], ids="{} scopes".format)
def store_of_scopes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryStore]:
    """Give 3,000 memories in one scope, or in a scope each; the default scope has none."""
    drafts = [
        Draft(text=text, scope=f"scope {number % request.param}")
        for number, text in enumerate(texts()[:SCOPES])
    ]
    home = tmp_path_factory.mktemp("home")
    with MemoryStore.open(home, embedder=HashingEmbedder(384), counts_usage=False) as opened:
        opened.remember_many(drafts)
        yield opened


@pytest.fixture(scope="module")
def matrix() -> NDArray[np.float32]:
    vectors = np.random.default_rng(0).standard_normal((COUNT, 384)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.benchmark(group="search of 10,000")
def test_bare_product_and_partition(
    benchmark: BenchmarkFixture, matrix: NDArray[np.float32]
) -> None:
    benchmark(lambda: np.argpartition(matrix @ matrix[7], -10)[-10:])


@pytest.mark.benchmark(group="search of 10,000")
def test_whole_call_in_every_scope(benchmark: BenchmarkFixture, store: MemoryStore) -> None:
    assert len(benchmark(lambda: store.search(QUESTION, scope="ALL"))) == 5


@pytest.mark.benchmark(group="search of 10,000")
def test_whole_call_in_a_scope_of_one_percent(
    benchmark: BenchmarkFixture, store: MemoryStore
) -> None:
    assert benchmark(lambda: store.search(QUESTION, scope="rare")).eligible == COUNT // 100


@pytest.mark.benchmark(group="search of 10,000")
def test_whole_call_where_thousands_say_the_same(
    benchmark: BenchmarkFixture, chatty_store: MemoryStore
) -> None:
    hits = benchmark(lambda: chatty_store.search(f"ok {QUESTION}", scope="ALL"))
    assert max(len(hit.twins) for hit in hits) == SAYING - 1


@pytest.mark.benchmark(group="search beside many scopes")
def test_whole_call_beside_one_scope_and_beside_three_thousand(
    benchmark: BenchmarkFixture, store_of_scopes: MemoryStore
) -> None:
    """Read the ratio of the two: what it costs that there are other scopes."""
    assert benchmark(lambda: store_of_scopes.search(QUESTION)).eligible == 0
