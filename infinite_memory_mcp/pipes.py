"""Standard input and output as the two streams of a server, losing no answer at the end."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from threading import Thread
from typing import BinaryIO

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from attrs import define, field
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from infinite_memory_mcp.jsonrpc import MAX_FRAME_BYTES, BadFrame, read_frame, write_frame

__all__ = ["Pipes", "take_over"]

_log = logging.getLogger(__name__)
_DRAIN_SECONDS = 30.0

Receiving = MemoryObjectReceiveStream[SessionMessage | Exception]
Sending = MemoryObjectSendStream[SessionMessage]


def take_over() -> tuple[BinaryIO, BinaryIO]:
    """Return what standard input and output were; nobody else reads or writes there from now on.

    Whatever else this process reads finds its end at once, and what it prints goes to standard
    error, so that no stray line can corrupt the wire. For the life of the process.
    """
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(nothing, 1)
    os.close(nothing)
    # Never closed: a thread may be waiting on the first of them to the very end.
    return os.fdopen(source, "rb", closefd=False), os.fdopen(target, "wb", closefd=False)


@define
class _Owed:
    """How many requests still wait for their answer."""

    _count: int = 0
    _changed: anyio.Event = field(factory=anyio.Event)

    def add(self) -> None:
        self._count += 1

    async def settle(self) -> None:
        """Note that a request was answered, or never will be: its sender cancelled it."""
        self._count -= 1
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_for_none(self) -> None:
        while self._count:
            await self._changed.wait()


class Pipes:
    """The lines of two pipes as messages.

    Every line gets its answer: those that are no message are answered here. When the input ends,
    the requests that came before are answered first, for half a minute at most.
    """

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        """Read from `source` and write to `target`, which stay open."""
        self._source = source
        self._target = target
        self._owed = _Owed()
        self._hung_up = anyio.Event()
        # Of their own, so that busy tools never keep a line from being read or written.
        self._reading = anyio.CapacityLimiter(1)
        self._writing = anyio.CapacityLimiter(1)

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Receiving, Sending]]:
        """Read and write while the context lasts; yield what a server reads from and writes to."""
        received, to_read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sending, to_write = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, received, sending.clone())
            tasks.start_soon(self._write, to_write)
            yield to_read, sending

    async def wait_until_nobody_listens(self) -> None:
        """Return when the client no longer reads, and what it had asked for has been carried out.

        The end of the input alone does not tell that it is gone: another process may hold the
        other end of that pipe. Windows tells only when something is written.
        """
        if sys.platform != "win32":
            tell = partial(asyncio.get_running_loop().call_soon_threadsafe, self._hung_up.set)
            arguments = (self._target, tell)
            # A daemon, since it cannot be woken and must not keep the process from ending.
            Thread(target=_wait_for_hang_up, args=arguments, name="hang-up", daemon=True).start()
        await self._hung_up.wait()
        with anyio.move_on_after(_DRAIN_SECONDS):
            await self._owed.wait_for_none()

    async def write_answers(self, seconds: float) -> None:
        """Wait at most so long until every request that was read has been answered."""
        with anyio.move_on_after(seconds, shield=True):
            await self._owed.wait_for_none()

    async def _read(
        self, received: MemoryObjectSendStream[SessionMessage | Exception], sending: Sending
    ) -> None:
        async with received, sending:
            while line := await self._line():
                if not line.isspace():
                    await self._pass_on(line, received, sending)
            with anyio.move_on_after(_DRAIN_SECONDS):
                await self._owed.wait_for_none()

    async def _pass_on(
        self,
        line: bytes,
        received: MemoryObjectSendStream[SessionMessage | Exception],
        sending: Sending,
    ) -> None:
        try:
            message = read_frame(line)
        except BadFrame as bad:
            _log.warning("refused a line: %s", bad)
            self._owed.add()
            await sending.send(SessionMessage(bad.answer))
            return
        if isinstance(message, JSONRPCRequest):
            self._owed.add()
        unanswered = ServerMessageMetadata(on_request_unanswered=self._owed.settle)
        await received.send(SessionMessage(message, unanswered))

    async def _line(self) -> bytes:
        return await anyio.to_thread.run_sync(
            _read_line, self._source, abandon_on_cancel=True, limiter=self._reading
        )

    async def _write(self, to_write: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with to_write:
            async for item in to_write:
                await self._write_line(write_frame(item.message))
                if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    await self._owed.settle()

    async def _write_line(self, line: bytes) -> None:
        if self._hung_up.is_set():
            return
        try:
            await anyio.to_thread.run_sync(_put, self._target, line, limiter=self._writing)
        except OSError as error:
            _log.info("the client is gone: %s", error)
            self._hung_up.set()


def _wait_for_hang_up(pipe: BinaryIO, tell: Callable[[], object]) -> None:
    poll = select.poll()
    poll.register(pipe, 0)
    # Without a timeout this ends at an error or the hang-up alone, or where it is not to be had.
    if any(found & (select.POLLERR | select.POLLHUP) for _, found in poll.poll()):
        # Nobody is left to be told where the loop has ended meanwhile.
        with suppress(RuntimeError):
            tell()


def _read_line(source: BinaryIO) -> bytes:
    """Return the next line; of one that is too long only enough to tell that it is."""
    line = source.readline(MAX_FRAME_BYTES + 1)
    rest = line
    while len(rest) > MAX_FRAME_BYTES and not rest.endswith(b"\n"):
        rest = source.readline(MAX_FRAME_BYTES + 1)
    return line


def _put(target: BinaryIO, line: bytes) -> None:
    target.write(line)
    target.flush()
