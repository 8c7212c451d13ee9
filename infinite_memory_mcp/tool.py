"""How a tool is declared, and how it becomes one of the SDK's."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio.to_thread
from attrs import frozen
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from infinite_memory.errors import InfiniteMemoryError
from infinite_memory.model.receipt import Searchable
from infinite_memory_mcp.arguments import Arguments, input_schema, parse
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.wire import encodable, encodable_data

if TYPE_CHECKING:
    from infinite_memory.store import MemoryStore

__all__ = ["Answer", "MemoryTool", "ToolSpec"]

_log = logging.getLogger(__name__)
Given = TypeVar("Given", bound=Arguments)


@frozen(kw_only=True)
class Answer:
    """What a tool answers, as text and as data: each complete, since a client may show only one."""

    text: str
    data: dict[str, Any]


@frozen(kw_only=True)
class ToolSpec(Generic[Given]):
    """A tool: the function that carries it out, whose name and docstring are the tool's own.

    `answers` is the JSON Schema of the data. `reads` tells that nothing is changed, `destroys` that
    something may be taken away, `repeatable` that doing it twice does no more than doing it once.
    """

    run: Callable[[MemoryStore, Given], Answer]
    arguments: type[Given]
    title: str
    answers: dict[str, Any]
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False

    def tool(self, memory: LazyStore) -> MemoryTool:
        """Return the tool as the SDK serves it, working on `memory`."""
        return MemoryTool(
            fn=partial(_answered, self, memory),
            name=self.run.__name__,
            title=self.title,
            description=" ".join((self.run.__doc__ or "").split()),
            parameters=input_schema(self.arguments),
            fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=self.answers),
            is_async=False,
            context_kwarg=None,
            annotations=self._annotations(),
        )

    def _annotations(self) -> ToolAnnotations:
        if self.reads:
            # The other hints mean something only where a tool writes.
            return ToolAnnotations(read_only_hint=True, open_world_hint=False)
        return ToolAnnotations(
            read_only_hint=False,
            destructive_hint=self.destroys,
            idempotent_hint=self.repeatable,
            open_world_hint=False,
        )


class MemoryTool(Tool):
    """A tool of the SDK that reads its own arguments.

    The SDK's own reading ignores names that it does not know, and turns a text that looks like JSON
    into what it stands for, which would change a memory that happens to be JSON.
    """

    async def run(
        self,
        arguments: dict[str, Any],
        context: Any,  # noqa: ARG002 - given by the SDK
        convert_result: bool = False,  # noqa: ARG002 - given by the SDK
    ) -> CallToolResult:
        """Answer a call in a worker thread.

        Raises:
            ToolError: it could not be done; the message is for the assistant.
        """
        return await anyio.to_thread.run_sync(self.fn, arguments)


def _answered(
    spec: ToolSpec[Given], memory: LazyStore, arguments: dict[str, Any]
) -> CallToolResult:
    try:
        asked = parse(spec.arguments, arguments)
        with memory.call() as store:
            answer = spec.run(store, asked)
        if answer.data.get("searchable") == Searchable.WORDS:
            memory.embed_when_quiet()
    except InfiniteMemoryError as error:
        raise ToolError(encodable(str(error))) from error
    except Exception as error:
        # The boundary of the process: whatever a defect raises, the server goes on serving.
        _log.exception("the tool %s failed", spec.run.__name__)
        raise ToolError(_defect(spec, error)) from error
    return CallToolResult(
        content=[TextContent(type="text", text=encodable(answer.text))],
        structured_content=encodable_data(answer.data),
    )


def _defect(spec: ToolSpec[Any], error: Exception) -> str:
    outcome = (
        "Nothing was changed."
        if spec.reads
        else "Whether it was carried out is unknown: look with retrieve_memory and then try again."
    )
    return (
        f"{spec.run.__name__} failed through a defect of the server ({type(error).__name__});"
        f" its log has the details. {outcome}"
    )
