from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from store_names import GROUPS

from infinite_memory import AsyncMemoryStore, LinearSearch, MemoryStore, NotFound
from infinite_memory.core.observe.recorder import CacheUse, Recorder, Series, current_operation
from infinite_memory.search.embedding import CachedEmbedder
from infinite_memory.testing.embedders import HashingEmbedder

# Not measured: it ends the store, makes a handle, or gives the numbers.
# A worker makes way for calls, so that it is none itself.
UNMEASURED = {"close", "confine", "work", "work_once"}
UNMEASURED_GROUPS = {"ids"}


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    embedder = CachedEmbedder(HashingEmbedder())
    with MemoryStore.open("memory://", embedder=embedder) as opened:
        yield opened


def calls(store: MemoryStore) -> dict[str, int]:
    return {name: timing.calls for name, timing in store.metrics().operations.items()}


def test_calls_errors_arms_and_caches_are_counted(store: MemoryStore) -> None:
    store.remember("the ferry leaves at ten", id="a")
    for _ in range(2):
        assert store.search("when does the ferry leave?")
    store.search("ferry", arms=["words"])
    with pytest.raises(NotFound):
        store.get("nobody")
    with pytest.raises(NotFound):
        store.forget("nobody")
    metrics = store.metrics()
    assert calls(store) == {"forget": 1, "get": 1, "remember": 1, "search": 3}
    assert metrics.operations["get"].errors == {"NotFound": 1}
    assert metrics.operations["search"].errors == {}
    # The search for similar memories, when one is stored, compares no question.
    assert {name: timing.calls for name, timing in metrics.arms.items()} == {
        "embedding": 2,
        "meaning": 2,
        "words": 3,
    }
    assert metrics.caches == {
        "questions": CacheUse(hits=1, misses=1),
        "texts": CacheUse(hits=0, misses=1),
    }
    assert metrics.to_dict()["operations"]["search"]["calls"] == 3


def test_a_custom_search_is_measured_as_a_whole() -> None:
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), search=LinearSearch) as store:
        store.search("anything")
        assert calls(store) == {"search": 1}


def test_every_public_method_of_a_store_is_measured(store: MemoryStore) -> None:
    classes = [
        MemoryStore,
        *(kind for name, kind in GROUPS.items() if name not in UNMEASURED_GROUPS),
    ]
    for kind in classes:
        for name, method in vars(kind).items():
            if not name.startswith("_") and callable(method) and name not in UNMEASURED:
                assert "_measure_method.<locals>" in method.__code__.co_qualname, f"{kind}.{name}"


def test_a_call_that_another_call_makes_is_part_of_it(store: MemoryStore) -> None:
    recorder = Recorder()
    with recorder.call("outer"):
        assert current_operation() == "outer"
        with recorder.call("inner"):
            assert current_operation() == "outer"
    assert current_operation() is None
    assert list(recorder.timings(Series.OPERATIONS)) == ["outer"]


def test_a_handle_of_some_scopes_sees_its_own_calls_and_the_store_sees_all(
    store: MemoryStore,
) -> None:
    store.remember("the ferry leaves at ten")
    with store.confine(scopes="Global", client="laptop") as handle:
        handle.search("ferry")
        assert calls(handle) == {"search": 1}
        # Whether others asked the same question is not for this handle to know.
        assert handle.metrics().caches == {}
        with store.confine(scopes="house", client="tablet") as other:
            assert calls(other) == {}
        with store.confine(scopes="*", client="phone") as whole:
            assert calls(whole) == {"remember": 1, "search": 1}
    assert calls(store) == {"remember": 1, "search": 1}


def test_calls_of_many_threads_are_all_counted(store: MemoryStore) -> None:
    recorder = Recorder(within=(whole := Recorder()))

    def work(number: int) -> None:
        for _ in range(500):
            with recorder.call(f"operation {number % 3}"):
                recorder.count_cache("cache", hits=1, misses=2)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(12)))
    for each in (recorder, whole):
        timings = each.timings(Series.OPERATIONS)
        assert {name: timing.calls for name, timing in timings.items()} == {
            f"operation {number}": 2000 for number in range(3)
        }
        assert each.caches() == {"cache": CacheUse(hits=6000, misses=12000)}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_awaited_calls_are_measured_too(anyio_backend: str) -> None:
    async with AsyncMemoryStore.open("memory://", embedder=HashingEmbedder()) as memory:
        await memory.remember("the ferry leaves at ten")
        await memory.search("ferry")
        metrics = await memory.metrics()
        assert {name: each.calls for name, each in metrics.operations.items()} == {
            "remember": 1,
            "search": 1,
        }
        assert (await memory.health()).status == "ok"
        assert await memory.journal.reads() == []
