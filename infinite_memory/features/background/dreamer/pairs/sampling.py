"""Sample pairs of memories that may belong together, for a judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from attrs import evolve, field, frozen

from infinite_memory.core.errors import NotFound
from infinite_memory.core.protocols import SupportsNeighbors
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.dream.neighbor import Neighbor
from infinite_memory.core.values.dream.pair import Pair
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.features.background.dreamer.pairs.nearness import (
    NEAREST,
    Surroundings,
    make_pair,
)
from infinite_memory.features.background.dreamer.pairs.seeds import Seed, SeedScan, told_memories
from infinite_memory.features.background.dreamer.view import CycleView
from infinite_memory.search.text.question_terms import split_terms

MAX_PAIRS = 200
"""The most pairs of a cycle."""

_MOST_SURROUNDINGS = 300
_MOST_PARTNERS = 5
# A neighbor that stands out less is no partner, unless it is the nearest of all.
_LEAST_EVIDENCE = 1.75
_MOST_OLDER = 3
_MUCH_OLDER = timedelta(days=30)
# As many characters as `search.similarity` compares.
_MOST_CHARS = 10_000


@frozen(kw_only=True)
class Sampled:
    """The pairs of a cycle, at most `MAX_PAIRS`, and the notes for the next cycle."""

    pairs: tuple[Pair, ...] = ()
    notes: Mapping[str, str] = field(factory=dict)


def sample_pairs(view: CycleView) -> Sampled:
    """Return pairs of memories of the scope that may belong together, each pair once.

    Every seed of the cycle is paired with the memories that stand out among its nearest, by meaning
    or by words, and with the nearest of all; a recent seed also with the nearest that are at least
    30 days older; and seeds chosen at random with each other. The cycle compares at most 300
    memories with the scope, and ends when `view.is_over()`.
    """
    scan = SeedScan(view)
    sampler = _Sampler(view, len(scan.timeline.moments))
    waiting: Memory | None = None
    for seed in scan.seeds():
        if sampler.is_full():
            break
        sampler.pair_seed(seed)
        if seed.reason == "at random":
            if waiting is not None:
                sampler.add(waiting, seed.memory, "both at random")
            waiting = seed.memory if waiting is None else None
    return Sampled(pairs=tuple(sampler.pairs.values()), notes=scan.notes)


class _Sampler:
    """Collects the pairs of a cycle; the surroundings of a memory are measured once."""

    def __init__(self, view: CycleView, memories: int) -> None:
        self._view = view
        self._criteria = told_memories(view)
        self._number = memories
        self._model = view.services.models.answering()
        self._surroundings: dict[str, Surroundings] = {}
        self._terms: dict[str, frozenset[str]] = {}
        self.pairs: dict[frozenset[str], Pair] = {}

    def is_full(self) -> bool:
        """Return whether the cycle has looked at enough, or is over."""
        enough = len(self._surroundings) >= _MOST_SURROUNDINGS or len(self.pairs) >= MAX_PAIRS
        return enough or self._view.is_over()

    def pair_seed(self, seed: Seed) -> None:
        """Add the pairs of a seed."""
        surroundings = self._surround(seed.memory)
        for other in self._load(_partners_of(surroundings)):
            self.add(seed.memory, other, f"{seed.reason}, near")
        if seed.with_older:
            for other in self._older(seed.memory):
                self.add(seed.memory, other, "recent and old, near")

    def add(self, one: Memory, other: Memory, sampled: str) -> None:
        """Add the pair of two memories, unless it is there or the cycle is full."""
        key = frozenset({one.id, other.id})
        if len(key) < 2 or key in self.pairs or self.is_full():
            return
        self.pairs[key] = make_pair(
            self._surround(one),
            self._surround(other),
            shared_words=len(self._terms_of(one) & self._terms_of(other)),
            sampled=sampled,
        )

    def _surround(self, memory: Memory) -> Surroundings:
        known = self._surroundings.get(memory.id)
        if known is None:
            known = self._surroundings[memory.id] = Surroundings.of(
                memory,
                self._neighbors(memory, self._criteria, NEAREST),
                is_understood=self._model.embedder.understands(memory.text),
                background=self._model.embedder.background,
                memories=self._number,
            )
        return known

    def _neighbors(self, memory: Memory, criteria: Criteria, limit: int) -> list[Neighbor]:
        index = self._model.index
        if isinstance(index, SupportsNeighbors):
            return index.find_neighbors(memory.id, memory.text, criteria, limit=limit)
        try:
            nearest = index.nearest(memory.id, criteria, limit=limit)
        except NotFound:
            return []  # erased meanwhile
        return [Neighbor(id=i, cosine=cosine, words=0.0, score=0.0) for i, cosine in nearest]

    def _older(self, memory: Memory) -> Iterator[Memory]:
        """Yield the nearest memories that are much older, and add them to the surroundings."""
        older = evolve(self._criteria, until=memory.happened_at - _MUCH_OLDER)
        neighbors = self._neighbors(memory, older, _MOST_OLDER)
        surroundings = self._surround(memory)
        known = {neighbor.id: neighbor for neighbor in neighbors} | dict(surroundings.neighbors)
        self._surroundings[memory.id] = evolve(surroundings, neighbors=known)
        yield from self._load([neighbor.id for neighbor in neighbors[:_MOST_OLDER]])

    def _load(self, ids: Iterable[str]) -> list[Memory]:
        asked = list(ids)
        memories = load_memories(self._view.services, asked)
        found = (memories[memory_id] for memory_id in asked if memory_id in memories)
        return [m for m in found if self._view.may_use(m) and self._criteria.admit(m)]

    def _terms_of(self, memory: Memory) -> frozenset[str]:
        terms = self._terms.get(memory.id)
        if terms is None:
            terms = frozenset(split_terms(memory.text[:_MOST_CHARS])[0])
            self._terms[memory.id] = terms
        return terms


def _partners_of(surroundings: Surroundings) -> list[str]:
    """Return the ids of the neighbors that stand out most, at least the nearest."""
    ranked = sorted(
        (
            (surroundings.evidence_of(neighbor), neighbor.id)
            for neighbor in surroundings.neighbors.values()
        ),
        key=lambda pair: (-pair[0], pair[1]),
    )
    partners = [i for evidence, i in ranked[:_MOST_PARTNERS] if evidence >= _LEAST_EVIDENCE]
    return partners or [i for _, i in ranked[:1]]
