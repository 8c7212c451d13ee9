"""The summaries that quote memories, directly or through other summaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from infinite_memory.model.criteria import Criteria
from infinite_memory.model.link import LinkType
from infinite_memory.model.memory import Kind, Memory
from infinite_memory.protocols import Storage

__all__ = ["quoting_summaries"]

_PAGE = 500


def quoting_summaries(storage: Storage, ids: Iterable[str]) -> dict[str, Memory]:
    """Return by id the summaries made from the memories `ids`, directly or through summaries.

    A summary names its sources in `Memory.sources`, even if they were erased meanwhile, or has a
    link "derived_from" to them, or both. All summaries of the storage are read.
    """
    quoting: dict[str, Memory] = {}
    seen = level = frozenset(ids)
    summaries = {summary.id: summary for summary in _read_summaries(storage)} if level else {}
    while level and summaries:
        linked = {
            link.source
            for link in storage.links(level)
            if link.type is LinkType.DERIVED_FROM and link.target in level
        }
        found = {
            summary_id: summary
            for summary_id, summary in summaries.items()
            if summary_id not in seen
            and (summary_id in linked or not level.isdisjoint(summary.sources))
        }
        quoting |= found
        level = frozenset(found)
        seen |= level
    return quoting


def _read_summaries(storage: Storage) -> Iterator[Memory]:
    criteria = Criteria(kinds=frozenset({Kind.SUMMARY}))
    after: str | None = None
    while True:
        page = storage.find(criteria, limit=_PAGE, after=after)
        yield from page.memories
        after = page.next
        if after is None:
            return
