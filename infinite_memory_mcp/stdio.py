"""Serve over standard input and output, and stop cleanly."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from mcp.server import MCPServer

from infinite_memory_mcp.lazy_store import LazyStore

__all__ = ["serve"]

_log = logging.getLogger(__name__)
_GRACE_SECONDS = 5.0


def serve(server: MCPServer[Any], memory: LazyStore) -> int:
    """Serve until standard input ends or a signal comes; return the exit code.

    The end of input gives 0. SIGTERM and SIGINT close the store and end the process with 0; with 1
    where that takes more than five seconds.
    """
    try:
        anyio.run(_serve, server, memory)
    except* (BrokenPipeError, ConnectionResetError):
        _log.info("the client is gone")
    return 0


async def _serve(server: MCPServer[Any], memory: LazyStore) -> None:
    async with anyio.create_task_group() as tasks:
        # Windows cannot deliver signals to an event loop; there the end of input is what stops us.
        if sys.platform != "win32":
            await tasks.start(_stop_on_signal, memory)
        await server.run_stdio_async()
        tasks.cancel_scope.cancel()


async def _stop_on_signal(
    memory: LazyStore, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            _log.info("stopping on %s", signal.Signals(number).name)
            threading.Timer(_GRACE_SECONDS, os._exit, (1,)).start()
            await anyio.to_thread.run_sync(memory.close)
            logging.shutdown()
            # The thread that reads standard input cannot be woken, and the interpreter would wait
            # for it: with everything closed, leave at once.
            os._exit(0)
