"""The groups of memories that want a topic summary, or whose summary is to be written anew."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from attrs import frozen

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.features.background.dreamer.topics.clustering import (
    FEWEST_MEMBERS,
    MOST_MEMBERS,
    Cluster,
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
from infinite_memory.features.background.dreamer.topics.neighbourhood import (
    Neighbourhood,
    read_neighbourhood,
)
from infinite_memory.features.background.dreamer.topics.similarity import weigh_similar
from infinite_memory.features.background.dreamer.view import CycleView

_log = logging.getLogger(__name__)
_MOST_BEGUN = 100
_MOST_COMPARED = 100
_MOST_FOUND = 20
# A topic summary is written again when a fifth of its sources is new.
_LEAST_GROWTH = 5


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
                yield from self._match(cluster, around.weights, frozenset(around.memories), level=1)

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
                yield from self._match(cluster, weights, ids, level=level + 1)

    def _match(
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
