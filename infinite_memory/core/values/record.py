"""The records that a storage keeps, and the results of reading them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import cmp_using, field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Memory, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from infinite_memory.core.values.time_range import Reading


def _compare_arrays(first: NDArray[np.number], second: NDArray[np.number]) -> bool:
    return first.shape == second.shape and bool((first == second).all())


# 127 * 256 + 127; the upper byte of a greater number of steps, rounded, would be 128.
_MOST_STEPS = 32_639
# A vector with a smaller step counts as 0, because float32 could not represent its components.
_LEAST_STEP = 1e-34


def to_steps(vectors: NDArray[np.floating]) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Round finite vectors, shape (v, dimensions), to whole steps: int16, of the same shape.

    The second value has the length of a step of every vector, float32, shape (v,). To round again
    gives the same steps of the same length. A vector does not depend on the rest of the batch.
    """
    vectors = vectors.astype("float32", copy=False)
    step: NDArray[np.float32] = abs(vectors).max(axis=1, initial=0)
    step /= _MOST_STEPS
    step[step < _LEAST_STEP] = 1
    return (vectors / step[:, None]).round().astype("int16"), step


def from_steps(steps: NDArray[np.int16], step: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors of the two values of `to_steps`, float32."""
    return steps * step[:, None]


@frozen(kw_only=True)
class Embedding:
    """The passages of one text and their vectors, made by one model.

    `spans` are half-open character ranges of the text, shape (passages, 2), int32; `vectors` are
    unit vectors, shape (passages, dimensions), float32. `model` is a line of text. An embedding
    without passages means that the model could not embed the text, which only its words find.
    """

    model: str
    spans: NDArray[np.int32] = field(eq=cmp_using(eq=_compare_arrays))
    vectors: NDArray[np.float32] = field(eq=cmp_using(eq=_compare_arrays))


@frozen(kw_only=True)
class Record:
    """A stored memory with its embeddings, one for each requested model, ordered by model."""

    memory: Memory
    embeddings: tuple[Embedding, ...] = ()

    def embedding_by(self, model: str) -> Embedding | None:
        """Return the embedding that `model` made, None if there is none."""
        return next((embedding for embedding in self.embeddings if embedding.model == model), None)


@frozen(kw_only=True)
class Change:
    """The latest state of a memory: its record, or None if it was erased."""

    id: str
    record: Record | None


@frozen(kw_only=True)
class Changes:
    """A part of the change feed, oldest first, and the cursor from which to continue."""

    items: tuple[Change, ...]
    cursor: int


@frozen(kw_only=True)
class Page(PlainData):
    """Memories, newest first, and the cursor of the next page, None at the end.

    `when` is the reading of the words of time, None without them. The page itself can be iterated
    over, as hits can.
    """

    memories: tuple[Memory, ...]
    next: str | None
    when: Reading | None = None

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)


@frozen(kw_only=True)
class Size:
    """The number of records in a storage.

    `memories` counts by (scope, kind, status); `embedded` counts embedded memories by model,
    without forgotten memories; `revisions` counts replaced revisions; `entries` counts entries of
    the journal; `oldest` and `newest` are the bounds of `happened_at`.
    """

    memories: dict[tuple[str, str, str], int]
    revisions: int
    links: int
    entries: int
    embedded: dict[str, int]
    size_bytes: int
    oldest: datetime | None
    newest: datetime | None

    def count_by_scope(self, scopes: Iterable[str]) -> dict[str, int]:
        """Return how many memories each of the `scopes` has, by name, without forgotten ones."""
        counts = Counter(dict.fromkeys(scopes, 0))
        for (scope, _, status), count in self.memories.items():
            if status != Status.FORGOTTEN:
                counts[scope] += count
        return dict(sorted(counts.items()))


def _check_activation(value: object) -> float:
    # Within the largest float, so that an integer beyond it, infinity and nan are refused too.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"activation must be a number, not {value!r:.100}")
    if 0 <= value <= sys.float_info.max:
        return abs(float(value))
    raise InvalidInput(f"activation {value!r:.100} cannot be used: give a finite number from 0 on")


@frozen(kw_only=True)
class Usage(PlainData):
    """How often a memory was recalled, and how much searches of a conversation activated it.

    `count` and `last` are the recalls by a person or their assistant, `last` None if there were
    none. `activation` is a finite number from 0 on, the sum of what searches have added, and
    `activated_at` the moment of the last that did, None if none did. An activation is no recall: to
    add one alone, give the count 0 and no `last`.

    To use a memory is no revision of it: this is kept beside it, and is no part of its history.

    Raises:
        InvalidInput: recalls without `last`, an activation without `activated_at`, or an activation
            that is negative or not finite.
    """

    count: int
    last: datetime | None = None
    activation: float = field(default=0.0, converter=_check_activation)
    activated_at: datetime | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse numbers without their moment, which no storage could keep."""
        if self.count and self.last is None:
            raise InvalidInput(f"count {self.count!r} has no moment: give last, the last recall")
        if self.activation and self.activated_at is None:
            raise InvalidInput(f"activation {self.activation} has no moment: give activated_at")

    @property
    def is_empty(self) -> bool:
        """Whether there was neither a recall nor an activation."""
        return self.last is None and self.activated_at is None

    def plus(self, other: Usage) -> Usage:
        """Return both together: the sums, of activations at most the largest float."""
        return Usage(
            count=self.count + other.count,
            last=_choose_latest(self.last, other.last),
            activation=min(self.activation + other.activation, sys.float_info.max),
            activated_at=_choose_latest(self.activated_at, other.activated_at),
        )


def _choose_latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((moment for moment in (one, other) if moment is not None), default=None)
