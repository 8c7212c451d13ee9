from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from mcp import Client
from numpy.typing import NDArray
from talking import call, refusal

from infinite_memory import EmbedderError, MemoryStore, StorageUnavailable, StoreClosed
from infinite_memory.store.lifetime import Lifetime
from infinite_memory.store.models import EmbeddingModels
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp import lazy_store
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server

Open = Callable[..., MemoryStore]


class Signalling(HashingEmbedder):
    """Tells when it is asked for a vector, and can be broken."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__()
        self.used = threading.Event()
        self.broken = broken

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.used.set()
        if self.broken:
            raise EmbedderError("the model is broken")
        return super().embed_query(text)


def opener_of(embedder: HashingEmbedder) -> Callable[[], MemoryStore]:
    return lambda: MemoryStore.open("memory://", embedder=embedder)


def test_it_opens_one_store_however_many_threads_ask() -> None:
    opened = []

    def opener() -> MemoryStore:
        opened.append(MemoryStore.open("memory://", embedder=HashingEmbedder()))
        return opened[-1]

    with LazyStore(opener) as memory, ThreadPoolExecutor(8) as threads:
        stores = list(threads.map(lambda _: memory.get(), range(32)))
    assert len(opened) == 1
    assert all(store is opened[0] for store in stores)


def test_closing_closes_the_store_and_nothing_is_opened_after() -> None:
    memory = LazyStore(opener_of(HashingEmbedder()))
    store = memory.get()
    memory.close()
    memory.close()
    with pytest.raises(StoreClosed):
        store.stats()
    with pytest.raises(StoreClosed, match="the server is stopping"):
        memory.get()
    memory.warm_up_when_quiet()


def test_a_failed_opening_is_told_and_tried_again() -> None:
    attempts = []

    def opener() -> MemoryStore:
        attempts.append(1)
        if len(attempts) == 1:
            raise StorageUnavailable("the disk is away")
        return MemoryStore.open("memory://", embedder=HashingEmbedder())

    with LazyStore(opener) as memory:
        with pytest.raises(StorageUnavailable, match="the disk is away"):
            memory.get()
        assert memory.get() is memory.get()
    assert len(attempts) == 2


def test_it_warms_up_once_requests_pause_and_embeds_what_waits() -> None:
    embedder = Signalling(broken=True)
    with LazyStore(opener_of(embedder), quiet_seconds=0.01) as memory:
        receipt = memory.get().remember("waits for its vector")
        assert receipt.searchable == "words"
        embedder.used.clear()
        embedder.broken = False
        for _ in range(3):
            memory.warm_up_when_quiet()
        assert embedder.used.wait(60)
        wait_for_warm_up()
        assert memory.get().stats().embedded == 1
        memory.warm_up_when_quiet()
        assert not warming()


def test_a_model_that_cannot_be_loaded_is_logged_and_the_store_still_serves(
    caplog: pytest.LogCaptureFixture,
) -> None:
    embedder = Signalling(broken=True)
    with (
        caplog.at_level(logging.WARNING),
        LazyStore(opener_of(embedder), quiet_seconds=0) as memory,
    ):
        memory.warm_up_when_quiet()
        assert embedder.used.wait(60)
        wait_for_warm_up()
        assert memory.get().remember("found by its words").searchable == "words"
    assert "could not be made ready: the model is broken" in caplog.text


def test_closing_while_it_warms_up_ends_the_warming() -> None:
    memory = LazyStore(opener_of(HashingEmbedder()), quiet_seconds=0)
    memory.warm_up_when_quiet()
    memory.close()
    wait_for_warm_up()
    assert not warming()


@pytest.mark.anyio
async def test_every_call_is_told_why_the_store_does_not_open_until_it_does(era: str) -> None:
    broken = True

    def opener() -> MemoryStore:
        if broken:
            raise StorageUnavailable("the disk is away: put it back")
        return MemoryStore.open("memory://", embedder=HashingEmbedder())

    with LazyStore(opener, quiet_seconds=600) as memory:
        async with Client(build_server(memory, structured=True), mode=era) as client:
            for _ in range(2):
                assert await refusal(client, "search_by_tag") == "the disk is away: put it back"
            broken = False
            assert (await call(client, "search_by_tag"))["all_tags"] == 0


@pytest.mark.anyio
async def test_a_defect_is_logged_and_the_server_goes_on(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    def opener() -> MemoryStore:
        raise ZeroDivisionError("secret detail")

    with LazyStore(opener, quiet_seconds=600) as memory:
        async with Client(build_server(memory, structured=True), mode=era) as client:
            read = await refusal(client, "search_by_tag")
            written = await refusal(client, "store_memory", text="x")
            assert (await client.list_tools()).tools
    assert "search_by_tag failed through a defect" in read
    assert read.endswith("Nothing was changed.")
    assert "Whether the change was made is unknown" in written
    assert "secret detail" not in read + written
    assert "ZeroDivisionError: secret detail" in caplog.text


def warming() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "warm-up"]


def wait_for_warm_up() -> None:
    for thread in warming():
        thread.join(60)


@pytest.mark.anyio
async def test_a_long_text_is_embedded_at_the_next_quiet_moment(era: str) -> None:
    embedder = Signalling()
    with LazyStore(opener_of(embedder), quiet_seconds=0) as memory:
        server = build_server(memory, ["core", "admin"], structured=True)
        async with Client(server, mode=era) as client:
            await call(client, "get_memory_stats")
            wait_for_warm_up()
            long = "the harbour master keeps a diary. " * 2000
            stored = await call(client, "store_memory", text=long)
            assert stored["searchable"] == "words"
            wait_for_warm_up()
            assert (await call(client, "get_memory_stats"))["embedded"] == 1


class LateModels(EmbeddingModels):
    """Returns from embedding what is pending only when the test lets it."""

    looked = threading.Event()
    gate = threading.Event()

    def catch_up(self, *, limit: int = 1000, stop: Callable[[], bool] = lambda: False) -> int:
        done = super().catch_up(limit=limit, stop=stop)
        self.looked.set()
        assert self.gate.wait(60)
        return done


class LateToReturn(MemoryStore):
    def __init__(self, lifetime: Lifetime) -> None:
        super().__init__(lifetime)
        self.models = LateModels(lifetime)


def test_what_is_stored_while_the_last_look_ends_is_embedded_too() -> None:
    def opener() -> MemoryStore:
        return LateToReturn.open("memory://", embedder=HashingEmbedder())

    with LazyStore(opener, quiet_seconds=0) as memory:
        memory.warm_up_when_quiet()
        assert LateModels.looked.wait(60)
        first = warming()
        long = "the harbour master keeps a diary. " * 2000
        assert memory.get().remember(long).searchable == "words"
        memory.embed_when_quiet()
        memory.warm_up_when_quiet()
        for thread in set(warming()) - set(first):
            thread.join(60)
        LateModels.gate.set()
        wait_for_warm_up()
        assert memory.get().stats().embedded == 1


class LingeringModels(EmbeddingModels):
    """Embeds until it is told to stop, and notes whether the store was closed meanwhile."""

    begun = threading.Event()
    closing = threading.Event()
    closed_meanwhile: bool | None = None

    def catch_up(self, *, limit: int = 1000, stop: Callable[[], bool] = lambda: False) -> int:
        self.begun.set()
        while not stop():
            time.sleep(0.01)
        type(self).closed_meanwhile = self.closing.wait(0.5)
        return super().catch_up(limit=limit, stop=stop)


class Lingering(MemoryStore):
    def __init__(self, lifetime: Lifetime) -> None:
        super().__init__(lifetime)
        self.models = LingeringModels(lifetime)

    def close(self) -> None:
        LingeringModels.closing.set()
        super().close()


def test_closing_waits_for_whoever_embeds_also_where_others_were_told_to_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lazy_store, "_LAST_STEP_SECONDS", 60.0)

    def opener() -> MemoryStore:
        return Lingering.open("memory://", embedder=HashingEmbedder())

    memory = LazyStore(opener, quiet_seconds=0)
    memory.warm_up_when_quiet()
    assert LingeringModels.begun.wait(60)
    first = warming()
    memory.embed_when_quiet()
    memory.warm_up_when_quiet()
    for thread in set(warming()) - set(first):
        thread.join(60)
    memory.close()
    wait_for_warm_up()
    assert LingeringModels.closed_meanwhile is False


class Counting(HashingEmbedder):
    """Counts its calls, tells when the first was made, and is at that until it is to stop."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.begun = threading.Event()
        self.stop: Callable[[], bool] = lambda: False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        self.begun.set()
        deadline = time.monotonic() + 60
        while self.calls == 1 and not self.stop() and time.monotonic() < deadline:
            time.sleep(0.01)
        return super().embed(texts)


class StoppingModels(EmbeddingModels):
    """Gives its embedder the question whether to stop."""

    embedder: Counting

    def catch_up(self, *, limit: int = 1000, stop: Callable[[], bool] = lambda: False) -> int:
        self.embedder.stop = stop
        return super().catch_up(limit=limit, stop=stop)


class Stopping(MemoryStore):
    def __init__(self, lifetime: Lifetime) -> None:
        super().__init__(lifetime)
        self.models = StoppingModels(lifetime)


def test_closing_does_not_wait_for_a_long_text_to_be_embedded() -> None:
    embedder = Counting()
    StoppingModels.embedder = embedder
    memory = LazyStore(lambda: Stopping.open("memory://", embedder=embedder), quiet_seconds=0)
    memory.get().remember("the harbour master keeps a diary. " * 24_000)
    assert embedder.calls == 0
    memory.warm_up_when_quiet()
    assert embedder.begun.wait(60)
    memory.close()
    wait_for_warm_up()
    whole = len(embedder.spans("the harbour master keeps a diary. " * 24_000)) // 128
    assert embedder.calls < whole
