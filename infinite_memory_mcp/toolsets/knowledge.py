"""The tool that tells what is known about a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from infinite_memory.store import KNOWLEDGE_TOKENS
from infinite_memory_mcp.arguments import Arguments, Scopes
from infinite_memory_mcp.data import object_schema
from infinite_memory_mcp.tool import Answer, tool

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore


class WhatDoIKnow(Arguments):
    """The arguments of `what_do_i_know`."""

    topic: str = Field(description="Any subject")
    scope: Scopes = None
    budget: int = Field(KNOWLEDGE_TOKENS, description="Tokens")


@tool("Overview", object_schema("text", "highlights"), reads=True)
def what_do_i_know(store: MemoryStore, arguments: WhatDoIKnow) -> Answer:
    """Tell what is known about a topic: summaries, then highlights of all its parts."""
    knowledge = store.what_do_i_know(
        arguments.topic, scope=arguments.scope, budget=arguments.budget
    )
    return Answer(text=knowledge.text, data=knowledge.to_dict())


KNOWLEDGE = (what_do_i_know,)
"""The tool that tells what is known."""
