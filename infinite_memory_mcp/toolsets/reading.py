"""The tools that find what is stored."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.errors import InvalidInput, NotFound
from infinite_memory.model.hits import Step
from infinite_memory.model.memory import Status
from infinite_memory.model.search_options import Depth
from infinite_memory.model.timestamps import read_moment
from infinite_memory_mcp.arguments import Arguments, Labels, Limit, Scopes
from infinite_memory_mcp.data import FOUND, absence_data, hits_data, page_data, recalled_data
from infinite_memory_mcp.render import hits_text, page_text, recalled_text, whole_text
from infinite_memory_mcp.tool import Answer, ToolSpec

if TYPE_CHECKING:
    from infinite_memory.model.hits import Hits
    from infinite_memory.model.record import Page
    from infinite_memory.store import MemoryStore

__all__ = ["READING"]
_BEST = "best match first"
_MAX_IDS = 100


class RetrieveMemory(Arguments):
    """What `retrieve_memory` takes."""

    query: str | None = Field(None, description="A question or key words")
    depth: str = Field(
        "normal",
        description="overview: summaries first, then highlights; exhaustive: titles of every match,"
        " archived and superseded too",
    )
    scope: Scopes = Field(
        None,
        description="A scope or several, with parents and Global; ALL opens all but private ones",
    )
    tags: Labels = Field([], description="All required")
    kinds: Labels = Field([])
    as_of: str | None = Field(None, description='What held then: "last March"')
    mode: str | None = Field(None, description="strict: holds now; history: superseded too")
    limit: Limit | None = None
    when: str | None = Field(None, description='Happened then: "last week"')
    offset: int = Field(0, description="Go on after so many")
    threshold: float | None = Field(None, description="Lowest score, 0 to 1")
    explain: bool = Field(False, description="Say why each was found")
    why_not: str | None = Field(None, description="An id: say why it is not found")
    ids: Labels = Field([], description="No query: show these memories whole")


class RecallMemory(Arguments):
    """What `recall_memory` takes."""

    query: str
    since: str | None = Field(None, description="ISO 8601")
    until: str | None = Field(None, description="Not included")
    when: str | None = Field(None, description='Instead: "last week"')
    scope: Scopes = None
    limit: Limit = 10


class RecallMemoryByTime(Arguments):
    """What `recall_memory_by_time` takes."""

    when: str = Field(
        description='"last week", "since March", "2026-11-20 to 2026-11-22", "always"; Chinese too'
    )
    scope: Scopes = None
    tags: Labels = Field([])
    kinds: Labels = Field([])
    newest_first: bool = False
    limit: Limit = 20
    cursor: str | None = Field(None, description="From the page before")


class SearchByTag(Arguments):
    """What `search_by_tag` takes."""

    tags: Labels
    query: str | None = None
    scope: Scopes = None
    limit: Limit = 20
    cursor: str | None = Field(None, description="From the page before; not with query")


class SearchByScope(Arguments):
    """What `search_by_scope` takes."""

    scope: Scopes
    query: str | None = None
    limit: Limit = 20
    cursor: str | None = None


def retrieve_memory(store: MemoryStore, asked: RetrieveMemory) -> Answer:
    """Find memories by meaning and by words.

    Use it before you answer anything that may depend on the user, their projects or earlier
    decisions.
    """
    if asked.ids:
        return _whole(store, asked)
    if asked.query is None:
        raise InvalidInput("there is neither query nor ids: give one of them")
    given = asked.model_dump(exclude={"why_not", "ids"})
    answer = _ranked(store.search(**given), pages=True)
    if asked.why_not is None:
        return answer
    del given["explain"], given["offset"]
    absence = store.why_not(memory_id=asked.why_not, **given)
    among = "is found" if absence.step is Step.FOUND else f"is kept out ({absence.step})"
    return Answer(
        text=f"{absence.id} {among}: {absence.reason}.\n\n{answer.text}",
        data={**answer.data, "why_not": absence_data(absence)},
    )


def recall_memory(store: MemoryStore, asked: RecallMemory) -> Answer:
    """Tell what was said or happened about something, oldest first, with absolute dates."""
    zone = store.config.time_zone
    hits = store.search(
        asked.query,
        scope=asked.scope,
        since=_moment(asked.since, zone),
        until=_moment(asked.until, zone),
        when=asked.when,
        limit=asked.limit,
    )
    ordered = sorted(hits, key=lambda hit: (hit.memory.happened_at, hit.memory.id))
    return Answer(
        text=hits_text(hits, ordered, order="oldest first"), data=hits_data(hits, ordered)
    )


def recall_memory_by_time(store: MemoryStore, asked: RecallMemoryByTime) -> Answer:
    """Tell all that happened in a time, oldest first, page by page.

    Beyond a page it also gives the first, the last, and counts by day, scope and kind.
    """
    given = asked.model_dump(exclude={"cursor"})
    recalled = store.recall_by_time(**given, after=asked.cursor)
    return Answer(text=recalled_text(recalled), data=recalled_data(recalled))


def search_by_tag(store: MemoryStore, asked: SearchByTag) -> Answer:
    """Find memories with all of these tags: with a query the best, without it the newest."""
    if not asked.tags:
        raise InvalidInput("tags is empty: name at least one, or use retrieve_memory")
    if asked.query is None:
        return _paged(
            store.browse(scope=asked.scope, tags=asked.tags, limit=asked.limit, after=asked.cursor)
        )
    _refuse_cursor(asked.cursor)
    return _ranked(store.search(asked.query, scope=asked.scope, tags=asked.tags, limit=asked.limit))


def search_by_scope(store: MemoryStore, asked: SearchByScope) -> Answer:
    """Look into a scope: with a query the best matches, without it everything, newest first."""
    if asked.query is None:
        return _paged(store.browse(scope=asked.scope, limit=asked.limit, after=asked.cursor))
    _refuse_cursor(asked.cursor)
    return _ranked(store.search(asked.query, scope=asked.scope, limit=asked.limit))


def _whole(store: MemoryStore, asked: RetrieveMemory) -> Answer:
    if asked.query is not None:
        raise InvalidInput(f"query {asked.query!r:.100} and ids cannot go together: leave one out")
    if len(asked.ids) > _MAX_IDS:
        raise InvalidInput(f"ids has {len(asked.ids)} entries and the limit is {_MAX_IDS}")
    memories = [store.get(memory_id) for memory_id in dict.fromkeys(asked.ids)]
    for memory in memories:
        if memory.status is Status.FORGOTTEN:
            raise NotFound(
                f"the memory {memory.id!r} is forgotten: update_memory with status current brings"
                " it back"
            )
    return Answer(text=whole_text(memories), data=page_data(memories, None))


def _moment(text: str | None, zone: str | None) -> datetime | None:
    return None if text is None else read_moment(text, zone)


def _refuse_cursor(cursor: str | None) -> None:
    if cursor is not None:
        raise InvalidInput(
            f"cursor {cursor!r:.100} cannot be used with a query: leave one out, or raise limit"
        )


def _ranked(hits: Hits, *, pages: bool = False) -> Answer:
    order = "summaries first" if hits.depth is Depth.OVERVIEW else _BEST
    return Answer(
        text=hits_text(hits, hits, order=order, pages=pages),
        data=hits_data(hits, hits, pages=pages),
    )


def _paged(page: Page) -> Answer:
    return Answer(
        text=page_text(page.memories, page.next), data=page_data(page.memories, page.next)
    )


READING = (
    ToolSpec(
        run=retrieve_memory,
        arguments=RetrieveMemory,
        title="Search memories",
        answers=FOUND,
        reads=True,
    ),
    ToolSpec(
        run=recall_memory,
        arguments=RecallMemory,
        title="Recall",
        answers=FOUND,
        reads=True,
    ),
    ToolSpec(
        run=recall_memory_by_time,
        arguments=RecallMemoryByTime,
        title="Recall by time",
        answers=FOUND,
        reads=True,
    ),
    ToolSpec(
        run=search_by_tag, arguments=SearchByTag, title="Search by tag", answers=FOUND, reads=True
    ),
    ToolSpec(
        run=search_by_scope,
        arguments=SearchByScope,
        title="Search a scope",
        answers=FOUND,
        reads=True,
    ),
)
"""The tools that search and browse."""
