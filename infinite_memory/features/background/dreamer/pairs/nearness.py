"""How near two memories are, measured by what is usual around each of them.

A cosine of 0.6 means little among messages of a chat, and much among notes of a household. So a
value is compared with the same values of the nearest memories: `Usual.excess` counts standard
deviations above their mean. The nearest quarter of the scope counts, from 20 to 50 memories, so
that neither the number of memories nor the language nor the model needs a parameter of its own.
Five memories or more that are clearly nearer than all others are a topic, and do not count as
usual: otherwise nothing would stand out in a topic of many memories.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from infinite_memory.core.values.dream.neighbor import Neighbor
from infinite_memory.core.values.dream.pair import Pair
from infinite_memory.core.values.memory import Memory

NEAREST = 50
"""The most memories that are compared with a memory to learn what is usual around it."""

_FEWEST = 20
_SHARE = 4
# Assumed further values: those of three memories say little. Unrelated memories have no words in
# common, and cosines near to the background of the model.
_ASSUMED = 5
_COSINE_DEVIATION = 0.1
_WORDS_DEVIATION = 0.02
# Below these a deviation is that of rounding, or of memories that hardly have a word in common.
_LEAST_COSINE_DEVIATION = 0.02
_LEAST_WORDS_DEVIATION = 0.01
# A topic: its size, as a number and as a share of the nearest memories, and by how many standard
# deviations of the others its last member exceeds their mean, and the next of them.
_TOPIC_SIZE, _TOPIC_SHARE = 5, 0.7
_TOPIC_EXCESS, _TOPIC_GAP = 4.0, 1.0
_WORDS_WEIGHT = 0.3
# Two memories are nearer to each other if both are this near to a third.
_STANDING_OUT = 2.5


@frozen(kw_only=True)
class Usual:
    """The mean and the standard deviation of a value among the nearest memories."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Iterable[float], *, mean: float, deviation: float, least: float) -> Usual:
        """Measure `values`, smoothed by five assumed values with `mean` and `deviation`.

        The result has at least the deviation `least`.
        """
        measured = tuple(values)
        total = len(measured) + _ASSUMED
        center = (sum(measured) + _ASSUMED * mean) / total
        squares = sum((value - center) ** 2 for value in measured)
        squares += _ASSUMED * (deviation**2 + (mean - center) ** 2)
        return cls(mean=center, deviation=max(least, math.sqrt(squares / total)))

    @classmethod
    def of_cosines(cls, cosines: Sequence[float], *, background: float) -> Usual:
        """Measure the cosines of the nearest memories, in descending order, beside their topic."""

        def measure(values: Sequence[float]) -> Usual:
            return cls.of(
                values,
                mean=background,
                deviation=_COSINE_DEVIATION,
                least=_LEAST_COSINE_DEVIATION,
            )

        for size in range(int(_TOPIC_SHARE * len(cosines)), _TOPIC_SIZE - 1, -1):
            usual, last, following = measure(cosines[size:]), cosines[size - 1], cosines[size]
            is_apart = last - following >= _TOPIC_GAP * usual.deviation
            if is_apart and usual.excess(last) >= _TOPIC_EXCESS:
                return usual
        return measure(cosines)

    def excess(self, value: float) -> float:
        """Return the number of standard deviations by which `value` exceeds the mean."""
        return (value - self.mean) / self.deviation


@frozen(kw_only=True)
class Surroundings:
    """A memory with the memories near to it, by id, and what is usual among them.

    `is_understood` says whether the embedding model was made for the language of the memory.
    """

    memory: Memory
    is_understood: bool
    neighbors: Mapping[str, Neighbor]
    cosines: Usual
    words: Usual

    @classmethod
    def of(
        cls,
        memory: Memory,
        neighbors: Iterable[Neighbor],
        *,
        is_understood: bool,
        background: float,
        memories: int,
    ) -> Surroundings:
        """Measure the surroundings of `memory` in a scope with `memories` memories.

        `background` is the cosine of unrelated texts by the model.
        """
        near = {neighbor.id: neighbor for neighbor in neighbors}
        number = min(max(_FEWEST, min(NEAREST, memories // _SHARE)), max(0, memories - 1))
        cosines = sorted((n.cosine for n in near.values() if n.cosine is not None), reverse=True)
        words = sorted((n.words for n in near.values()), reverse=True)[:number]
        words += [0.0] * (number - len(words))
        return cls(
            memory=memory,
            is_understood=is_understood,
            neighbors=near,
            cosines=Usual.of_cosines(cosines[:number], background=background),
            words=Usual.of(
                words, mean=0.0, deviation=_WORDS_DEVIATION, least=_LEAST_WORDS_DEVIATION
            ),
        )

    def evidence_of(self, neighbor: Neighbor) -> float:
        """Return how far a neighbor stands out, seen from this memory alone."""
        is_compared = self.is_understood and neighbor.cosine is not None
        meaning = self.cosines.excess(neighbor.cosine or 0.0) if is_compared else None
        return add_evidence(meaning, self.words.excess(neighbor.words))

    def standing_out(self) -> set[str]:
        """Return the ids of the neighbors that clearly stand out."""
        return {n.id for n in self.neighbors.values() if self.evidence_of(n) >= _STANDING_OUT}


def add_evidence(meaning: float | None, words: float) -> float:
    """Return the evidence of meaning and of words together, in standard deviations."""
    return words if meaning is None else meaning + _WORDS_WEIGHT * words


def make_pair(one: Surroundings, other: Surroundings, *, shared_words: int, sampled: str) -> Pair:
    """Return the pair of two memories, compared in both directions."""
    earlier, later = sorted(
        (one.memory, other.memory), key=lambda memory: (memory.happened_at, memory.id)
    )
    seen = one.neighbors.get(other.memory.id), other.neighbors.get(one.memory.id)
    known = [neighbor for neighbor in seen if neighbor is not None]
    cosine = next((n.cosine for n in known if n.cosine is not None), None)
    meaning = None
    if cosine is not None and one.is_understood and other.is_understood:
        meaning = min(one.cosines.excess(cosine), other.cosines.excess(cosine))
    words = 0.0
    if known:
        from_one, from_other = (neighbor or known[0] for neighbor in seen)
        words = min(one.words.excess(from_one.words), other.words.excess(from_other.words))
    return Pair(
        first=later,
        second=earlier,
        cosine=cosine,
        score=max((neighbor.score for neighbor in known), default=0.0),
        sampled=sampled,
        meaning=meaning,
        words=words,
        shared_words=shared_words,
        shared_neighbors=len(one.standing_out() & other.standing_out()),
    )
