"""Serve over standard input and output, and stop cleanly."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from typing import Any, BinaryIO, NoReturn

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from mcp.server import MCPServer

from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.pipes import Pipes, take_over

__all__ = ["serve"]

_log = logging.getLogger(__name__)
_GRACE_SECONDS = 5.0
_LAST_ANSWERS_SECONDS = 0.5


def serve(server: MCPServer[Any], memory: LazyStore) -> int:
    """Serve until standard input ends, nobody reads standard output, or a signal comes.

    The end of input answers what was asked before it, and gives the exit code 0. SIGTERM, SIGINT
    and a client that no longer reads let the calls that are under way finish, refuse others, close
    the store and end the process with 0; with 1 where that takes more than five seconds, or where
    the server fails. Standard input and output are taken
    over for good.
    """
    source, target = take_over()
    try:
        anyio.run(_serve, server, memory, source, target)
    except BaseException:  # noqa: BLE001 - the boundary of the process
        # Whatever it was, a tool that wanted to exit included: the thread that reads standard input
        # would keep a server that no longer serves.
        _log.exception("the server failed")
        _end(memory, 1)
    return 0


async def _serve(
    server: MCPServer[Any], memory: LazyStore, source: BinaryIO, target: BinaryIO
) -> None:
    pipes = Pipes(source, target)
    async with anyio.create_task_group() as tasks:
        # Windows cannot deliver signals to an event loop; there the end of input is what stops us.
        if sys.platform != "win32":
            await tasks.start(_leave_on_signal, memory, pipes)
        tasks.start_soon(_leave_when_nobody_listens, memory, pipes)
        # The SDK's own streams would drop lines without an answer, and alter what is not UTF-8; it
        # offers no public way to give it others.
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
            await _leave(memory, pipes, signal.Signals(number).name)


async def _leave_when_nobody_listens(memory: LazyStore, pipes: Pipes) -> None:
    await pipes.wait_until_nobody_listens()
    await _leave(memory, pipes, "the client's hanging up")


async def _leave(memory: LazyStore, pipes: Pipes, reason: str) -> None:
    _log.info("stopping on %s", reason)
    threading.Timer(_GRACE_SECONDS, os._exit, (1,)).start()
    await anyio.to_thread.run_sync(memory.close, limiter=anyio.CapacityLimiter(1))
    # Whoever stores something and is not answered does not know whether it was stored.
    await pipes.write_answers(_LAST_ANSWERS_SECONDS)
    _end(memory, 0)


def _end(memory: LazyStore, code: int) -> NoReturn:
    memory.close()
    logging.shutdown()
    # The thread that reads standard input cannot be woken, and the interpreter would wait for it:
    # with everything closed, leave at once.
    os._exit(code)
