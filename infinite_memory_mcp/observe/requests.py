"""A line in the log and a measurement for every request: who called what, how long, how it ended.

The line has no argument of the request: arguments are texts of memories, questions and keys.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

from attrs import define
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult
from opentelemetry.trace import get_current_span

from infinite_memory.core.errors import AccessDenied, Conflict, InvalidInput, NotFound
from infinite_memory.core.observe.recorder import Recorder, Series
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.validation import caller_name, client_name

_log = logging.getLogger(__name__)
_MAX_ID_CHARS = 64
# Of the caller, who is told what to do; any other error is one for the operator.
_ERRORS_OF_CALLERS = (InvalidInput, NotFound, Conflict, AccessDenied, ToolError)
_CALL = "tools/call"
_UNKNOWN = "unknown"


@define(eq=False)
class _Request:
    """A request that is being answered, in the recorder of its server."""

    recorder: Recorder
    error: BaseException | None = None
    tool: str | None = None


_current: ContextVar[_Request | None] = ContextVar("infinite_memory_request", default=None)


def note_failure(error: BaseException) -> None:
    """Note why the call of a tool fails: the SDK turns the error into an answer."""
    request = _current.get()
    if request is not None:
        request.error = error


def note_tool(name: str) -> None:
    """Note the tool that runs, where the request has another name for it."""
    request = _current.get()
    if request is not None:
        request.tool = name


def tool_recorder() -> Recorder | None:
    """Return the recorder of the server whose tool is running, None outside of a server."""
    request = _current.get()
    return None if request is None else request.recorder


def observe_requests(memory: LazyStore, tools: Collection[str]) -> ServerMiddleware[Any]:
    """Return what every request passes: it is measured and logged.

    Calls of other names than those in `tools` are recorded under one name, since a client may
    invent any number of them.
    """

    async def observe(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None:
            return await call_next(ctx)
        request = _Request(memory.recorder)
        token = _current.set(request)
        begun, outcome = time.perf_counter(), "cancelled"
        try:
            result = await call_next(ctx)
            outcome = "error" if _is_error(result) else "ok"
            return result
        except MCPError as error:
            request.error, outcome = error, "refused"
            raise
        except Exception as error:
            request.error, outcome = error, "error"
            raise
        finally:
            _current.reset(token)
            seconds = time.perf_counter() - begun
            tool = _find_tool(ctx, tools, request.tool)
            if tool is not None:
                name = None if outcome == "ok" else _name_error(request.error) or outcome
                memory.recorder.add(Series.TOOLS, tool, seconds, name)
            _write_line(memory, ctx, tool, request.error, outcome, seconds)

    return observe


def _is_error(result: HandlerResult) -> bool:
    if isinstance(result, CallToolResult):
        return bool(result.is_error)
    return isinstance(result, dict) and result.get("isError") is True


def _find_tool(
    ctx: ServerRequestContext[Any, Any], tools: Collection[str], ran: str | None
) -> str | None:
    if ctx.method != _CALL:
        return None
    name = ran or (ctx.params or {}).get("name")
    return name if isinstance(name, str) and name in tools else _UNKNOWN


def _name_error(error: BaseException | None) -> str | None:
    if isinstance(error, MCPError):
        return f"MCPError {error.error.code}"
    return None if error is None else type(error).__name__


def _write_line(
    memory: LazyStore,
    ctx: ServerRequestContext[Any, Any],
    tool: str | None,
    error: BaseException | None,
    outcome: str,
    seconds: float,
) -> None:
    is_expected = error is None or isinstance(error, (*_ERRORS_OF_CALLERS, MCPError))
    level = logging.INFO if is_expected else logging.WARNING
    if not _log.isEnabledFor(level):
        return
    # A method that is not of the protocol may be any text.
    method = ctx.method if ctx.method.replace("/", "").isalpha() else _UNKNOWN
    fields = {
        "method": method[:_MAX_ID_CHARS],
        "tool": tool,
        "duration_ms": round(seconds * 1000, 3),
        "outcome": outcome,
        "error": _name_error(error),
        "client": _find_client(memory, ctx),
        "key": memory.key_name,
        "request_id": str(ctx.request_id)[:_MAX_ID_CHARS],
        "trace_id": _find_trace_id(),
    }
    arguments = (ctx.params or {}).get("arguments")
    texts = {} if arguments is None else {"arguments": arguments}
    message = f"{tool or method} {outcome}"
    _log.log(level, message, extra={"fields": fields, "texts": texts})


def _find_client(memory: LazyStore, ctx: ServerRequestContext[Any, Any]) -> str:
    return client_name(ctx.method, ctx.params) or caller_name(ctx.session) or memory.client


def _find_trace_id() -> str | None:
    """Return the id of the trace that this request belongs to, None without one."""
    span = get_current_span().get_span_context()
    return f"{span.trace_id:032x}" if span.is_valid else None
