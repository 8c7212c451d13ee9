"""Calls run so many at a time, owner by owner, and within a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import pytest
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult

from infinite_memory_mcp.http.slots import FairSlots

pytestmark = pytest.mark.anyio
RESULT = CallToolResult(content=[])


def at_once() -> CallToolResult:
    return RESULT


class Held:
    """Calls that last until they are let go, and the order in which they began."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun: list[str] = []

    def call(self, name: str) -> Callable[[], CallToolResult]:
        def run() -> CallToolResult:
            self.begun.append(name)
            assert self.go.wait(60)
            return RESULT

        return run

    async def until(self, count: int) -> None:
        with anyio.fail_after(60):
            while len(self.begun) < count:
                await anyio.sleep(0.001)


@pytest.fixture
def held() -> Iterator[Held]:
    calls = Held()
    yield calls
    calls.go.set()


@contextmanager
def never_waits() -> Iterator[None]:
    with anyio.fail_after(60):
        yield


async def test_a_call_gives_its_result_and_its_error() -> None:
    slots = FairSlots(1, seconds=60)
    assert await slots.run("a", at_once) is RESULT

    def fail() -> CallToolResult:
        raise ToolError("no")

    with pytest.raises(ToolError, match="no"):
        await slots.run("a", fail)
    assert slots.running == 0


async def test_an_owner_leaves_room_for_others(held: Held) -> None:
    slots = FairSlots(4, seconds=60)
    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(slots.run, "greedy", held.call(f"greedy {number}"))
        await held.until(3)
        with never_waits():
            await slots.run("modest", at_once)
        assert len(held.begun) == 3
        held.go.set()
    assert len(held.begun) == 6
    assert slots.running == 0


async def test_who_waits_is_served_in_turn(held: Held) -> None:
    slots = FairSlots(1, seconds=60)
    order: list[str] = []

    def note(name: str) -> Callable[[], CallToolResult]:
        def run() -> CallToolResult:
            order.append(name)
            return RESULT

        return run

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slots.run, "first", held.call("first"))
        await held.until(1)
        for owner, count in (("a", 3), ("b", 1), ("c", 2)):
            for number in range(count):
                tasks.start_soon(slots.run, owner, note(f"{owner}{number}"))
                with never_waits():
                    while slots.running < 2 + number:
                        await anyio.sleep(0)
        with never_waits():
            while slots.running < 7:
                await anyio.sleep(0)
        held.go.set()
    assert [name[0] for name in order] == ["a", "b", "c", "a", "c", "a"]


async def test_a_call_that_cannot_begin_in_time_was_not_made(held: Held) -> None:
    slots = FairSlots(1, seconds=0.05)
    async with anyio.create_task_group() as tasks:

        async def long_call() -> None:
            with pytest.raises(TimeoutError):
                await slots.run("a", held.call("long"))

        tasks.start_soon(long_call)
        await held.until(1)
        with pytest.raises(ToolError, match=r"could not begin within 0.05 seconds.*Nothing was"):
            await slots.run("b", held.call("late"))
    assert held.begun == ["long"]


async def test_a_call_that_is_no_longer_awaited_keeps_its_slot_until_it_ends(held: Held) -> None:
    slots = FairSlots(1, seconds=0.05)
    with pytest.raises(TimeoutError):
        await slots.run("a", held.call("long"))
    assert slots.running == 1
    held.go.set()
    with never_waits():
        while slots.running:
            await anyio.sleep(0.001)
    assert await slots.run("b", at_once) is RESULT


async def test_a_client_that_leaves_while_it_waits_frees_its_place(held: Held) -> None:
    slots = FairSlots(1, seconds=60)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slots.run, "a", held.call("first"))
        await held.until(1)
        async with anyio.create_task_group() as leaving:
            leaving.start_soon(slots.run, "b", held.call("left"))
            with never_waits():
                while slots.running < 2:
                    await anyio.sleep(0)
            leaving.cancel_scope.cancel()
        assert slots.running == 1
        held.go.set()
    assert held.begun == ["first"]
    assert slots.running == 0


async def test_a_client_that_leaves_during_its_call_does_not_stop_it(held: Held) -> None:
    slots = FairSlots(1, seconds=60)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slots.run, "a", held.call("call"))
        await held.until(1)
        tasks.cancel_scope.cancel()
        held.go.set()
    with never_waits():
        while slots.running:
            await anyio.sleep(0.001)


async def test_too_many_that_wait_are_refused(held: Held) -> None:
    slots = FairSlots(1, seconds=60, max_waiting=2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slots.run, "a", held.call("first"))
        await held.until(1)
        for _ in range(2):
            tasks.start_soon(slots.run, "a", held.call("waits"))
        with never_waits():
            while slots.running < 3:
                await anyio.sleep(0)
        with pytest.raises(ToolError, match="2 calls already wait"):
            await slots.run("a", at_once)
        held.go.set()
