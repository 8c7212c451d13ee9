"""Patterns in the work on a repository, with counts, examples and trend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import combinations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.memory import Kind, shorten
from infinite_memory.engine.load_memories import load_records
from infinite_memory.engine.retrieval.search_request import build_criteria
from infinite_memory.engine.scopes import ALL
from infinite_memory.engine.services import Services
from infinite_memory.features.projects.chunk import Chunk
from infinite_memory.features.projects.loading import load_chunks
from infinite_memory.features.projects.repositories import known_repository, list_repositories

_PROBLEMS = frozenset({Kind.PROBLEM, Kind.SOLUTION, Kind.LESSON})
_FEWEST = 2
_MAX_EXAMPLES = 3
_MAX_OF_KIND = 10
_NAME_CHARS = 120
_MOST_CLUSTERED = 1000
# A commit that touches more files than these says little about any two of them.
_MAX_FILES = 20
_SAME_PROBLEM = 0.72
_CHANGE = 1.5


class PatternKind(StrEnum):
    """What recurs: a problem, files that change together, a tool, or an outcome."""

    PROBLEM = "problem"
    FILES = "files"
    TOOL = "tool"
    OUTCOME = "outcome"


class Trend(StrEnum):
    """Whether something happens more often in the later half of the time than in the earlier."""

    RISING = "rising"
    STEADY = "steady"
    FALLING = "falling"


@frozen(kw_only=True)
class PatternExample(PlainData):
    """A chunk in which a pattern occurs."""

    id: str
    summary: str
    scope: str
    happened_at: datetime


@frozen(kw_only=True)
class Pattern(PlainData):
    """Something that recurs in `count` chunks; `examples` are the newest of them.

    `fix` is how the newest of a recurring problem was solved, None if it was not.
    """

    kind: PatternKind
    name: str
    count: int
    trend: Trend
    examples: tuple[PatternExample, ...]
    fix: PatternExample | None = None


@frozen(kw_only=True)
class Patterns(PlainData):
    """The patterns in `chunks` chunks, the most frequent of every kind first.

    `scope` is the repository, None for all that are open.
    """

    scope: str | None
    chunks: int
    patterns: tuple[Pattern, ...]

    def of(self, kind: PatternKind) -> tuple[Pattern, ...]:
        """Return the patterns of a kind."""
        return tuple([pattern for pattern in self.patterns if pattern.kind is kind])


def identify_patterns(
    services: Services, repository: str | None, timeframe: str | None = None
) -> Patterns:
    """Return the patterns in a repository, or in all open repositories.

    Raises:
        InvalidInput: the timeframe cannot be read.
        UnknownScope: nothing is stored of the repository.
    """
    scope = None if repository is None else known_repository(services, repository)
    scopes = list_repositories(services) if scope is None else [scope]
    conditions: Conditions = {"scope": scope or ALL, "when": timeframe}
    criteria = build_criteria(services, "", conditions)
    chunks = load_chunks(services, scopes, since=criteria.since, until=criteria.until)
    return find_patterns(services, chunks, scope=scope)


def find_patterns(
    services: Services,
    chunks: Sequence[Chunk],
    *,
    scope: str | None,
    clusters: Sequence[Sequence[Chunk]] | None = None,
) -> Patterns:
    """Return the patterns in the chunks, which come newest first.

    `clusters` are the groups of chunks on the same problem, if they are known.
    """
    if clusters is None:
        clusters = cluster_chunks(services, chunks)
    middle = _find_middle(chunks)
    patterns = [
        *_find_problem_patterns(clusters, middle),
        *_choose_top(PatternKind.FILES, _group_by_files(chunks), middle),
        *_choose_top(PatternKind.TOOL, _group_by_name(chunks, _list_tools), middle),
        *_choose_top(PatternKind.OUTCOME, _group_by_name(chunks, _list_outcomes), middle),
    ]
    return Patterns(scope=scope, chunks=len(chunks), patterns=tuple(patterns))


def cluster_chunks(services: Services, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return the problems, solutions and lessons on the same problem, in groups."""
    return cluster_problems(services, [chunk for chunk in chunks if chunk.kind in _PROBLEMS])


def cluster_problems(services: Services, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return groups of chunks on the same problem, of two and more, newest first in each.

    Two chunks of a repository are on the same problem if they have the same error, or if the cosine
    of their vectors with the oldest of the group is at least 0.72, without a chain of neighbours.
    """
    considered = list(reversed(chunks[:_MOST_CLUSTERED]))
    vectors = _load_vectors(services, considered)
    groups: list[list[Chunk]] = []
    by_error: dict[tuple[str, str], list[Chunk]] = {}
    leaders: dict[str, list[tuple[NDArray[np.float32], list[Chunk]]]] = {}
    for chunk in considered:
        error = (chunk.scope, chunk.parts.get("error", ""))
        vector = vectors.get(chunk.id)
        group = by_error.get(error) if error[1] else None
        if group is None and vector is not None:
            group = _find_nearest_group(leaders.get(chunk.scope, ()), vector)
        if group is None:
            group = []
            groups.append(group)
            if vector is not None:
                leaders.setdefault(chunk.scope, []).append((vector, group))
        if error[1]:
            by_error.setdefault(error, group)
        group.append(chunk)
    return [group[::-1] for group in groups if len(group) >= _FEWEST]


def _find_nearest_group(
    leaders: Sequence[tuple[NDArray[np.float32], list[Chunk]]], vector: NDArray[np.float32]
) -> list[Chunk] | None:
    if not leaders:
        return None
    cosines = np.stack([leader for leader, _ in leaders]) @ vector
    best = int(np.argmax(cosines))
    return leaders[best][1] if cosines[best] >= _SAME_PROBLEM else None


def _load_vectors(services: Services, chunks: Sequence[Chunk]) -> dict[str, NDArray[np.float32]]:
    """Return the vector of the first passage of every chunk that is embedded."""
    model = services.embedder.model
    records = load_records(services, [chunk.id for chunk in chunks], models=(model,))
    vectors = {}
    for memory_id, record in records.items():
        embedding = record.embedding_by(model)
        if embedding is not None and len(embedding.vectors):
            vectors[memory_id] = embedding.vectors[0]
    return vectors


def _find_problem_patterns(
    groups: Iterable[Sequence[Chunk]], middle: datetime | None
) -> Iterator[Pattern]:
    ranked = sorted(groups, key=lambda group: (-len(group), group[0].id))
    for group in ranked[:_MAX_OF_KIND]:
        solved = [chunk for chunk in group if chunk.is_solved]
        yield Pattern(
            kind=PatternKind.PROBLEM,
            name=name_problem(group),
            count=len(group),
            trend=_find_trend(group, middle),
            examples=_make_examples(group),
            fix=_make_example(solved[0]) if solved else None,
        )


def name_problem(group: Sequence[Chunk]) -> str:
    """Return the name of a problem in its newest chunk; the chunks come newest first."""
    for chunk in group:
        if chunk.kind is Kind.PROBLEM:
            return chunk.summary
        if "problem" in chunk.parts:
            return shorten(chunk.parts["problem"], _NAME_CHARS)
    return group[0].summary


def _group_by_files(chunks: Iterable[Chunk]) -> dict[str, list[Chunk]]:
    """Return the chunks by every two files that they changed together."""
    pairs: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        if 2 <= len(chunk.files) <= _MAX_FILES:
            for pair in combinations(sorted(set(chunk.files)), 2):
                pairs.setdefault(" + ".join(pair), []).append(chunk)
    return pairs


def _list_tools(chunk: Chunk) -> Iterable[str]:
    return chunk.tools


def _list_outcomes(chunk: Chunk) -> Iterable[str]:
    return () if chunk.outcome is None else (chunk.outcome.value,)


def _group_by_name(
    chunks: Iterable[Chunk], names_of: Callable[[Chunk], Iterable[str]]
) -> dict[str, list[Chunk]]:
    grouped: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        for name in dict.fromkeys(names_of(chunk)):
            grouped.setdefault(name, []).append(chunk)
    return grouped


def _choose_top(
    kind: PatternKind, groups: Mapping[str, Sequence[Chunk]], middle: datetime | None
) -> Iterator[Pattern]:
    counts = Counter({name: len(group) for name, group in groups.items()})
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MAX_OF_KIND]:
        if count >= _FEWEST:
            group = groups[name]
            yield Pattern(
                kind=kind,
                name=name,
                count=count,
                trend=_find_trend(group, middle),
                examples=_make_examples(group),
            )


def _find_middle(chunks: Sequence[Chunk]) -> datetime | None:
    """Return the middle of the time of the chunks, None if they have no length of time."""
    if not chunks or chunks[-1].happened_at == chunks[0].happened_at:
        return None
    first, last = chunks[-1].happened_at, chunks[0].happened_at
    return first + (last - first) / 2 + timedelta(microseconds=1)


def _find_trend(group: Sequence[Chunk], middle: datetime | None) -> Trend:
    if middle is None:
        return Trend.STEADY
    later = sum(chunk.happened_at >= middle for chunk in group)
    earlier = len(group) - later
    if later >= earlier + _FEWEST and later >= _CHANGE * earlier:
        return Trend.RISING
    if earlier >= later + _FEWEST and earlier >= _CHANGE * later:
        return Trend.FALLING
    return Trend.STEADY


def _make_examples(group: Sequence[Chunk]) -> tuple[PatternExample, ...]:
    return tuple([_make_example(chunk) for chunk in group[:_MAX_EXAMPLES]])


def _make_example(chunk: Chunk) -> PatternExample:
    return PatternExample(
        id=chunk.id, summary=chunk.summary, scope=chunk.scope, happened_at=chunk.happened_at
    )
