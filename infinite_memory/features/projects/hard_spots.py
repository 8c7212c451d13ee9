"""Hard spots: the files and components where work failed, was complex or took longest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.features.projects.chunk import Chunk, Difficulty, WorkOutcome

_MOST = 15
_NOT_DONE = (WorkOutcome.FAILED, WorkOutcome.ABANDONED)


@frozen(kw_only=True)
class HardSpot(PlainData):
    """A file or a component that was hard to work on.

    Of its `chunks`, `failed` failed or were abandoned, and `complex` were complex. `minutes` are
    those of all its chunks; a chunk of several files counts in full for every file, so that the
    minutes of files do not add up to the time spent.

    `score` in [0, 1] is the mean of three shares: failed, complex and minutes, each divided by the
    largest of its kind among the files, or among the components.
    """

    name: str
    scope: str
    chunks: int
    failed: int
    complex: int
    minutes: float
    score: float


def hard_files(chunks: Iterable[Chunk]) -> tuple[HardSpot, ...]:
    """Return the hardest files, 15 at most, the highest score first."""
    groups: dict[tuple[str, str], list[Chunk]] = {}
    for chunk in chunks:
        for file in dict.fromkeys(chunk.files):
            groups.setdefault((chunk.scope, file), []).append(chunk)
    return _rank_spots(groups)


def hard_components(chunks: Iterable[Chunk]) -> tuple[HardSpot, ...]:
    """Return the hardest components, 15 at most, the highest score first."""
    groups: dict[tuple[str, str], list[Chunk]] = {}
    for chunk in chunks:
        if chunk.component is not None:
            groups.setdefault((chunk.scope, chunk.component), []).append(chunk)
    return _rank_spots(groups)


def _rank_spots(groups: Mapping[tuple[str, str], Sequence[Chunk]]) -> tuple[HardSpot, ...]:
    counted = {place: _count_group(group) for place, group in groups.items()}
    largest = [max((numbers[i] for numbers in counted.values()), default=0) for i in range(3)]
    spots = []
    for (scope, name), (failed, hard, minutes) in counted.items():
        shares = zip((failed, hard, minutes), largest, strict=True)
        score = sum(number / most for number, most in shares if most) / len(largest)
        if score:
            spots.append(
                HardSpot(
                    name=name,
                    scope=scope,
                    chunks=len(groups[scope, name]),
                    failed=int(failed),
                    complex=int(hard),
                    minutes=minutes,
                    score=round(score, 4),
                )
            )
    spots.sort(key=lambda spot: (-spot.score, -spot.chunks, spot.scope, spot.name))
    return tuple(spots[:_MOST])


def _count_group(group: Iterable[Chunk]) -> tuple[float, float, float]:
    """Return how many chunks were not done, how many were complex, and their minutes."""
    listed = list(group)
    return (
        sum(chunk.outcome in _NOT_DONE for chunk in listed),
        sum(chunk.difficulty is Difficulty.COMPLEX for chunk in listed),
        round(sum(chunk.minutes or 0 for chunk in listed), 2),
    )
