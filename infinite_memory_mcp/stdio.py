"""Serve over standard input and output: answer every line, and stop without losing an answer."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, BinaryIO, NoReturn

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from attrs import define, field
from mcp.server import MCPServer
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from infinite_memory.core.observe.traces import flush_spans
from infinite_memory_mcp.jsonrpc import MAX_FRAME_BYTES, BadFrame, read_frame, write_frame
from infinite_memory_mcp.lazy_store import LazyStore

_log = logging.getLogger(__name__)
_DRAIN_SECONDS = 30.0
_GRACE_SECONDS = 20.0
_LAST_ANSWERS_SECONDS = 0.5
_LAST_SPANS_SECONDS = 1.0

ReceiveStream = MemoryObjectReceiveStream[SessionMessage]
ReceivedLines = MemoryObjectReceiveStream[SessionMessage | Exception]
SendStream = MemoryObjectSendStream[SessionMessage]
SentLines = MemoryObjectSendStream[SessionMessage | Exception]


def serve(server: MCPServer[Any], memory: LazyStore) -> int:
    """Serve until standard input ends, the client closes standard output, or a signal arrives.

    At the end of input the requests before it are answered, and the exit code is 0. At SIGTERM, at
    SIGINT, and when the client no longer reads, running calls finish, later calls are refused, the
    store is closed, and the process exits with 0; with 1 if that takes more than 20 seconds or the
    server fails. Standard input and output belong to this server until the process exits.
    """
    source, target = take_over_stdio()
    try:
        anyio.run(_serve_pipes, server, memory, source, target)
    except BaseException:  # noqa: BLE001 - the boundary of the process
        # Even for SystemExit from a tool: otherwise the thread that reads standard input would keep
        # the process alive without a server.
        _log.exception("the server failed")
        _end_process(memory, 1)
    return 0


async def _serve_pipes(
    server: MCPServer[Any], memory: LazyStore, source: BinaryIO, target: BinaryIO
) -> None:
    pipes = Pipes(source, target)
    async with anyio.create_task_group() as tasks:
        # Windows cannot deliver signals to an event loop; there the end of input stops the server.
        if sys.platform != "win32":
            await tasks.start(_leave_on_signal, memory, pipes)
        tasks.start_soon(_leave_on_hang_up, memory, pipes)
        # The streams of the SDK drop malformed lines without an answer and alter bytes that are not
        # UTF-8; the SDK has no public way to replace them.
        core = server._lowlevel_server
        async with pipes.streams() as (receiving, sending):
            await core.run(receiving, sending, core.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _leave_on_signal(
    memory: LazyStore, pipes: Pipes, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            await _leave_process(memory, pipes, signal.Signals(number).name)


async def _leave_on_hang_up(memory: LazyStore, pipes: Pipes) -> None:
    await pipes.wait_for_hang_up()
    await _leave_process(memory, pipes, "a client that no longer reads")


async def _leave_process(memory: LazyStore, pipes: Pipes, reason: str) -> None:
    _log.info("stopping on %s", reason)
    threading.Timer(_GRACE_SECONDS, os._exit, (1,)).start()
    await anyio.to_thread.run_sync(memory.close, limiter=anyio.CapacityLimiter(1))
    # A client without an answer does not know whether its memory was stored.
    await pipes.write_answers(_LAST_ANSWERS_SECONDS)
    _end_process(memory, 0)


def _end_process(memory: LazyStore, code: int) -> NoReturn:
    memory.close()
    flush_spans(_LAST_SPANS_SECONDS)
    logging.shutdown()
    # The thread that reads standard input cannot be woken, and the interpreter would wait for it.
    os._exit(code)


def take_over_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Return standard input and output, and redirect both for the rest of the process.

    The rest of this process reads an empty standard input, and its prints go to standard error,
    so that no stray line corrupts the protocol.
    """
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(nothing, 1)
    os.close(nothing)
    # Never closed: a thread may read from `source` until the process exits.
    return os.fdopen(source, "rb", closefd=False), os.fdopen(target, "wb", closefd=False)


@define
class _OpenRequests:
    """The number of requests without an answer."""

    _count: int = 0
    _changed: anyio.Event = field(factory=anyio.Event)

    def add(self) -> None:
        self._count += 1

    async def remove(self) -> None:
        """Count a request as answered; a cancelled request too, which gets no answer."""
        self._count -= 1
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_for_none(self) -> None:
        while self._count:
            await self._changed.wait()


class Pipes:
    """The lines of two pipes as messages.

    A line that is not a message is answered with an error. At the end of input the server waits
    for the answers to earlier requests, half a minute at most.
    """

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        """Read from `source` and write to `target`, which stay open."""
        self._source = source
        self._target = target
        self._open_requests = _OpenRequests()
        self._hung_up = anyio.Event()
        # Limiters of their own, so that busy tools never delay reading or writing.
        self._read_limiter = anyio.CapacityLimiter(1)
        self._write_limiter = anyio.CapacityLimiter(1)

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[ReceivedLines, SendStream]]:
        """Yield the stream that the server reads and the stream that it writes."""
        received, to_read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sending, to_write = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read_messages, received, sending.clone())
            tasks.start_soon(self._write_messages, to_write)
            yield to_read, sending

    async def wait_for_hang_up(self) -> None:
        """Return when the client no longer reads and its requests are answered.

        The end of input does not show that: a process that is still running may hold the write end
        of the pipe. On Windows only a failed write shows it.
        """
        notify = partial(asyncio.get_running_loop().call_soon_threadsafe, self._hung_up.set)
        # A daemon: it cannot be woken, and must not keep the process from exiting.
        threading.Thread(
            target=_poll_for_hang_up, args=(self._target, notify), name="hang-up", daemon=True
        ).start()
        await self._hung_up.wait()
        with anyio.move_on_after(_DRAIN_SECONDS):
            await self._open_requests.wait_for_none()

    async def write_answers(self, seconds: float) -> None:
        """Wait at most `seconds` until every request is answered."""
        with anyio.move_on_after(seconds, shield=True):
            await self._open_requests.wait_for_none()

    async def _read_messages(self, received: SentLines, sending: SendStream) -> None:
        async with received, sending:
            while line := await self._read_next_line():
                if not line.isspace():
                    await self._pass_on(line, received, sending)
            with anyio.move_on_after(_DRAIN_SECONDS):
                await self._open_requests.wait_for_none()

    async def _pass_on(
        self,
        line: bytes,
        received: SentLines,
        sending: SendStream,
    ) -> None:
        try:
            message = read_frame(line)
        except BadFrame as bad:
            _log.warning("refused a line: %s", bad)
            self._open_requests.add()
            await sending.send(SessionMessage(bad.answer))
            return
        if isinstance(message, JSONRPCRequest):
            self._open_requests.add()
        metadata = ServerMessageMetadata(on_request_unanswered=self._open_requests.remove)
        await received.send(SessionMessage(message, metadata))

    async def _read_next_line(self) -> bytes:
        return await anyio.to_thread.run_sync(
            _read_line, self._source, abandon_on_cancel=True, limiter=self._read_limiter
        )

    async def _write_messages(self, to_write: ReceiveStream) -> None:
        async with to_write:
            async for item in to_write:
                await self._write_line(write_frame(item.message))
                if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    await self._open_requests.remove()

    async def _write_line(self, line: bytes) -> None:
        if self._hung_up.is_set():
            return
        try:
            await anyio.to_thread.run_sync(
                _write_and_flush, self._target, line, limiter=self._write_limiter
            )
        except OSError as error:
            _log.info("the client is gone: %s", error)
            self._hung_up.set()


def _poll_for_hang_up(pipe: BinaryIO, notify: Callable[[], object]) -> None:
    if sys.platform != "win32":
        poll = select.poll()
        poll.register(pipe, 0)
        # Without a timeout this returns only at an error, a hang-up, or for an invalid descriptor.
        if any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll()):
            # The event loop may have ended meanwhile.
            with suppress(RuntimeError):
                notify()


def _read_line(source: BinaryIO) -> bytes:
    """Return the next line; of a line that is too long only the part that exceeds the limit."""
    line = source.readline(MAX_FRAME_BYTES + 1)
    chunk = line
    while len(chunk) > MAX_FRAME_BYTES and not chunk.endswith(b"\n"):
        chunk = source.readline(MAX_FRAME_BYTES + 1)
    return line


def _write_and_flush(target: BinaryIO, line: bytes) -> None:
    target.write(line)
    target.flush()
