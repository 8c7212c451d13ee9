"""The groups of memories that want a topic summary, or whose summary is to be written anew."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise

from attrs import evolve, frozen

from infinite_memory.core.errors import NotFound, StoreDamaged
from infinite_memory.core.protocols import SupportsSimilar
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.features.background.dreamer.topics.clustering import (
    FEWEST_MEMBERS,
    MOST_MEMBERS,
    Cluster,
    Edge,
    Weights,
    count_distinct,
    find_clusters,
    is_tight,
)
from infinite_memory.features.background.dreamer.topics.known import (
    KnownTopics,
    read_known,
    read_page,
)
from infinite_memory.features.background.dreamer.topics.material import (
    MOST_LEVELS,
    TopicMaterial,
    digest_of,
    level_of,
    load_material,
)
from infinite_memory.features.background.dreamer.view import CycleView
from infinite_memory.search.similarity import score_cosines
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.canonical import canonicalize

_log = logging.getLogger(__name__)
_MOST_BEGUN = 100
_MOST_COMPARED = 100
_MOST_FOUND = 20
# A topic summary is written again when a fifth of its sources is new.
_LEAST_GROWTH = 5


_HOPS = 3
_MOST_READ = 600
_TYPES = frozenset({LinkType.SEMANTIC, LinkType.NEAR_DUPLICATE_OF})


_MOST_SIMILAR = 5
_COMPARED = 50
_LEAST_SCORE = 0.5


def weigh_similar(view: CycleView, topics: Sequence[Memory]) -> Weights:
    """Return the scores of the pairs of topic summaries that are among each other's nearest.

    The score is that of `receipt.similar`, of their vectors and of the words in common, from 0.5.
    Their titles have a word in common: what a model takes for similar in a language that it was not
    made for is not enough.
    """
    words = {topic.id: _list_words(topic.title or "") for topic in topics}
    near: dict[Edge, list[float]] = {}
    for topic in topics:
        if view.is_over():
            break
        for other, score in _find_similar(view, topic):
            has_word = not words[topic.id].isdisjoint(words.get(other, ()))
            if has_word and score >= _LEAST_SCORE:
                edge = (min(topic.id, other), max(topic.id, other))
                near.setdefault(edge, []).append(score)
    return {edge: min(scores) for edge, scores in near.items() if len(scores) > 1}


def _find_similar(view: CycleView, topic: Memory) -> list[tuple[str, float]]:
    model = view.services.models.answering()
    criteria = evolve(view.criteria, kinds=frozenset({Kind.SUMMARY}))
    if isinstance(model.index, SupportsSimilar):
        return model.index.find_similar(
            topic.id, topic.text, criteria, ignored=(), limit=_MOST_SIMILAR
        )
    try:
        nearest = model.index.nearest(topic.id, criteria, limit=_COMPARED)
    except NotFound:
        return []  # erased meanwhile
    return score_cosines(nearest, background=model.embedder.background)[:_MOST_SIMILAR]


def _list_words(title: str) -> frozenset[str]:
    """Return the terms of a title, without single characters of Chinese."""
    return frozenset(term for term in terms(title) if len(term) > 1)


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
    planned = _group_by_end(links)
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
        level = [each for each in _list_ends(near) if each not in read]
    return _describe_neighbourhood(memories, found, unusable=frozenset(read.difference(memories)))


def _may_belong(view: CycleView, memory: Memory) -> bool:
    is_source = not memory.is_dreamed and memory.kind is not Kind.ATTACHMENT
    return is_source and view.may_use(memory)


def _list_ends(links: Iterable[Link]) -> list[str]:
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


def _group_by_end(links: Iterable[Link]) -> Mapping[str, list[Link]]:
    by_end: defaultdict[str, list[Link]] = defaultdict(list)
    for link in links:
        by_end[link.source].append(link)
        by_end[link.target].append(link)
    return by_end


def _describe_neighbourhood(
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


@frozen(kw_only=True)
class Group:
    """Memories or topic summaries of a scope that want a summary.

    `present` is the topic summary that it revises, None for a new one. With fewer than three
    members left, it is archived instead. `absorbed` are others whose sources are all in it.
    """

    material: TopicMaterial
    present: Memory | None = None
    absorbed: tuple[Memory, ...] = ()

    @property
    def members(self) -> tuple[Memory, ...]:
        """The memories or topic summaries, in the order of time."""
        return self.material.sources

    @property
    def level(self) -> int:
        """The level of the summary: 1 for memories, 2 or 3 for topic summaries."""
        return self.material.level if self.present is None else level_of(self.present)

    @property
    def summary_id(self) -> str:
        """The id of the summary."""
        return self.material.summary_id if self.present is None else self.present.id

    @property
    def is_spent(self) -> bool:
        """Whether too little is left for a summary."""
        return len(self.members) < FEWEST_MEMBERS


def find_groups(view: CycleView, links: Sequence[Link] = ()) -> list[Group]:
    """Return at most twenty groups that want a summary now, without writing anything.

    `links` are about to be stored. Groups that are spent are left out.
    """
    found = (group for group in GroupSearch(view, links).groups() if not group.is_spent)
    return list(islice(found, _MOST_FOUND))


class GroupSearch:
    """Finds the groups near the memories that a cycle linked, and near the next ones in turn.

    `looked_at` counts the clusters and topic summaries looked at; `notes` say where the next cycle
    goes on.
    """

    def __init__(self, view: CycleView, links: Sequence[Link]) -> None:
        """Read a bounded part of the graph; `links` are about to be stored."""
        self._view = view
        self._seed = view.random.getrandbits(32)
        begun, notes = read_page(view, "clusters", view.criteria, limit=_MOST_BEGUN)
        ends = (end for link in links for end in (link.source, link.target))
        begin = [*ends, *(memory.id for memory in begun)]
        self._around: Neighbourhood = read_neighbourhood(view, begin, links)
        self._known: KnownTopics = read_known(view, self._around.topics)
        self._clusters = find_clusters(self._around.weights, self._around.memories, seed=self._seed)
        self._taken: set[str] = set()
        self.looked_at = len(self._clusters) + len(self._known.looked_at)
        self.notes: Mapping[str, str] = {**notes, **self._known.notes}

    def groups(self) -> Iterator[Group]:
        """Yield the groups: outdated summaries, then clusters, then clusters of summaries.

        Whoever stops early leaves the rest to a later cycle. No summary is in two groups: what
        rests on a summary that is yielded waits for the next cycle. Nothing is yielded whose
        summary somebody has forgotten, revised or undone.
        """
        for found in (self._find_outdated, self._find_changed, self._find_higher):
            for group in found():
                self._taken.add(group.summary_id)
                self._taken.update(topic.id for topic in group.absorbed)
                yield group

    def _find_outdated(self) -> Iterator[Group]:
        """Yield the topic summaries whose sources or leaves changed, the lowest level first."""
        for topic in sorted(
            self._known.topics.values(), key=lambda topic: (level_of(topic), topic.id)
        ):
            if topic.status is not Status.CURRENT or not self._taken.isdisjoint(topic.sources):
                continue
            if self._view.is_over():
                return
            material = load_material(self._view, topic.sources)
            if material.digest != digest_of(topic) and self._known.may_rewrite(topic):
                yield Group(material=material, present=topic)

    def _find_changed(self) -> Iterator[Group]:
        """Yield the clusters of memories that have no topic summary, or an old one."""
        around = self._around
        for cluster in self._clusters:
            if count_distinct(cluster.members, around.twins) >= FEWEST_MEMBERS:
                yield from self._match_cluster(
                    cluster, around.weights, frozenset(around.memories), level=1
                )

    def _find_higher(self) -> Iterator[Group]:
        """Yield the clusters of topic summaries of one level."""
        for level in range(1, MOST_LEVELS):
            topics = [
                topic
                for topic in self._known.topics.values()
                if level_of(topic) == level
                and topic.status is Status.CURRENT
                and topic.id not in self._taken
            ][:_MOST_COMPARED]
            if len(topics) < FEWEST_MEMBERS or self._view.is_over():
                return
            weights = weigh_similar(self._view, topics)
            ids = frozenset(topic.id for topic in topics)
            for cluster in find_clusters(weights, ids, seed=self._seed):
                yield from self._match_cluster(cluster, weights, ids, level=level + 1)

    def _match_cluster(
        self, cluster: Cluster, weights: Weights, looked_at: frozenset[str], *, level: int
    ) -> Iterator[Group]:
        """Yield the group of a cluster, if it has no summary or has outgrown it."""
        same = self._known.find_same(cluster.members, level)
        if not same:
            material = load_material(self._view, cluster.members)
            if material.level == level and is_free(self._view, material.summary_id):
                yield Group(material=material)
            return
        present = same[0]
        sources = _merge_sources(present, cluster.members, weights, looked_at)
        is_enough = present.status is Status.CURRENT and not _has_grown(present, sources)
        if is_enough or present.id in self._taken or not self._known.may_rewrite(present):
            return
        absorbed = [
            topic
            for topic in same[1:]
            if topic.status is Status.CURRENT
            and sources.issuperset(topic.sources)
            and topic.id not in self._taken
            and self._known.may_rewrite(topic)
        ]
        material = load_material(self._view, sources)
        yield Group(material=material, present=present, absorbed=tuple(absorbed))


def _merge_sources(
    present: Memory, members: frozenset[str], weights: Weights, looked_at: frozenset[str]
) -> frozenset[str]:
    """Return the sources of a summary that is written anew for a cluster.

    An earlier source leaves if the cycle looked at it, and it is linked to no member any more or
    would make the group loose.
    """
    earlier = frozenset(present.sources)
    unread = earlier - looked_at
    linked = frozenset(end for edge in weights if not members.isdisjoint(edge) for end in edge)
    tight = members | (earlier & linked)
    kept = (tight if is_tight(weights, tight & looked_at) else members) | unread
    return kept if len(kept) <= MOST_MEMBERS else members


def _has_grown(present: Memory, sources: frozenset[str]) -> bool:
    added = len(sources.difference(present.sources))
    return added > 0 and _LEAST_GROWTH * added >= len(present.sources)


def is_free(view: CycleView, summary_id: str) -> bool:
    """Return whether there is no memory with an id, and none that was erased for good."""
    storage = view.services.storage
    try:
        return not storage.get([summary_id], models=()) and not storage.erased([summary_id])
    except StoreDamaged as error:
        _log.error("%s", error)
        return False
