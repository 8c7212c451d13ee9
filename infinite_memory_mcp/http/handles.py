"""A server of its own for every key: its scopes, its rights, its tools."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from attrs import define, field
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from infinite_memory.core.values.access.key import AccessKey
from infinite_memory_mcp.http.bodies import MAX_BODY_BYTES
from infinite_memory_mcp.lazy_store import LazyStore

_log = logging.getLogger(__name__)
_IDLE_SECONDS = 600.0
_SWEEP_SECONDS = 60.0
MESSAGE_PATH = "/messages/"
"""The path to which a client of the SSE transport sends its messages."""

OpenHandle = Callable[[AccessKey | None], LazyStore]
"""Returns the store as the holder of a key sees it; None is a client without a key."""

BuildServer = Callable[[LazyStore, AccessKey | None], MCPServer[Any]]

# Checked for every path by `HostCheck`, with errors that say what to do.
_CHECKED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)


@define(eq=False)
class Handle:
    """The server and the store that the clients of a key share."""

    key: AccessKey | None
    memory: LazyStore
    server: MCPServer[Any]
    streamable: ASGIApp
    sse: ASGIApp
    open_requests: int = 0
    used_at: float = 0.0
    closing: anyio.Event = field(factory=anyio.Event)


class Handles:
    """Makes a handle at the first request of a key, and closes it when it is no longer used.

    The methods belong to a single event loop.
    """

    def __init__(
        self,
        open_memory: OpenHandle,
        build_server: BuildServer,
        *,
        note_key: Callable[[AccessKey], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make handles from the stores of `open_memory` and the servers of `build_server`.

        `note_key` is told of the key of each request, as it was just read.
        """
        self._open_memory = open_memory
        self._build_server = build_server
        self._note_key = note_key
        self._clock = clock
        self._handles: dict[object, Handle] = {}
        self._making = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep handles for the duration of the block; close all at its end."""
        async with anyio.create_task_group() as tasks, anyio.create_task_group() as sweeping:
            self._tasks = tasks
            sweeping.start_soon(self._sweep_handles)
            try:
                yield
            finally:
                sweeping.cancel_scope.cancel()
                for handle in self._handles.values():
                    handle.closing.set()

    async def get(self, key: AccessKey | None) -> Handle:
        """Return the handle of a key."""
        # The same key has fewer rights where a token of its owner says so.
        name = None if key is None else (key.id, key.rights)
        if key is not None:
            self._note_key(key)
        async with self._making:
            if name not in self._handles:
                assert self._tasks is not None
                self._handles[name] = await self._make_handle(key)
        handle = self._handles[name]
        handle.used_at = self._clock()
        return handle

    async def _make_handle(self, key: AccessKey | None) -> Handle:
        memory = self._open_memory(key)
        server = await anyio.to_thread.run_sync(self._build_server, memory, key)
        streamable = server.streamable_http_app(
            # Without sessions, a restart of the server goes unnoticed, and so does another server
            # that answers the next request.
            stateless_http=True,
            json_response=True,
            max_request_body_size=MAX_BODY_BYTES,
            transport_security=_CHECKED_BEFORE,
        )
        sse = server.sse_app(
            message_path=MESSAGE_PATH,
            max_request_body_size=MAX_BODY_BYTES,
            transport_security=_CHECKED_BEFORE,
        )
        handle = Handle(key=key, memory=memory, server=server, streamable=streamable, sse=sse)
        assert self._tasks is not None
        await self._tasks.start(self._keep_handle, handle)
        return handle

    async def _keep_handle(
        self, handle: Handle, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        try:
            async with handle.server.session_manager.run():
                task_status.started()
                await handle.closing.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(handle.memory.close)

    async def _sweep_handles(self) -> None:
        while True:
            await anyio.sleep(_SWEEP_SECONDS)
            self.close_idle()

    def close_idle(self) -> None:
        """Close the handles of keys without an open request for ten minutes."""
        before = self._clock() - _IDLE_SECONDS
        for name, handle in list(self._handles.items()):
            if name is not None and not handle.open_requests and handle.used_at < before:
                _log.info("closing the handle of a key that was not used for a while")
                del self._handles[name]
                handle.closing.set()
