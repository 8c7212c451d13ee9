"""The tools that recall: what was said on a subject, all of one memory, and a period."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.core.errors import InvalidInput
from infinite_memory_mcp.arguments import (
    Arguments,
    Labels,
    Limit,
    MemoryId,
    Scopes,
    Tokens,
)
from infinite_memory_mcp.budget import DEFAULT_TOKENS
from infinite_memory_mcp.data import HITS, count_fitting, hits_to_data, recall_page_to_data
from infinite_memory_mcp.render import render_hits
from infinite_memory_mcp.render_recall import render_recall_page
from infinite_memory_mcp.render_related import show_related
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.view import view_of_hits, view_of_memories

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

# How many memories that belong to one are shown with it, without a limit.
_MOST_RELATED = 10


class RecallMemory(Arguments):
    """The arguments of `recall_memory`."""

    query: str | None = None
    id: MemoryId | None = Field(None, description="Instead: one memory and what is related")
    since: str | None = Field(None, description="ISO 8601")
    until: str | None = Field(None, description="Not included")
    when: str | None = Field(None, description='Instead: "last week"')
    scope: Scopes = None
    limit: Limit | None = None
    max_tokens: Tokens = DEFAULT_TOKENS


class RecallMemoryByTime(Arguments):
    """The arguments of `recall_memory_by_time`."""

    when: str = Field(
        description='"last week", "since March", "2026-11-20 to 2026-11-22", "always"; Chinese too'
    )
    scope: Scopes = None
    tags: Labels = Field([])
    kinds: Labels = Field([])
    newest_first: bool = False
    limit: Limit = 20
    cursor: str | None = Field(None, description="From the previous page")
    max_tokens: Tokens = DEFAULT_TOKENS


@tool("Recall", HITS, reads=True)
def recall_memory(store: MemoryStore, arguments: RecallMemory) -> Answer:
    """Recall what was said on a subject, oldest first, or all of one memory by its id."""
    if arguments.id is not None:
        _check_alone(arguments)
        limit = arguments.limit or _MOST_RELATED
        return show_related(store, [arguments.id], limit=limit, budget=arguments.max_tokens)
    if arguments.query is None:
        raise InvalidInput("query and id are both missing: give query or id, or when alone")
    hits = store.search(
        arguments.query,
        scope=arguments.scope,
        since=arguments.since,
        until=arguments.until,
        when=arguments.when,
        limit=arguments.limit,
        cut="asked",
    )
    ordered = sorted(hits, key=lambda hit: (hit.memory.happened_at, hit.memory.id))
    budget, view = arguments.max_tokens, view_of_hits(store, hits, has_times=True)
    return Answer(
        text=render_hits(hits, ordered, order="oldest first", budget=budget, view=view),
        data=hits_to_data(hits, ordered, budget=budget),
    )


@tool("Recall by time", HITS, reads=True)
def recall_memory_by_time(store: MemoryStore, arguments: RecallMemoryByTime) -> Answer:
    """List all that happened in a period, oldest first, with counts if it has several pages."""
    options = arguments.model_dump(exclude={"cursor", "max_tokens"})
    recalled = store.recall_by_time(**options, after=arguments.cursor)
    # The cursor of a shorter page is that of its last memory.
    while recalled and (count := count_fitting(list(recalled), arguments.max_tokens)) < len(
        recalled
    ):
        recalled = store.recall_by_time(**{**options, "limit": count}, after=arguments.cursor)
    further_ids = [landmark.id for landmark in recalled.landmarks]
    view = view_of_memories(store, recalled.memories, further_ids, has_times=True)
    return Answer(text=render_recall_page(recalled, view), data=recall_page_to_data(recalled))


def _check_alone(arguments: RecallMemory) -> None:
    """Refuse what an id leaves no room for: a query, a period and a scope; empty ones are none."""
    for name in ("query", "since", "until", "when", "scope"):
        value = getattr(arguments, name)
        if value and (not isinstance(value, str) or value.strip()):
            raise InvalidInput(
                f"{name} {value!r:.100} and id cannot go together: leave one out; an id alone shows"
                " all of its memory"
            )
