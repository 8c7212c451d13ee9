"""Find the summaries that quote memories, so that they are erased with them."""

from __future__ import annotations

from collections.abc import Iterable

from infinite_memory.model.link import LinkType
from infinite_memory.model.memory import Kind, Memory
from infinite_memory.operations.load_memories import load_memories
from infinite_memory.operations.services import Services

__all__ = ["find_quoting_summaries"]


def find_quoting_summaries(services: Services, ids: Iterable[str]) -> list[Memory]:
    """Return the summaries made from the memories `ids`, and the summaries made from those.

    A summary is found by the link to its source, which the storage keeps as long as both exist.
    """
    quoting: dict[str, Memory] = {}
    seen = set(ids)
    level = list(seen)
    while level:
        links = services.storage.links(level)
        wanted = {
            link.source
            for link in links
            if link.type is LinkType.DERIVED_FROM and link.target in level
        } - seen
        seen |= wanted
        summaries = {
            memory_id: memory
            for memory_id, memory in load_memories(services, wanted).items()
            if memory.kind is Kind.SUMMARY
        }
        quoting |= summaries
        level = list(summaries)
    return list(quoting.values())
