"""The memories near those that a cycle linked, with their links: a bounded part of the graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

from attrs import frozen

from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.features.background.dreamer.topics.clustering import Edge, Weights
from infinite_memory.features.background.dreamer.view import CycleView
from infinite_memory.search.text.canonical import canonicalize

_HOPS = 3
_MOST_READ = 600
_TYPES = frozenset({LinkType.SEMANTIC, LinkType.NEAR_DUPLICATE_OF})


@frozen(kw_only=True)
class Neighbourhood:
    """A part of the graph of a scope.

    `memories` are those whose links were all read, by id; `weights` are those of their links, also
    to memories further out. `twins` are pairs of which one is a near-duplicate of the other, or has
    the same text.
    `topics` are the ids of topic summaries by the ids of their sources here.
    """

    memories: Mapping[str, Memory]
    weights: Weights
    twins: frozenset[Edge]
    topics: Mapping[str, frozenset[str]]


def read_neighbourhood(
    view: CycleView, begin: Iterable[str], links: Sequence[Link]
) -> Neighbourhood:
    """Return what is at most three steps from the ids `begin`, of at most 600 memories.

    `links` are about to be stored, and count as if they were.
    """
    planned = _by_end(links)
    memories: dict[str, Memory] = {}
    read: set[str] = set()
    found: list[Link] = []
    level = list(dict.fromkeys(begin))
    for _ in range(_HOPS + 1):
        level = level[: _MOST_READ - len(read)]
        read.update(level)
        usable = {
            memory_id: memory
            for memory_id, memory in load_memories(view.services, level).items()
            if _may_belong(view, memory)
        }
        if not usable or view.context.stop():
            break
        memories |= usable
        stored = view.services.storage.links(list(usable))
        near = [*stored, *chain.from_iterable(planned.get(each, ()) for each in usable)]
        found += near
        level = [each for each in _ends_of(near) if each not in read]
    return _describe(memories, found, unusable=frozenset(read.difference(memories)))


def _may_belong(view: CycleView, memory: Memory) -> bool:
    is_source = not memory.is_dreamed and memory.kind is not Kind.ATTACHMENT
    return is_source and view.may_use(memory)


def _ends_of(links: Iterable[Link]) -> list[str]:
    """Return the ends of the links of a cluster, those of the strongest links first."""
    strongest = sorted(links, key=lambda link: (-link.weight, link.key))
    joining = (link for link in strongest if link.type in _TYPES)
    return list(dict.fromkeys(end for link in joining for end in (link.source, link.target)))


def _pair_equal_texts(memories: Iterable[Memory]) -> Iterator[Edge]:
    """Yield each memory with another that has the same text, so that they are all connected."""
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for memory in memories:
        ids[canonicalize(memory.text).casefold()].append(memory.id)
    for same in ids.values():
        yield from pairwise(sorted(same))


def _by_end(links: Iterable[Link]) -> Mapping[str, list[Link]]:
    by_end: defaultdict[str, list[Link]] = defaultdict(list)
    for link in links:
        by_end[link.source].append(link)
        by_end[link.target].append(link)
    return by_end


def _describe(
    memories: Mapping[str, Memory], links: Iterable[Link], *, unusable: frozenset[str]
) -> Neighbourhood:
    weights: dict[Edge, float] = {}
    twins = set(_pair_equal_texts(memories.values()))
    topics: defaultdict[str, set[str]] = defaultdict(set)
    for link in links:
        edge = (min(link.source, link.target), max(link.source, link.target))
        if link.type in _TYPES and unusable.isdisjoint(edge):
            weights[edge] = max(weights.get(edge, 0.0), link.weight)
        if link.type is LinkType.NEAR_DUPLICATE_OF:
            twins.add(edge)
        if link.type is LinkType.DERIVED_FROM and link.target in memories:
            topics[link.source].add(link.target)
    return Neighbourhood(
        memories=memories,
        weights=weights,
        twins=frozenset(twins),
        topics={topic: frozenset(sources) for topic, sources in topics.items()},
    )
