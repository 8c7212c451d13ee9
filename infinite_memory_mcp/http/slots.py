"""Run calls in threads: so many at a time, each key in its turn, and within a time."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.to_thread
from attrs import define, field
from mcp.server.mcpserver.exceptions import ToolError

_Result = TypeVar("_Result")


@define(eq=False)
class _Turn:
    granted: bool = False
    event: anyio.Event = field(factory=anyio.Event)


class FairSlots:
    """Runs at most `count` calls at a time; who waits is served in turn, owner by owner.

    An owner never holds more than three quarters of the slots, so that a call of another can begin
    at once. A slot is free again when its call has ended, even if nobody awaits the answer any
    more: a thread cannot be stopped. All methods belong to one event loop.
    """

    def __init__(self, count: int, *, seconds: float, max_waiting: int = 256) -> None:
        """Wait `seconds` for a call to begin and as long for its end.

        At most `max_waiting` calls of an owner wait.
        """
        self._free = count
        self._max_held = max(1, count * 3 // 4)
        self._seconds = seconds
        self._max_waiting = max_waiting
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[_Turn]] = OrderedDict()
        self._threads = anyio.CapacityLimiter(math.inf)

    @property
    def running(self) -> int:
        """How many calls run or wait."""
        return self._held.total() + sum(len(turns) for turns in self._waiting.values())

    async def run(
        self, owner: str, call: Callable[[], _Result], *, seconds: float | None = None
    ) -> _Result:
        """Return the result of a call for `owner`.

        A call that has begun is finished, even if the client leaves. `seconds` is how long its end
        is waited for, if not as long as that of any.

        Raises:
            ToolError: it could not begin in time; nothing was done.
            TimeoutError: it has begun, and not ended in time.
        """
        await self._take_slot(owner)
        loop = asyncio.get_running_loop()

        def call_and_release() -> _Result:
            try:
                return call()
            finally:
                # The loop may have ended meanwhile.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._release_slot, owner)

        most = self._seconds if seconds is None else seconds
        with anyio.CancelScope(shield=True), anyio.move_on_after(most):
            return await anyio.to_thread.run_sync(
                call_and_release, abandon_on_cancel=True, limiter=self._threads
            )
        raise TimeoutError

    async def _take_slot(self, owner: str) -> None:
        if self._free and self._held[owner] < self._max_held and owner not in self._waiting:
            self._grant_slot(owner)
            return
        turns = self._waiting.setdefault(owner, deque())
        if len(turns) >= self._max_waiting:
            raise ToolError(
                f"{len(turns)} calls already wait for this server: try again in a few seconds."
                " Nothing was done."
            )
        turn = _Turn()
        turns.append(turn)
        with anyio.move_on_after(self._seconds):
            try:
                await turn.event.wait()
            except anyio.get_cancelled_exc_class():
                if turn.granted:
                    self._release_slot(owner)
                    turn.granted = False
                else:
                    self._forget_turn(owner, turn)
                raise
        if not turn.granted:
            raise ToolError(
                f"the server is busy, and the call could not begin within {self._seconds:g}"
                " seconds: try again later. Nothing was done."
            )

    def _forget_turn(self, owner: str, turn: _Turn) -> None:
        turns = self._waiting[owner]
        turns.remove(turn)
        if not turns:
            del self._waiting[owner]

    def _grant_slot(self, owner: str) -> None:
        self._free -= 1
        self._held[owner] += 1

    def _release_slot(self, owner: str) -> None:
        self._free += 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        for waiting in list(self._waiting):
            if not self._free:
                return
            if self._held[waiting] >= self._max_held:
                continue
            turns = self._waiting.pop(waiting)
            turn = turns.popleft()
            if turns:
                # Behind the others that wait.
                self._waiting[waiting] = turns
            self._grant_slot(waiting)
            turn.granted = True
            turn.event.set()
