"""How many calls a minute a process, a key and a conversation may make."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference
from talking import call, refusal

from infinite_memory import MemoryStore
from infinite_memory.core.config import Limits
from infinite_memory.core.errors import StorageUnavailable
from infinite_memory_mcp.call_rates import LIMIT_EXCEEDED, CallRates, TooManyCalls
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def limits(calls: int = 0, conversation: int = 0) -> Limits:
    return Limits(calls_per_minute=calls, conversation_calls_per_minute=conversation)


def test_a_conversation_may_make_a_hundred_calls_a_minute_by_default() -> None:
    rates = CallRates(clock=Clock())
    for _ in range(100):
        rates.admit(Limits(), "one")
    with pytest.raises(TooManyCalls, match=r"100 calls within a minute.*in 60 seconds"):
        rates.admit(Limits(), "one")
    rates.admit(Limits(), "another")


def test_a_key_or_a_process_may_make_a_thousand_calls_a_minute_by_default() -> None:
    rates = CallRates(clock=Clock())
    for _ in range(1000):
        rates.admit(Limits())
    with pytest.raises(TooManyCalls, match=r"1000 calls within a minute.*in 60 seconds"):
        rates.admit(Limits())


def test_a_refusal_says_when_to_try_again_and_then_it_works() -> None:
    clock = Clock()
    rates = CallRates(clock=clock)
    rates.admit(limits(2))
    clock.now += 20
    rates.admit(limits(2))
    clock.now += 10.5
    for _ in range(3):
        with pytest.raises(TooManyCalls, match="try again in 30 seconds"):
            rates.admit(limits(2))
    clock.now += 29.5
    rates.admit(limits(2))
    with pytest.raises(TooManyCalls, match="try again in 20 seconds"):
        rates.admit(limits(2))


def test_conversations_are_counted_apart() -> None:
    rates = CallRates(clock=Clock())
    rates.admit(limits(conversation=1), "one")
    rates.admit(limits(conversation=1), "two")
    rates.admit(limits(conversation=1))
    with pytest.raises(TooManyCalls, match="this conversation has made 1 calls"):
        rates.admit(limits(conversation=1), "one")


def test_all_conversations_count_for_the_whole() -> None:
    rates = CallRates("this key", clock=Clock())
    rates.admit(limits(2, 5), "one")
    rates.admit(limits(2, 5), "two")
    with pytest.raises(TooManyCalls, match="this key has made 2 calls"):
        rates.admit(limits(2, 5), "three")


def test_no_limit_remembers_nothing() -> None:
    rates = CallRates(clock=Clock())
    for number in range(5000):
        rates.admit(limits(), f"conversation {number}")
    assert not rates._calls or len(rates._calls) == 1
    assert len(rates._conversations) == 1000


@pytest.mark.anyio
async def test_over_any_transport_the_assistant_reads_when_to_try_again(
    open_store: Callable[..., MemoryStore], era: str
) -> None:
    store = open_store(limits={"calls_per_minute": 3, "conversation_calls_per_minute": 1})
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        async with Client(build_server(memory, structured=True), mode=era) as client:
            await call(client, "store_memory", text="one", conversation_id="a")
            told = await refusal(client, "store_memory", text="two", conversation_id="a")
            assert "this conversation has made 1 calls" in told
            await call(client, "store_memory", text="three", conversation_id="b")
            await call(client, "get_user_profile")
            told = await refusal(client, "store_memory", text="four")
            assert "try again in" in told
            assert "Nothing was done" in told
        assert store.stats().memories == 2


@pytest.mark.anyio
async def test_whatever_reads_the_store_counts_and_is_refused_alike(
    open_store: Callable[..., MemoryStore], era: str
) -> None:
    store = open_store(limits={"calls_per_minute": 3})
    topic = PromptReference(type="ref/prompt", name="recall-context")
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        async with Client(build_server(memory), mode=era) as client:
            requests: list[Callable[[], Awaitable[object]]] = [
                lambda: client.read_resource("memory://stats/overview"),
                lambda: client.get_prompt("recall-context", {"current_topic": "Apollo"}),
                lambda: client.complete(topic, {"name": "current_topic", "value": ""}),
            ]
            for request in requests:
                await request()
            for request in requests:
                with pytest.raises(MCPError, match=r"made 3 calls.*try again in") as refused:
                    await request()
                assert refused.value.error.code == LIMIT_EXCEEDED
            assert "try again in" in await refusal(client, "get_user_profile")
            # A list says nothing of the store.
            assert (await client.list_tools()).tools


@pytest.mark.anyio
async def test_a_store_that_cannot_be_opened_is_limited_as_by_default(era: str) -> None:
    def fail() -> MemoryStore:
        raise StorageUnavailable("the disk is away")

    with LazyStore(fail, quiet_seconds=600) as memory:
        async with Client(build_server(memory), mode=era) as client:
            assert (await client.get_prompt("recall-context", {"current_topic": "x"})).messages
            with pytest.raises(MCPError, match="the disk is away"):
                await client.read_resource("memory://stats/overview")
