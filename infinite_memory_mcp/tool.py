"""Declare a tool, and turn the declaration into a tool of the SDK."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio.to_thread
from attrs import frozen
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.messages import format_count
from infinite_memory.search.text.quotation import disarm_tags, disarm_tags_in, escape_line
from infinite_memory_mcp.arguments import Arguments, input_schema, parse, resolve_ids, understand
from infinite_memory_mcp.budget import DEFAULT_TOKENS, cut_data, cut_text
from infinite_memory_mcp.call_rates import CallRates
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.observe.requests import note_failure
from infinite_memory_mcp.validation import caller_name

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_log = logging.getLogger(__name__)
_MAX_NOTE_CHARS = 400
ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)
RunCall = Callable[[Callable[[], CallToolResult]], Awaitable[CallToolResult]]
"""Runs a call in a worker thread; raises TimeoutError if it goes on for too long."""


@frozen(kw_only=True)
class Answer:
    """The answer of a tool as text and as data, both complete: a client may show only text."""

    text: str
    data: dict[str, Any]


@frozen(kw_only=True)
class ToolSpec(Generic[ArgumentsT]):
    """A function with what `tool` declares of it."""

    run: Callable[[MemoryStore, ArgumentsT], Answer]
    arguments: type[ArgumentsT]
    title: str
    answers: dict[str, Any]
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False

    @property
    def name(self) -> str:
        """The name of the function, and of the tool."""
        return self.run.__name__

    @property
    def description(self) -> str:
        """The docstring of the function, a line for each of its paragraphs."""
        paragraphs = (self.run.__doc__ or "").split("\n\n")
        return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).strip()

    def build_tool(
        self,
        memory: LazyStore,
        *,
        is_listed: bool = True,
        structured: bool = False,
        rates: CallRates | None = None,
        run_call: RunCall = anyio.to_thread.run_sync,
    ) -> MemoryTool:
        """Return the tool as the SDK serves it, working on `memory`.

        Its answers are text for a model to read, and also data if they are to be `structured`. Its
        calls count in `rates`, and `run_call` runs them. Only a tool that `is_listed` has a schema.
        """
        schema = self.answers if structured else None
        rates = CallRates() if rates is None else rates
        return MemoryTool(
            fn=partial(_run_tool, self, memory, rates, structured=structured),
            run_call=run_call,
            name=self.name,
            title=self.title,
            description=self.description,
            parameters=input_schema(self.arguments) if is_listed else {},
            fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=schema),
            is_async=False,
            context_kwarg=None,
            annotations=self._make_annotations(),
        )

    def _make_annotations(self) -> ToolAnnotations:
        if self.reads:
            # The protocol defines the destructive and idempotent hints only for tools that write.
            return ToolAnnotations(read_only_hint=True, open_world_hint=False)
        # A hint that is left out means what the protocol says: it writes, destroys, once each.
        return ToolAnnotations(
            destructive_hint=None if self.destroys else False,
            idempotent_hint=self.repeatable or None,
            open_world_hint=False,
        )


def tool(
    title: str,
    answers: dict[str, Any],
    *,
    reads: bool = False,
    destroys: bool = False,
    repeatable: bool = False,
) -> Callable[[Callable[[MemoryStore, ArgumentsT], Answer]], ToolSpec[ArgumentsT]]:
    """Declare a function as a tool with its name, its docstring and the arguments it annotates.

    `answers` is the JSON Schema of the data. The booleans become the hints of the protocol: `reads`
    changes nothing, `destroys` may remove something, `repeatable` is idempotent.
    """

    def declare(run: Callable[[MemoryStore, ArgumentsT], Answer]) -> ToolSpec[ArgumentsT]:
        _, arguments, _ = run.__annotations__.values()
        return ToolSpec(
            run=run,
            # By name, since the annotation of the store names what no list of tools loads.
            arguments=run.__globals__[arguments],
            title=title,
            answers=answers,
            reads=reads,
            destroys=destroys,
            repeatable=repeatable,
        )

    return declare


class MemoryTool(Tool):
    """A tool of the SDK that validates its own arguments.

    The validation of the SDK ignores unknown names and parses strings that look like JSON, which
    would change a memory whose text is JSON.
    """

    run_call: RunCall = Field(exclude=True)

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: ARG002 - given by the SDK
    ) -> CallToolResult:
        """Answer a call in a worker thread.

        Raises:
            ToolError: the call failed; the message is for the assistant.
        """
        client = caller_name(context.session)
        changes: dict[int, int] = {}
        try:
            return await self.run_call(partial(self.fn, arguments, client=client, changes=changes))
        except ToolError as error:
            note_failure(error.__cause__ or error)
            raise
        except TimeoutError as error:
            note_failure(error)
            assert self.annotations is not None
            reads = bool(self.annotations.read_only_hint)
            raise ToolError(
                f"{self.name} took too long, and its answer is no longer awaited."
                f" {_describe_outcome(changes, reads=reads, is_over=False)}"
            ) from error


def _run_tool(
    spec: ToolSpec[ArgumentsT],
    memory: LazyStore,
    rates: CallRates,
    arguments: dict[str, Any],
    *,
    client: str | None = None,
    changes: dict[int, int] | None = None,
    structured: bool,
) -> CallToolResult:
    budget = DEFAULT_TOKENS
    changes = {} if changes is None else changes
    try:
        given, notes = understand(spec.arguments, arguments, partial(_choose_page_size, memory))
        values = parse(spec.arguments, given)
        budget = getattr(values, "max_tokens", budget)
        with memory.call(client, changes=changes) as store:
            rates.admit(store.config.limits, getattr(values, "conversation_id", None))
            values = resolve_ids(values, store.ids.resolve).in_folder(memory.folder)
            answer = _add_notes(spec.run(store, values), notes)
        if not spec.reads:
            # What was stored may have been left without vectors, so that the answer need not wait.
            memory.embed_when_quiet()
    except InfiniteMemoryError as error:
        raise ToolError(cut_text(disarm_tags(str(error)), budget)) from error
    except ToolError:
        raise
    except Exception as error:
        # The boundary of the process: the server keeps serving after a defect.
        _log.exception("the tool %s failed", spec.name)
        raise ToolError(_describe_defect(spec, error, changes)) from error
    return CallToolResult(
        content=[TextContent(type="text", text=cut_text(disarm_tags(answer.text), budget))],
        structured_content=(cut_data(disarm_tags_in(answer.data), budget) if structured else None),
    )


def _choose_page_size(memory: LazyStore) -> int:
    with memory.call() as store:
        return store.config.search.limit


def _add_notes(answer: Answer, notes: Sequence[str]) -> Answer:
    """Return an answer that says which arguments were read under another name or value."""
    if not notes:
        return answer
    shown = "; ".join(notes)
    shown = shown if len(shown) <= _MAX_NOTE_CHARS else f"{shown[: _MAX_NOTE_CHARS - 1]}…"
    text = f"{answer.text}\n\nRead {escape_line(shown)}."
    return Answer(text=text, data={**answer.data, "understood": shown})


def _describe_defect(spec: ToolSpec[Any], error: Exception, changes: Mapping[int, int]) -> str:
    return (
        f"{spec.name} failed through a defect of the server ({type(error).__name__});"
        f" its log has the details. {_describe_outcome(changes, reads=spec.reads, is_over=True)}"
    )


def _describe_outcome(changes: Mapping[int, int], *, reads: bool, is_over: bool) -> str:
    """Return what a call changed by its commits: the number of memories of each.

    A call that `is_over` makes no more of them.
    """
    if changes:
        done = format_count(sum(changes.values()), "memory was", "memories were")
        more = "" if is_over else " More may follow."
        return f"The change was made: {done} written, and stay so.{more} See memory_log."
    if reads:
        return "Nothing was changed."
    return "Whether the change was made is unknown: check with retrieve_memory, then try again."
