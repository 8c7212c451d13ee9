"""`AsyncMemoryStore`: the methods of `MemoryStore`, awaited."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import os
import threading
import time
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import (
    AsyncMemoryStore,
    Config,
    InvalidInput,
    MemoryStore,
    NotFound,
    ReadOnly,
    StoreClosed,
    UnknownScope,
)
from infinite_memory.store.groups import StoreGroups
from infinite_memory.testing.embedders import HashingEmbedder

EMBEDDER = HashingEmbedder(32)


def run(test: Callable[[AsyncMemoryStore], Awaitable[object]], **options: Any) -> None:
    """Run `test` with a store in memory."""

    async def with_store() -> None:
        async with AsyncMemoryStore.open("memory://", embedder=EMBEDDER, **options) as memory:
            await test(memory)

    asyncio.run(with_store())


def pairs() -> list[tuple[str, Any, Any]]:
    """Return (name, blocking type, awaited type) of the store and of each of its groups."""
    store = MemoryStore.open("memory://", embedder=EMBEDDER)
    memory = AsyncMemoryStore(store)
    groups = [
        name for name, value in vars(StoreGroups).items() if isinstance(value, cached_property)
    ]
    return [
        ("store", MemoryStore, AsyncMemoryStore),
        *((name, type(getattr(store, name)), type(getattr(memory, name))) for name in groups),
    ]


def names_of(kind: Any) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_") or name == "__getitem__"}


@pytest.mark.parametrize(("blocking", "awaited"), [pair[1:] for pair in pairs()])
def test_it_has_the_names_of_the_store_with_the_same_parameters(
    blocking: Any, awaited: Any
) -> None:
    assert names_of(awaited) == names_of(blocking)
    assert hasattr(awaited, "__aiter__") == hasattr(blocking, "__iter__")
    for name in names_of(blocking) - {"open", "close"}:
        method = inspect.getattr_static(blocking, name)
        if inspect.isfunction(method):
            assert inspect.signature(getattr(awaited, name)) == inspect.signature(method), name
            assert getattr(awaited, name).__doc__ == method.__doc__, name
            assert inspect.iscoroutinefunction(getattr(awaited, name)), name


def test_what_is_remembered_is_found_and_the_groups_answer() -> None:
    async def test(memory: AsyncMemoryStore) -> None:
        receipt = await memory.remember("Alice lives in Oslo", scope="people", key="alice/home")
        hits = await memory.search("where does Alice live?", scope="people")
        assert [hit.memory.id for hit in hits] == [receipt.id]
        assert (await memory.get(receipt.id)).text == "Alice lives in Oslo"
        assert [scope.name async for scope in memory.scopes] == ["Global", "people"]
        assert (await memory.scopes["People"]).name == "people"
        assert [entry.number async for entry in memory.journal] == [1]
        assert (await memory.journal[1]).number == 1
        assert await memory.models.answering == await memory.models.configured == EMBEDDER.model
        assert (await memory.ids.shorten([receipt.id])).keys() == {receipt.id}
        await memory.undo()
        assert not await memory.search("Oslo", scope="ALL")

    run(test)


def test_every_entry_of_a_long_journal_is_yielded_once() -> None:
    async def test(memory: AsyncMemoryStore) -> None:
        await asyncio.gather(*(memory.remember(f"note {number}") for number in range(300)))
        numbers = [entry.number async for entry in memory.journal]
        assert numbers == sorted(range(1, len(numbers) + 1), reverse=True)
        assert (await memory.stats()).memories == 300

    run(test)


def test_errors_are_those_of_the_store() -> None:
    async def test(memory: AsyncMemoryStore) -> None:
        with pytest.raises(NotFound, match="no memory"):
            await memory.get("missing")
        with pytest.raises(UnknownScope):
            await memory.scopes["missing"]

    run(test)


@pytest.mark.parametrize("threads", [0, 65, True, "8"])
def test_a_number_of_threads_that_cannot_be_used_is_refused_before_anything_is_opened(
    threads: Any,
) -> None:
    with pytest.raises(InvalidInput, match="threads"):
        AsyncMemoryStore.open("memory://", threads=threads)


def test_the_event_loop_goes_on_while_a_call_runs() -> None:
    release = threading.Event()

    async def test(memory: AsyncMemoryStore) -> None:
        waiting = asyncio.create_task(memory.models.catch_up(stop=lambda: release.wait(10)))
        await memory.remember("the loop turns")
        await asyncio.sleep(0)
        release.set()
        await waiting

    run(test)


def test_no_more_calls_run_at_once_than_there_are_threads() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def count(_: int, __: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    async def test(memory: AsyncMemoryStore) -> None:
        calls = [memory.remember_many([{"text": f"n {n}"}], progress=count) for n in range(12)]
        await asyncio.gather(*calls)

    run(test, threads=2)
    assert 1 <= most <= 2


def test_a_cancelled_call_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    texts = [f"memory {number}" for number in range(40)]

    async def cancel_some() -> None:
        async with AsyncMemoryStore.open(tmp_path, embedder=EMBEDDER, threads=2) as memory:
            drafts = [{"text": text} for text in texts]
            tasks = [asyncio.create_task(memory.remember_many(drafts)) for _ in range(10)]
            await asyncio.sleep(0.02)
            for task in tasks[::2]:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert any(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)

    asyncio.run(cancel_some())
    with MemoryStore.open(tmp_path, embedder=EMBEDDER) as store:
        counts = [len(entry.action.memories) for entry in store.journal]
        assert set(counts) == {len(texts)}
        assert store.stats().memories == sum(counts)
        assert not store.verify().findings


def test_a_closed_store_refuses_every_call_and_closes_again() -> None:
    async def use() -> None:
        memory = await AsyncMemoryStore.open("memory://", embedder=EMBEDDER)
        await memory.close()
        await memory.close()
        with pytest.raises(StoreClosed):
            await memory.search("anything")
        with pytest.raises(StoreClosed):
            async for _ in memory.journal:
                pass

    asyncio.run(use())


def test_a_cancelled_opening_closes_what_it_opened(tmp_path: Path) -> None:
    opened: list[MemoryStore] = []
    may_open = threading.Event()

    async def use(monkeypatch: pytest.MonkeyPatch) -> None:
        real = MemoryStore.open

        def open_slowly(*args: Any, **kwargs: Any) -> MemoryStore:
            may_open.wait(10)
            opened.append(real(*args, **kwargs))
            return opened[0]

        monkeypatch.setattr(MemoryStore, "open", open_slowly)
        task = asyncio.create_task(_await(AsyncMemoryStore.open(tmp_path, embedder=EMBEDDER)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_open.set()
        while not opened:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)

    with pytest.MonkeyPatch.context() as patch:
        asyncio.run(use(patch))
    with pytest.raises(StoreClosed):
        opened[0].stats()


async def _await(opening: Awaitable[AsyncMemoryStore]) -> AsyncMemoryStore:
    return await opening


def _call_in_child(results: Any, memory: AsyncMemoryStore) -> None:
    try:
        asyncio.run(memory.stats())  # type: ignore[arg-type]
    except StoreClosed as error:
        results.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    results = context.Queue()

    async def fork() -> None:
        async with AsyncMemoryStore.open(tmp_path, embedder=EMBEDDER) as memory:
            await memory.remember("before the fork")
            child = context.Process(target=_call_in_child, args=(results, memory))
            child.start()
            await asyncio.to_thread(child.join, 30)
            assert child.exitcode == 0

    asyncio.run(fork())
    assert "fork" in results.get(timeout=5)


def test_the_configuration_is_at_hand_without_waiting() -> None:
    async def test(memory: AsyncMemoryStore) -> None:
        assert isinstance(memory.config, Config)

    run(test)


def test_a_handle_for_a_client_is_awaited_too() -> None:
    async def test(memory: AsyncMemoryStore) -> None:
        await memory.remember("the ferry leaves at ten", id="ferry", scope="team/travel")
        new = await memory.keys.create("laptop", scopes="team/*")
        key = await memory.keys.check(new.secret)
        handle = await memory.confine(scopes=key.scopes, client=key.name, read_only=True)
        async with handle:
            assert (await handle.get("ferry")).scope == "team/travel"
            with pytest.raises(ReadOnly):
                await handle.remember("a note", scope="team/travel")
        with pytest.raises(StoreClosed):
            await handle.get("ferry")
        assert (await memory.get("ferry")).id == "ferry"

    run(test)
