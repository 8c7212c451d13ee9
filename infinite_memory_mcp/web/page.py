"""The routes of the page: its files at /, its JSON layer at /api, and signing in."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
from attrs import field, frozen
from mcp.server.mcpserver.exceptions import ToolError
from starlette.types import Receive, Scope, Send

import infinite_memory
from infinite_memory import AccessKey, InfiniteMemoryError, InvalidInput
from infinite_memory_mcp.call_rates import CallRates, KeyRates
from infinite_memory_mcp.http.auth import KeyCheck, take_secret
from infinite_memory_mcp.http.bodies import ClientLeft, header, read_body
from infinite_memory_mcp.http.handles import Handle, Handles
from infinite_memory_mcp.http.responses import Refusal, send_content, send_json
from infinite_memory_mcp.http.slots import FairSlots
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import RIGHTS
from infinite_memory_mcp.web.api import (
    KEYS,
    METHODS,
    OWNER,
    Caller,
    call_method,
    check_right,
    import_file,
)
from infinite_memory_mcp.web.arguments import read_arguments, read_object
from infinite_memory_mcp.web.fitting import encode_answer
from infinite_memory_mcp.web.sign_in import SignIns, is_proof, prove
from infinite_memory_mcp.web.static_files import send_file
from infinite_memory_mcp.web.works import LONG, Work, Works

_log = logging.getLogger(__name__)
_BODY_SECONDS = 20.0
_MAX_FILE_BYTES = 1 << 30
_MAX_NAME = 200
_PATIENCE_SECONDS = 2.0
_JSON = "application/json"
_BYTES = "application/octet-stream"
_SAFE = {"x-content-type-options": "nosniff"}
_ROUTES: Mapping[str, tuple[str, ...]] = {
    "/": ("GET", "HEAD"),
    "/static": ("GET", "HEAD"),
    "/api": ("POST",),
    "/sign-in": ("POST",),
    "/sign-in/code": ("POST",),
    "/sign-out": ("POST",),
}
_ERROR_KINDS = {401: "SignInNeeded", 404: "NotFound", 413: "TooLong", 503: "Unavailable"}
# The first that fits; any other error is a defect, or one of the operator.
_STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (infinite_memory.NotFound, 404),
    (infinite_memory.Conflict, 409),
    (infinite_memory.AccessDenied, 403),
    (infinite_memory.OutOfTime, 504),
    (infinite_memory.StoreClosed, 503),
    (infinite_memory.StorageUnavailable, 503),
    (infinite_memory.ConfigurationError, 501),
    (infinite_memory.ArchiveError, 422),
    (infinite_memory.InvalidInput, 400),
    (ToolError, 429),
)


class Exchange(Protocol):
    """A request that is being answered."""

    key: AccessKey | None

    @property
    def send(self) -> Send:
        """What sends a part of the answer."""


@frozen(kw_only=True)
class Page:
    """Serves the page of a server: to whoever signed in, shows a key, or needs none.

    `is_whole` says that the server shows the whole store, so that its owner manages the keys;
    `reads` that it changes nothing.
    """

    memory: LazyStore
    handles: Handles
    keys: KeyCheck
    slots: FairSlots
    rates: KeyRates
    sign_ins: SignIns
    is_whole: bool
    reads: bool
    _rates: CallRates = field(factory=lambda: CallRates("the page"), init=False)
    _positions: dict[str, tuple[int, int]] = field(factory=dict, init=False)
    _works: Works = field(factory=Works, init=False)

    async def answer(self, scope: Scope, receive: Receive, exchange: Exchange) -> None:
        """Answer a request of one of the routes of the page; see `find_route`."""
        route = find_route(scope["path"])
        allowed = _ROUTES[route or ""]
        try:
            if scope["method"] not in allowed:
                names = ", ".join(allowed)
                raise Refusal(405, f"{route} is for {names}", headers={"allow": names})
            if route in ("/", "/static"):
                is_start = route == "/"
                name = "index.html" if is_start else scope["path"].removeprefix("/static/")
                await send_file(scope, exchange.send, name)
                return
            _check_site(scope)
            await self._answer_post(route, scope, receive, exchange)
        except Refusal as refusal:
            kind = _ERROR_KINDS.get(refusal.status, "Refused")
            await _send_error(exchange.send, refusal.status, kind, str(refusal), refusal.headers)
        except (InfiniteMemoryError, ToolError) as error:
            status = next((number for kind, number in _STATUSES if isinstance(error, kind)), 500)
            if status == 500:
                _log.warning("a call of the page failed: %s", error)
            await _send_error(exchange.send, status, type(error).__name__, str(error))

    async def _answer_post(
        self, route: str | None, scope: Scope, receive: Receive, exchange: Exchange
    ) -> None:
        if route == "/api":
            await self._answer_call(scope, receive, exchange)
            return
        _check_content_type(scope, _JSON)
        body = await read_body(scope, receive, seconds=_BODY_SECONDS)
        given = read_object(body)
        if route == "/sign-out":
            self.sign_ins.end(scope)
            await _send_value(exchange.send, None)
        elif route == "/sign-in/code":
            await _send_value(exchange.send, self._make_code(given))
        else:
            secret = await self._check_sign_in(given)
            self.sign_ins.end(scope)
            await _send_value(exchange.send, self.sign_ins.begin(secret))

    def _make_code(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return a code for a program that may read the file in the home folder."""
        challenge, proof = (str(given.get(name, "")) for name in ("challenge", "proof"))
        if not is_proof(proof, self.sign_ins.secret, "ask", challenge):
            raise Refusal(403, "the proof is wrong: read the file of the running server again")
        code = self.sign_ins.make_code()
        return {"code": code, "proof": prove(self.sign_ins.secret, "answer", challenge, code)}

    async def _check_sign_in(self, given: Mapping[str, Any]) -> str | None:
        """Return the secret of the key that was given, None for a code."""
        match given:
            case {"code": str(code), **rest} if not rest:
                if not self.sign_ins.take_code(code):
                    raise Refusal(
                        401,
                        "this link was used already, or is older than two minutes: run"
                        " `infinite-memory web` for another",
                    )
                return None
            case {"key": str(key), **rest} if not rest:
                await self.keys.authenticate(key.strip())
                return key.strip()
        raise InvalidInput('send {"code": ...} or {"key": ...}, with a text')

    async def _answer_call(self, scope: Scope, receive: Receive, exchange: Exchange) -> None:
        name = scope["path"].removeprefix("/api/")
        _check_content_type(scope, _BYTES if name == "import" else _JSON)
        stripped, secret = take_secret(scope)
        exchange.key, is_owner = await self._authenticate(scope, secret)
        key = exchange.key
        handle = await self.handles.get(key)
        whose = "" if key is None else key.id
        work = Work(method=name, owner=whose, is_stopping=lambda: handle.memory.is_stopping)
        handle.open_requests += 1
        try:
            is_program = key is not None and secret is not None
            caller = self._make_caller(key, handle.memory, is_owner=is_owner, is_program=is_program)
            check_right(caller, name)
            if name == "work":
                work, content = self._look_at_work(work, await _read_arguments(stripped, receive))
            elif name in LONG:
                content = await self._begin_work(caller, handle, work, stripped, receive)
            else:
                given = await _read_arguments(stripped, receive)
                with _explain_failures(work):
                    call = partial(call_method, caller, work, given)
                    content = await self.slots.run(work.owner, call)
            if content is not None:
                await send_content(exchange.send, 200, content, _JSON, _SAFE)
            else:
                await send_json(exchange.send, 202, {"work": work.describe()}, _SAFE)
        finally:
            handle.open_requests -= 1

    async def _begin_work(
        self, caller: Caller, handle: Handle, work: Work, scope: Scope, receive: Receive
    ) -> bytes | None:
        """Return the answer of long work, None if it takes longer than its client waits."""
        with self._works.beginning(work), ExitStack() as stack:
            if work.method == "import":
                call = await _receive_import(caller, work, scope, receive, stack)
            else:
                call = partial(call_method, caller, work, await _read_arguments(scope, receive))
            run = self._carry_out(handle, work.owner, call, stack.pop_all())
            work.task = asyncio.create_task(run)
            # Perhaps nobody asks for its error any more.
            work.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.wait({work.task}, timeout=_PATIENCE_SECONDS)
        return _find_outcome(work)

    async def _carry_out(
        self, handle: Handle, owner: str, call: Callable[[], bytes], stack: ExitStack
    ) -> bytes:
        # It goes on when its client has left, and its handle and its file are kept until its end.
        handle.open_requests += 1
        try:
            with stack:
                return await self.slots.run(owner, call, seconds=math.inf)
        finally:
            handle.open_requests -= 1

    def _look_at_work(self, work: Work, given: Mapping[str, Any]) -> tuple[Work, bytes | None]:
        """Return the work that is asked for, and its answer, or a list as the answer."""
        wanted = read_arguments(_choose_work, given).get("id")
        if wanted is None:
            listed = [each.describe() for each in self._works.list(work.owner)]
            return work, encode_answer(listed, start=0, further={})
        found = self._works.find(work.owner, wanted)
        return found, _find_outcome(found)

    async def _authenticate(
        self, scope: Scope, secret: str | None
    ) -> tuple[AccessKey | None, bool]:
        """Return the key of a request, and whether it is of the owner, who signed in with a code.

        Raises:
            Refusal: nobody signed in, or the key is not accepted any more (401).
        """
        session = self.sign_ins.find(scope)
        if session == (None,):
            return None, True
        shown = secret if session is None else session[0]
        try:
            return await self.keys.authenticate(shown), False
        except Refusal as refusal:
            if refusal.status != 401 or secret is not None:
                raise
            self.sign_ins.end(scope)
            raise Refusal(
                401,
                "sign in: run `infinite-memory web` on the machine of the memory, or give an access"
                " key that is good",
            ) from refusal

    def _make_caller(
        self, key: AccessKey | None, memory: LazyStore, *, is_owner: bool, is_program: bool
    ) -> Caller:
        rates = self._rates if key is None else self.rates.of(key)
        rights = RIGHTS if key is None else tuple(map(str, key.rights))
        if self.reads:
            rights = ("read",)
        elif is_owner and self.is_whole:
            rights = (*rights, KEYS, OWNER)
        elif key is not None and self.is_whole and "admin" in rights and "*" in key.scopes:
            rights = (*rights, KEYS)
        return Caller(
            memory=memory,
            whole=self.memory,
            rates=rates,
            rights=rights,
            positions=self._positions,
            key=key,
            is_program=is_program,
        )


def find_route(path: str) -> str | None:
    """Return the route of the page that a path belongs to, None for none."""
    for route in _ROUTES:
        if path == route or (route in ("/static", "/api") and path.startswith(f"{route}/")):
            return route
    return None


async def _read_arguments(scope: Scope, receive: Receive) -> dict[str, Any]:
    return read_object(await read_body(scope, receive, seconds=_BODY_SECONDS))


async def _receive_import(
    caller: Caller, work: Work, scope: Scope, receive: Receive, stack: ExitStack
) -> Callable[[], bytes]:
    """Return the import of the file in the body of a request, which is in a folder of `stack`."""
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    name = PurePosixPath(query.pop("name", "").replace("\\", "/")).name.strip(". ")
    if not name or not name.isprintable() or len(name.encode("utf-8", "replace")) > _MAX_NAME:
        raise InvalidInput(f"the file name {name!r:.100} cannot be used: give ?name=FILE")
    declared = header(scope, b"content-length") or ""
    if declared.isdigit() and int(declared) > _MAX_FILE_BYTES:
        raise _make_too_long_refusal()
    work.about = name
    path = Path(stack.enter_context(TemporaryDirectory(prefix="infinite-memory-"))) / name
    await _receive_file(path, receive)
    return partial(import_file, caller, work, path, query)


async def _receive_file(path: Path, receive: Receive) -> None:
    size, has_more = 0, True
    with path.open("wb") as file:
        while has_more:
            with anyio.move_on_after(_BODY_SECONDS):
                message = await receive()
                if message["type"] != "http.request":
                    raise ClientLeft
                size += await anyio.to_thread.run_sync(file.write, message.get("body", b""))
                has_more = message.get("more_body", False)
                if size <= _MAX_FILE_BYTES:
                    continue
                raise _make_too_long_refusal()
            raise Refusal(408, "the file came too slowly: drop it again")


def _make_too_long_refusal() -> Refusal:
    return Refusal(
        413,
        f"the file is longer than {_MAX_FILE_BYTES:,} bytes: import it with `infinite-memory import"
        " FILE` on the machine of the memory",
    )


def _choose_work(id: str | None = None) -> None:  # noqa: A002 -- the word of the answers
    """Take the arguments of the method `work`."""


def _find_outcome(work: Work) -> bytes | None:
    """Return the answer of work, None while it goes on."""
    with _explain_failures(work):
        return work.task.result() if work.task is not None and work.task.done() else None


@contextmanager
def _explain_failures(work: Work) -> Iterator[None]:
    """Turn what no method raises into a refusal whose message says what was changed.

    Raises:
        Refusal: it took too long (504), or failed through a defect (500).
    """
    name = work.method
    try:
        yield
    except (InfiniteMemoryError, ToolError):
        raise
    except TimeoutError as error:
        reason = f"{name} took too long; {_describe_outcome(name, work.changes)}"
        raise Refusal(504, reason) from error
    except Exception as error:
        _log.exception("the method %s failed", name)
        reason = f"{name} failed through a defect; {_describe_outcome(name, work.changes)}"
        raise Refusal(500, reason) from error


def _describe_outcome(name: str, changes: dict[int, int]) -> str:
    if changes:
        return f"the change was made: {sum(changes.values())} memories were written, and stay so"
    if METHODS[name] == "read":
        return "nothing was changed"
    return "whether something was changed is unknown: look at the activity"


def _check_site(scope: Scope) -> None:
    """Refuse what another site sends, also one at another port of this machine."""
    site, origin = header(scope, b"sec-fetch-site"), header(scope, b"origin")
    host = (header(scope, b"host") or "").casefold()
    is_own = origin is None or origin.casefold() in (f"http://{host}", f"https://{host}")
    if not is_own or site not in (None, "none", "same-origin"):
        shown = origin or site
        raise Refusal(
            403, f"the request comes from another site ({shown:.100}): open the page itself"
        )


def _check_content_type(scope: Scope, expected: str) -> None:
    given = (header(scope, b"content-type") or "").partition(";")[0].strip().casefold()
    if given != expected:
        # A form of another site can send other types without being asked.
        raise Refusal(415, f"the content type is {given!r:.60}: send 'content-type: {expected}'")


async def _send_value(send: Send, value: Any) -> None:
    await send_json(send, 200, {"value": value}, _SAFE)


async def _send_error(
    send: Send, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
) -> None:
    body = {"error": {"kind": kind, "message": message}}
    await send_json(send, status, body, {**_SAFE, **(headers or {})})
