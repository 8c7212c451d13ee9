"""The relations of a memory: stored links, and relations that are computed when they are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import cached_property

from attrs import evolve

from infinite_memory.core.errors import NotFound
from infinite_memory.core.protocols import SupportsSimilar, Timeline
from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.scope import fold_name
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.recall_by_time import timeline_of
from infinite_memory.engine.services import Services
from infinite_memory.features.graph.values import PathStep, Relation
from infinite_memory.search.similarity import score_cosines

_MOST_LINKS = 50
_MOST_SIMILAR = 10
_COMPARED = 50
_TURNS = 3
_TURN_WEIGHT, _TURN_FADING = 0.6, 0.8
_WINDOW = 50
_CONTEXT_WEIGHTS = {Relation.PROJECT: 0.5, Relation.TOPIC: 0.5, Relation.LOCATION: 0.4}
_MOST_NEAR_IN_TIME = 5
_TIME_WEIGHT = 0.3
_HOUR = timedelta(hours=1)
_IN_TIME = frozenset({Relation.TIME, *_CONTEXT_WEIGHTS})


class Relations:
    """The relations of the memories that meet `criteria`, of the types wanted.

    The weights are: of a stored link its own, in both directions, the 50 strongest of a memory;
    `conversation` 0.6 · 0.8ⁿ⁻¹ for the n-th message before or after, three each; `project` and
    `topic` 0.5 and `location` 0.4 for the same value in the context, among the 50 memories before
    and after; `time` 0.3 · (1 - hours between), the five before and after within an hour; and
    `meaning` the score by which a receipt names similar memories, from 0.37, the ten best. Only
    stored links lead to topic summaries.
    """

    def __init__(
        self, services: Services, criteria: Criteria, wanted: Collection[Relation]
    ) -> None:
        self._services = services
        self._criteria = criteria
        self._wanted = frozenset(wanted)
        self._memories: dict[str, Memory] = {}

    def load(self, ids: Iterable[str]) -> dict[str, Memory]:
        """Return by id the memories that meet the criteria and that a search may find."""
        asked = list(dict.fromkeys(ids))
        unread = [memory_id for memory_id in asked if memory_id not in self._memories]
        if unread:
            self._memories |= load_memories(self._services, unread)
        return {
            memory_id: memory
            for memory_id in asked
            if (memory := self._memories.get(memory_id)) is not None
            and self._criteria.admit(memory)
            and memory.is_indexed
        }

    def steps(self, memories: Collection[Memory]) -> Iterator[PathStep]:
        """Yield the steps from each of the memories, strongest relation or not."""
        linked = self._find_links({memory.id for memory in memories})
        for memory in memories:
            yield from linked.get(memory.id, ())
            if Relation.CONVERSATION in self._wanted and memory.conversation_id is not None:
                yield from self._find_turns(memory)
            if self._wanted & _IN_TIME:
                yield from self._find_around(memory)
            if Relation.MEANING in self._wanted:
                yield from self._find_similar(memory)

    def _find_links(self, ids: Collection[str]) -> Mapping[str, list[PathStep]]:
        if self._wanted.isdisjoint(map(Relation, _LINK_TYPES)):
            return {}
        steps: dict[str, list[PathStep]] = {memory_id: [] for memory_id in ids}
        links = self._services.storage.links(ids)
        for link in sorted(links, key=lambda link: (-link.weight, link.key)):
            if Relation(str(link.type)) not in self._wanted:
                continue
            for begin, end in ((link.source, link.target), (link.target, link.source)):
                if begin in steps and len(steps[begin]) < _MOST_LINKS:
                    steps[begin].append(_make_step(link, begin, end))
        return steps

    def _find_turns(self, memory: Memory) -> Iterator[PathStep]:
        criteria = evolve(self._told, conversation_id=memory.conversation_id)
        timeline = timeline_of(self._services, criteria)
        for word, newest_first in (("before", True), ("after", False)):
            for number, other in enumerate(_read_page(timeline, memory, _TURNS, newest_first), 1):
                yield PathStep(
                    source=memory.id,
                    target=other,
                    relation=Relation.CONVERSATION,
                    weight=_TURN_WEIGHT * _TURN_FADING ** (number - 1),
                    reason=f"{number} {word} in the same conversation",
                )

    @cached_property
    def _told(self) -> Criteria:
        # A topic summary would be similar to all that it quotes: links lead to it.
        return evolve(self._criteria, topic_summaries=False)

    @cached_property
    def _timeline(self) -> Timeline:
        return timeline_of(self._services, self._told)

    def _find_around(self, memory: Memory) -> Iterator[PathStep]:
        for newest_first in (True, False):
            window = self.load(_read_page(self._timeline, memory, _WINDOW, newest_first))
            for number, other in enumerate(window.values()):
                yield from self._compare_contexts(memory, other)
                if number < _MOST_NEAR_IN_TIME and Relation.TIME in self._wanted:
                    yield from _join_in_time(memory, other)

    def _compare_contexts(self, memory: Memory, other: Memory) -> Iterator[PathStep]:
        for relation, weight in _CONTEXT_WEIGHTS.items():
            value, same = memory.context.get(relation), other.context.get(relation)
            if relation not in self._wanted or not isinstance(value, str):
                continue
            if isinstance(same, str) and value.strip() and fold_name(value) == fold_name(same):
                yield PathStep(
                    source=memory.id,
                    target=other.id,
                    relation=relation,
                    weight=weight,
                    reason=f"the same {relation}, {value:.60}",
                )

    def _find_similar(self, memory: Memory) -> Iterator[PathStep]:
        model = self._services.models.answering()
        index, criteria = model.index, self._told
        if isinstance(index, SupportsSimilar):
            similar = index.find_similar(
                memory.id, memory.text, criteria, ignored=(), limit=_MOST_SIMILAR
            )
        else:
            try:
                nearest = index.nearest(memory.id, criteria, limit=_COMPARED)
            except NotFound:
                return  # erased meanwhile
            similar = score_cosines(nearest, background=model.embedder.background)
        for other, score in similar[:_MOST_SIMILAR]:
            yield PathStep(
                source=memory.id,
                target=other,
                relation=Relation.MEANING,
                weight=score,
                reason=f"similar, with a score of {score:.2f}",
            )


_LINK_TYPES = (
    Relation.SEMANTIC,
    Relation.TEMPORAL,
    Relation.CONTEXT,
    Relation.INTENT,
    Relation.DERIVED_FROM,
    Relation.SUPERSEDES,
    Relation.NEAR_DUPLICATE_OF,
)


def _make_step(link: Link, begin: str, end: str) -> PathStep:
    way = "to" if begin == link.source else "from"
    reason = f": {link.reason}" if link.reason else ""
    return PathStep(
        source=begin,
        target=end,
        relation=Relation(str(link.type)),
        weight=link.weight,
        reason=f"{link.type} link {way} it{reason}",
    )


def _join_in_time(memory: Memory, other: Memory) -> Iterator[PathStep]:
    gap = abs(other.happened_at - memory.happened_at)
    if gap >= _HOUR:
        return
    minutes = round(gap.total_seconds() / 60)
    word = "earlier" if other.happened_at < memory.happened_at else "later"
    yield PathStep(
        source=memory.id,
        target=other.id,
        relation=Relation.TIME,
        weight=_TIME_WEIGHT * (1 - gap / _HOUR),
        reason=f"{minutes} minutes {word}" if minutes else "at the same time",
    )


def _read_page(timeline: Timeline, memory: Memory, limit: int, newest_first: bool) -> list[str]:
    position = (to_micros(memory.happened_at), memory.id)
    return [other for _, other in timeline.page(position, limit, newest_first=newest_first)]
