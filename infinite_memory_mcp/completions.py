"""Completions: scopes, tags and ids for the arguments of prompts and addresses of resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server import MCPServer
from mcp_types import Completion, CompletionArgument

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.search.text.quotation import disarm_tags
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.resources import list_repositories

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

# The protocol allows at most 100 values.
_MAX_VALUES = 100


def _list_scopes(store: MemoryStore) -> Iterable[str]:
    return (scope.name for scope in store.scopes)


def _list_topics(store: MemoryStore) -> Iterable[str]:
    """Yield scopes and tags, which people call their topics."""
    yield from _list_scopes(store)
    yield from store.scopes.count_tags("ALL")


def _list_ids(store: MemoryStore) -> Iterable[str]:
    return (memory.id for memory in store.browse(scope="ALL", limit=_MAX_VALUES).memories)


COMPLETED: Mapping[str, Callable[[MemoryStore], Iterable[str]]] = {
    "scope": _list_scopes,
    "topic": _list_topics,
    "id": _list_ids,
    "repository": list_repositories,
}
"""What an argument of that name may be."""


def add_completions(server: MCPServer[Any], memory: LazyStore) -> None:
    """Let `server` complete the arguments that it knows, from the store of `memory`."""

    async def complete(
        ref: object,  # noqa: ARG001 - an argument means the same everywhere
        argument: CompletionArgument,
        context: object,  # noqa: ARG001
    ) -> Completion | None:
        list_values = COMPLETED.get(argument.name)
        if list_values is None:
            return None
        return await anyio.to_thread.run_sync(_complete_value, memory, list_values, argument.value)

    # The SDK's decorator has no types.
    server.completion()(complete)  # type: ignore[no-untyped-call]


def _complete_value(
    memory: LazyStore, list_values: Callable[[MemoryStore], Iterable[str]], typed: str
) -> Completion:
    """Return the values that begin with what was `typed`, none if the store cannot be opened."""
    try:
        with memory.call() as store:
            # What could not be shown as it is would name nothing.
            values = [v for v in dict.fromkeys(list_values(store)) if disarm_tags(v) == v]
    except InfiniteMemoryError:
        # A tool will say why; a completion has no place for it.
        return Completion(values=[], total=0, has_more=False)
    matching = [value for value in values if value.lower().startswith(typed.lower())]
    return Completion(
        values=matching[:_MAX_VALUES], total=len(matching), has_more=len(matching) > _MAX_VALUES
    )
