"""Run the server over HTTP until a signal, and end it without losing an answer."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from socket import socket
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import uvicorn
from anyio.abc import TaskStatus
from mcp.server import MCPServer

import infinite_memory
from infinite_memory.core.errors import InfiniteMemoryError, InvalidInput
from infinite_memory.core.observe.recorder import Recorder
from infinite_memory.core.observe.traces import flush_spans
from infinite_memory.core.values.access.key import AccessKey, Right
from infinite_memory_mcp.call_rates import CallRates, KeyRates
from infinite_memory_mcp.http.address import HttpOptions
from infinite_memory_mcp.http.application import HttpApplication
from infinite_memory_mcp.http.auth import KeyCheck, has_keys
from infinite_memory_mcp.http.handles import Handles, OpenHandle
from infinite_memory_mcp.http.hosts import HostCheck
from infinite_memory_mcp.http.metrics import MetricsPage
from infinite_memory_mcp.http.protocol import HeadDeadlineProtocol
from infinite_memory_mcp.http.slots import FairSlots
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import RIGHTS, build_server, check_tool_filter
from infinite_memory_mcp.settings import CLIENT, announce
from infinite_memory_mcp.web.page import Page
from infinite_memory_mcp.web.running import announced, make_address, open_page
from infinite_memory_mcp.web.sign_in import SignIns

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore


if sys.platform != "win32":
    import resource

_log = logging.getLogger(__name__)
_CALLS_AT_ONCE = 16
_DRAIN_SECONDS = 18.0
_GRACE_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 75
_LAST_SPANS_SECONDS = 2.0
_USAGE = 2
_STORAGE = 4
_MAX_FILES = 65536
_FILES_OF_THE_STORE = 256


_MAX_NAMES = 64


class SharedStore(LazyStore):
    """A store whose callers are many clients; the journal names the one that called.

    A client without a name, and a client that comes when 64 others have given theirs, is called
    `CLIENT`.
    """

    def __init__(
        self,
        opener: Callable[[], MemoryStore],
        *,
        recorder: Recorder,
        stopping: threading.Event | None = None,
    ) -> None:
        """Open with `opener`, whose store is that of the clients without a name."""
        super().__init__(opener, client=CLIENT, recorder=recorder, stopping=stopping)
        self._naming = threading.Lock()
        self._handles: dict[str, MemoryStore] = {}

    def _choose_store(self, client: str | None) -> MemoryStore:
        store = self.get()
        if client is None or client == CLIENT:
            return store
        with self._naming:
            handle = self._handles.get(client)
            if handle is None and len(self._handles) < _MAX_NAMES:
                # Closed with the store.
                handle = self._handles[client] = store.confine(scopes="*", client=client)
        return store if handle is None else handle


def build_application(
    memory: LazyStore, options: HttpOptions, sign_ins: SignIns | None = None
) -> HttpApplication:
    """Return the application that serves `memory`, the whole store; the caller closes it.

    Whoever is in `sign_ins` signed in to its page.
    """
    slots, rates = FairSlots(_CALLS_AT_ONCE, seconds=options.call_seconds), KeyRates()

    def build(handle: LazyStore, key: AccessKey | None) -> MCPServer[Any]:
        name = "" if key is None else key.id
        return build_server(
            handle,
            options.toolsets if key is None else _choose_toolsets(key, options.toolsets),
            tool_filter=options.tool_filter,
            structured=options.structured,
            rights=RIGHTS if key is None else key.rights,
            rates=CallRates("this server") if key is None else rates.of(key),
            run_call=partial(slots.run, name),
        )

    handles = Handles(_open_for_keys(memory, options), build, note_key=rates.of)
    tokens = resource = None
    if options.oauth is not None:
        from infinite_memory_mcp.http.oauth import ProtectedResource, TokenCheck  # noqa: PLC0415

        tokens = TokenCheck(memory, options.oauth)
        resource = ProtectedResource(options.oauth, options.root_path)
    keys = KeyCheck(memory, required=options.demands_keys, tokens=tokens)
    return HttpApplication(
        memory,
        handles,
        keys,
        HostCheck(options.address, options.host_names),
        slots,
        MetricsPage(memory, rates, is_confined=options.scopes is not None),
        _make_page(memory, handles, keys, slots, rates, options, sign_ins or SignIns()),
        root_path=options.root_path,
        resource=resource,
    )


def _open_for_keys(memory: LazyStore, options: HttpOptions) -> OpenHandle:
    """Return what opens `memory` as the holder of a key sees it."""

    def base() -> infinite_memory.MemoryStore:
        store = memory.get()
        return store if options.scopes is None else store.confine(scopes=options.scopes)

    def open_memory(key: AccessKey | None) -> LazyStore:
        if key is None:
            # Not the store itself, which outlives the handle.
            return SharedStore(
                lambda: base().confine(scopes="*", client=CLIENT),
                recorder=_choose_recorder(memory, options, "*"),
                stopping=memory.stopping,
            )
        return LazyStore(
            lambda: base().confine(
                scopes=key.scopes,
                client=key.name,
                read_only=not key.allows(Right.WRITE),
                key=key,
            ),
            client=key.name,
            key_name=key.name,
            recorder=_choose_recorder(memory, options, key.scopes),
            stopping=memory.stopping,
        )

    return open_memory


def _make_page(
    memory: LazyStore,
    handles: Handles,
    keys: KeyCheck,
    slots: FairSlots,
    rates: KeyRates,
    options: HttpOptions,
    sign_ins: SignIns,
) -> Page | None:
    """Return the page of a server; None if tools were left out, since it would do what they do."""
    tools = options.tool_filter
    if tools.only is not None or tools.excluded:
        return None
    return Page(
        memory=memory,
        handles=handles,
        keys=keys,
        slots=slots,
        rates=rates,
        sign_ins=sign_ins,
        is_whole=options.scopes is None,
        reads=tools.read_only,
    )


def _choose_recorder(memory: LazyStore, options: HttpOptions, scopes: Collection[str]) -> Recorder:
    """Return the recorder of a handle; a handle of the whole store sees every call."""
    if options.scopes is None and "*" in scopes:
        return memory.recorder
    return Recorder(within=memory.recorder)


def _choose_toolsets(key: AccessKey, toolsets: Sequence[str]) -> Sequence[str]:
    if key.allows(Right.ADMIN) and "admin" not in toolsets:
        return (*toolsets, "admin")
    return toolsets


def serve_http(memory: LazyStore, listener: socket, options: HttpOptions) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code if the server cannot start.

    At a signal later requests are refused, running calls end at their next step and are answered,
    the store is closed, and the process exits with 0; with 1 after a second signal, or if that
    takes more than 28 seconds.
    """
    try:
        check_tool_filter(options.tool_filter)
    except InvalidInput as error:
        sys.stderr.write(f"infinite-memory-mcp: {error}\n")
        return _USAGE
    try:
        problem = _find_problem(memory, options)
    except InfiniteMemoryError as error:
        sys.stderr.write(f"infinite-memory-mcp: {error}\n")
        return _STORAGE
    if problem is not None:
        sys.stderr.write(f"infinite-memory-mcp: {problem}\n")
        return _USAGE
    sign_ins = SignIns()
    application = build_application(memory, options, sign_ins)
    _allow_many_files()
    try:
        anyio.run(_serve_application, application, memory, listener, options, sign_ins)
    except KeyboardInterrupt:
        # Only where signals cannot be received: on Windows.
        _log.info("stopping")
    except BaseException:  # noqa: BLE001 - the boundary of the process
        _log.exception("the server failed")
        _end_process(memory, 1)
    if options.opens_page:
        announce(_log, "The page is closed; `infinite-memory web` opens it again.")
    return _end_process(memory, 0)


def _find_problem(memory: LazyStore, options: HttpOptions) -> str | None:
    """Return why the server must not start: anybody could read the store."""
    address = options.address
    if address.is_loopback or options.require_keys:
        return None
    with memory.call() as store:
        if has_keys(store):
            return None
    return (
        f"{address.host} can be reached from other machines, and the store has no keys, so anybody"
        " could read it: make a key with `infinite-memory keys create NAME`, or start with"
        " --require-keys; or serve programs of this machine alone, with --http"
        f" 127.0.0.1:{address.port}"
    )


class _Server(uvicorn.Server):
    """The server of uvicorn, without its handling of signals."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signals to `_stop_on_signal`."""
        yield


async def _serve_application(
    application: HttpApplication,
    memory: LazyStore,
    listener: socket,
    options: HttpOptions,
    sign_ins: SignIns,
) -> None:
    server = _Server(_configure_server(application))
    port = listener.getsockname()[1]
    async with anyio.create_task_group() as tasks:
        if sys.platform != "win32":
            await tasks.start(_stop_on_signal, application, server)
        async with application.running():
            with announced(options.home, options.address.own_url(port), sign_ins):
                _announce_address(port, options, sign_ins)
                memory.warm_up_when_quiet()
                await server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()


def _configure_server(application: HttpApplication) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http=HeadDeadlineProtocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        # It would print ?key= in clear.
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_choose_max_connections(),
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(_GRACE_SECONDS),
    )


async def _stop_on_signal(
    application: HttpApplication,
    server: uvicorn.Server,
    *,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    async with anyio.create_task_group() as tasks:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async for number in signals:
                _log.info("stopping on %s", signal.Signals(number).name)
                if server.should_exit or tasks.cancel_scope.cancel_called:
                    os._exit(1)
                tasks.start_soon(_stop_server, application, server)


async def _stop_server(application: HttpApplication, server: uvicorn.Server) -> None:
    _exit_after(_DRAIN_SECONDS + _GRACE_SECONDS)
    with anyio.move_on_after(_DRAIN_SECONDS):
        await application.drain()
    application.cancel()
    server.should_exit = True


def _exit_after(seconds: float) -> None:
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()


def _end_process(memory: LazyStore, code: int) -> NoReturn:
    memory.close()
    flush_spans(_LAST_SPANS_SECONDS)
    logging.shutdown()
    # A thread whose call took too long would keep the interpreter.
    os._exit(code)


def _announce_address(port: int, options: HttpOptions, sign_ins: SignIns) -> None:
    url = options.address.url(port)
    if options.opens_page:
        open_page(make_address(url, sign_ins.make_code()), options.environment)
        return
    who = "every client needs a key: `infinite-memory keys create NAME` makes one"
    if not options.demands_keys:
        who = "only programs of this machine can connect; they need a key once there is one"
    announce(_log, f"infinite-memory-mcp: serving {url}/mcp and {url}/sse; {who}")


def _allow_many_files() -> None:
    """Raise the limit of open files as far as an ordinary user may; a connection is a file."""
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _choose_max_connections() -> int:
    """Return how many connections leave enough files for the store."""
    soft = 1000 + _FILES_OF_THE_STORE
    if sys.platform != "win32":
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        soft = _MAX_FILES if soft == resource.RLIM_INFINITY else soft
    return max(16, min(soft, _MAX_FILES) - _FILES_OF_THE_STORE)
