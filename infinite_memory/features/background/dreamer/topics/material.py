"""What a topic summary is made from: its sources, and the memories at the bottom of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from itertools import chain, zip_longest

from attrs import frozen

from infinite_memory.core.values.memory import JsonValue, Kind, Memory, Origin, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.features.background.dreamer.view import CycleView

MOST_LEVELS = 3
"""A topic summary of this level is summarised no further."""

_MOST_LEAVES = 300
_ID_DIGITS, _DIGEST_DIGITS = 32, 16
_USABLE = frozenset({Status.CURRENT, Status.ARCHIVED})


@frozen(kw_only=True, slots=False)
class TopicMaterial:
    """The sources of a topic summary, and its leaves: what people told. Both are in order of time.

    A source that the dreamer or the upkeep wrote stands for its own sources, so that no summary is
    made from summaries alone.
    """

    scope: str
    sources: tuple[Memory, ...]
    leaves: tuple[Memory, ...]

    @cached_property
    def level(self) -> int:
        """One more than the highest level of a source; memories have the level 0."""
        return 1 + max(map(level_of, self.sources), default=0)

    @cached_property
    def summary_id(self) -> str:
        """The id of the first summary: equal sources give the same, so that none is made twice."""
        ids = sorted(memory.id for memory in self.sources)
        return f"topic:{_digest_parts(self.scope, *ids, digits=_ID_DIGITS)}"

    @cached_property
    def digest(self) -> str:
        """A digest of the ids and the texts: another one means that a summary is outdated."""
        ids = sorted(memory.id for memory in self.sources)
        texts = chain.from_iterable((leaf.id, leaf.text) for leaf in self.leaves)
        return _digest_parts(*ids, "", *texts)

    @property
    def ends(self) -> datetime:
        """When the last leaf happened."""
        return self.leaves[-1].happened_at


def level_of(memory: Memory) -> int:
    """Return the level of a topic summary, 0 for any other memory."""
    level = dreamed_of(memory).get("level", 1) if memory.is_dreamed else 0
    return level if isinstance(level, int) else 1


def digest_of(topic: Memory) -> JsonValue:
    """Return the digest of the material that a topic summary was made from."""
    return dreamed_of(topic).get("material")


def dreamed_of(topic: Memory) -> Mapping[str, JsonValue]:
    """Return what the context of a topic summary says of how it was made."""
    dreamed = topic.context.get("dreamed")
    return dreamed if isinstance(dreamed, Mapping) else {}


def load_material(view: CycleView, ids: Iterable[str]) -> TopicMaterial:
    """Return what is there of the sources `ids`, without what may not be summarised any more.

    That is what was erased, forgotten, superseded or moved to another scope, and what has ended. Of
    very many leaves a share of each source is taken.
    """
    sources = _load_usable(view, ids)
    leaves = _find_leaves(view, sources)
    return TopicMaterial(
        scope=view.scope,
        sources=_order_memories(sources),
        leaves=_order_memories(leaves[:_MOST_LEAVES]),
    )


def _load_usable(view: CycleView, ids: Iterable[str]) -> list[Memory]:
    return [
        memory
        for memory in load_memories(view.services, ids).values()
        if memory.status in _USABLE
        and memory.scope == view.scope
        and memory.is_indexed
        and not memory.ended_by(view.now)
    ]


def _find_leaves(view: CycleView, sources: Sequence[Memory]) -> list[Memory]:
    """Return the leaves, by turns of each source, without repetition."""
    columns: list[list[Memory]] = []
    for source in sources:
        column = [source]
        for _ in range(MOST_LEVELS + 1):
            derived = [memory for memory in column if _is_derived(memory)]
            if not derived:
                break
            below = _load_usable(view, chain.from_iterable(memory.sources for memory in derived))
            column = [memory for memory in column if not _is_derived(memory)] + below
        columns.append([memory for memory in column if not _is_derived(memory)])
    turns = chain.from_iterable(zip_longest(*columns))
    return list({memory.id: memory for memory in turns if memory is not None}.values())


def _is_derived(memory: Memory) -> bool:
    return memory.kind is Kind.SUMMARY and memory.origin is Origin.DREAM


def _order_memories(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    return tuple(sorted(memories, key=lambda memory: (memory.happened_at, memory.id)))


def _digest_parts(*parts: str, digits: int = _DIGEST_DIGITS) -> str:
    joined = "\0".join(parts).encode(errors="surrogatepass")
    return blake2b(joined, digest_size=digits // 2, person=b"topic").hexdigest()
