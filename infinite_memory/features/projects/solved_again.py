"""Known problems that were solved again: the time of the first solution beside the later times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.features.projects.chunk import Chunk
from infinite_memory.features.projects.patterns import name_problem
from infinite_memory.features.projects.recalls import session_of


@frozen(kw_only=True)
class SolvedAgain(PlainData):
    """A problem that was solved in a session, and again in later sessions.

    The chunks on the problem are taken by session, and the minutes of a session are the sum of
    theirs. `first_minutes` is the time up to the session that first solved it, with the sessions
    before that did not. `later_minutes` are the times of every later session that solved it, in the
    order of time, and `later_median` their median. Sessions whose chunks have no minutes are left
    out. `id` is the id of the first solution, and `summary` names the problem.
    """

    id: str
    summary: str
    scope: str
    first_minutes: float
    later_minutes: tuple[float, ...]
    later_median: float

    @property
    def is_faster(self) -> bool:
        """Whether the median of the later times is below the first time."""
        return self.later_median < self.first_minutes


def find_solved_again(clusters: Iterable[Sequence[Chunk]]) -> tuple[SolvedAgain, ...]:
    """Return the problems that were solved again, the most frequent first.

    `clusters` are the chunks on the same problem, as `cluster_problems` returns them.
    """
    found = [solved for cluster in clusters for solved in _find_solved_again(cluster)]
    return tuple(sorted(found, key=lambda each: (-len(each.later_minutes), each.id)))


def _find_solved_again(cluster: Sequence[Chunk]) -> Iterator[SolvedAgain]:
    sessions: dict[str, list[Chunk]] = {}
    for chunk in sorted(cluster, key=lambda each: (each.happened_at, each.id)):
        sessions.setdefault(session_of(chunk), []).append(chunk)
    until_solved = 0.0
    first: Chunk | None = None
    later: list[float] = []
    for session in sessions.values():
        timed = [chunk.minutes for chunk in session if chunk.minutes is not None]
        solutions = [chunk for chunk in session if chunk.is_solved]
        if first is None:
            until_solved += sum(timed)
            # Without its minutes there is nothing to compare the later times with.
            if solutions and not timed:
                return
            first = solutions[0] if solutions else None
        elif solutions and timed:
            later.append(round(sum(timed), 2))
    if first is not None and later:
        yield SolvedAgain(
            id=first.id,
            summary=name_problem(cluster),
            scope=first.scope,
            first_minutes=round(until_solved, 2),
            later_minutes=tuple(later),
            later_median=round(median(later), 2),
        )
