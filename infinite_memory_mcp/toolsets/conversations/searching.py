"""The tool that searches the memories of a conversation, of both terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field

from infinite_memory.core.values.criteria import Order, Term
from infinite_memory.search.text.quotation import quote_label
from infinite_memory_mcp.arguments import Labels, Limit, Tokens, list_choices
from infinite_memory_mcp.budget import DEFAULT_TOKENS
from infinite_memory_mcp.data import compact, object_schema
from infinite_memory_mcp.foreign.arguments import decode_json
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.toolsets.conversations.arguments import AnyConversationArguments
from infinite_memory_mcp.toolsets.conversations.phrases import (
    Language,
    explain_errors,
    language_of,
    say,
)
from infinite_memory_mcp.toolsets.conversations.render import fit_blocks, render_block
from infinite_memory_mcp.view import view_of_memories

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_TERMS = list_choices(*Term)
_ORDERS = list_choices(*Order)


class SearchMemories(AnyConversationArguments):
    """The arguments of `search_memories`."""

    keywords: Labels = Field([], description="Any of these words")
    query: str | None = Field(None, description="Instead of keywords")
    date_from: str | None = Field(None, description='ISO 8601 or "last Monday"')
    date_to: str | None = Field(None, description="Up to here")
    min_score: float | None = Field(None, description="Least activation")
    max_score: float | None = None
    memory_type: str = Field(Term.BOTH, json_schema_extra=_TERMS)
    sort_by: str = Field(Order.RELEVANCE, json_schema_extra=_ORDERS)
    order: str = Field("desc", json_schema_extra=list_choices("desc", "asc"))
    limit: Limit = 20
    embedding: Annotated[list[float] | None, BeforeValidator(decode_json)] = Field(
        None, description="Finds attachments like it too"
    )
    model: str | None = Field(None, description="That of the embedding")
    max_tokens: Tokens = DEFAULT_TOKENS


@tool("Search a conversation", object_schema("hits"), reads=True)
def search_memories(store: MemoryStore, arguments: SearchMemories) -> Answer:
    """Search the short-term and long-term memories of a conversation by words, dates or score."""
    language = language_of(*arguments.keywords, arguments.query)
    order = "time" if arguments.sort_by == "timestamp" else arguments.sort_by
    with explain_errors(language):
        hits = store.conversations.search(
            arguments.conversation_id,
            scope=arguments.scope,
            keywords=arguments.keywords,
            query=arguments.query,
            date_from=arguments.date_from,
            date_to=arguments.date_to,
            min_score=arguments.min_score,
            max_score=arguments.max_score,
            term=arguments.memory_type,
            sort_by=order,
            ascending=arguments.order == "asc",
            limit=arguments.limit,
            embedding=arguments.embedding,
            model=arguments.model,
        )
    name = quote_label(arguments.conversation_id or "ALL")
    data = {
        "notice": say("notice", Language.ENGLISH),
        "hits": [compact(hit) for hit in hits],
    }
    if not hits:
        return Answer(text=say("nothing_found", language, id=name), data=data)
    ordered_by = say(f"by_{order}", language)
    head = say("found", language, count=len(hits), id=name, order=ordered_by)
    view = view_of_memories(store, [hit.memory for hit in hits])
    blocks = [
        render_block(
            hit.memory,
            view,
            [
                *([quote_label(hit.memory.title)] if hit.memory.title else []),
                say(hit.term, language),
                say("relevance", language, value=hit.relevance),
                say("score", language, value=hit.score),
            ],
            words=hit.matched,
        )
        for hit in hits
    ]
    return Answer(text=fit_blocks(head, blocks, arguments.max_tokens, language), data=data)


SEARCHING = (search_memories,)
"""The tool that searches the memories of a conversation."""
