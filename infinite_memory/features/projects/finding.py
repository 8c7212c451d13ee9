"""Find earlier work: similar problems, and what is related to the present task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from attrs import evolve, field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.checks import check_count, check_labels
from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.memory import Kind
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.search import find_hits
from infinite_memory.engine.retrieval.search_request import SearchRequest
from infinite_memory.engine.scopes import ALL
from infinite_memory.engine.services import Services
from infinite_memory.features.projects.checkout import (
    Checkout,
    Freshness,
    compare_files,
    open_checkout,
    relative_path,
)
from infinite_memory.features.projects.chunk import CHUNK_KINDS, Chunk, chunk_of
from infinite_memory.features.projects.loading import KEPT, find_open, load_chunks, load_thread
from infinite_memory.features.projects.repositories import known_repository

PROBLEM_KINDS = frozenset({Kind.PROBLEM, Kind.SOLUTION, Kind.LESSON, Kind.CODE_CHANGE})
"""Where problems are told; a fix that a session made without a failing command is a change."""

_CANDIDATES = 100
_SHARED_FILES = 0.15
_OPEN_SINCE = timedelta(days=365)
_HALF_LIFE = timedelta(days=90)
_MAX_LIMIT = 100
_OPEN_SHOWN, _DECISIONS_SHOWN = 3, 3


@frozen(kw_only=True)
class WorkMatch(PlainData):
    """A chunk that a search found; `score` in [0, 1] is that of the search, with its nudges.

    `thread` is how the work went, in the order of time: the problem, its investigation and its
    solution, with the chunk itself; empty if there is no more than the chunk. `freshness` says
    whether its files are as they were, None without a checkout or without files. `reason` says why
    it is suggested.
    """

    chunk: Chunk
    score: float
    thread: tuple[Chunk, ...] = ()
    freshness: Freshness | None = None
    reason: str = ""


@frozen(kw_only=True)
class RelatedWork(PlainData):
    """Work that is related to a task: unfinished, decided, or similar, each with a reason."""

    scope: str
    matches: tuple[WorkMatch, ...]


@frozen(kw_only=True)
class ProblemQuery:
    """A question for similar problems.

    `recency` in [0, 1] is how much the age counts: with 1, a chunk of 90 days has half the score.
    `files` are those in play, and `folder` a checkout for the freshness.
    """

    text: str
    repository: str | None = None
    timeframe: str | None = None
    files: Sequence[str] = ()
    recency: float = 0.0
    min_score: float | None = None
    limit: int = 5
    folder: str | None = None
    kinds: Collection[Kind] = field(default=PROBLEM_KINDS)


def find_similar_problems(services: Services, query: ProblemQuery) -> tuple[WorkMatch, ...]:
    """Return the problems, solutions, lessons and changes that are most similar, best first.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: nothing is stored of the repository.
    """
    check_count(query.limit, "limit", low=1, high=_MAX_LIMIT)
    _check_share(query.recency, "recency")
    if query.min_score is not None:
        _check_share(query.min_score, "min_relevance_score")
    checkout = open_checkout(query.folder, services.data_folder)
    files = clean_files(query.files, checkout)
    now = services.clock()
    matches = [
        evolve(match, score=_nudge_score(match, files, query.recency, now))
        for match in find_matches(
            services,
            query.text,
            repository=query.repository,
            kinds=query.kinds,
            timeframe=query.timeframe,
        )
    ]
    matches.sort(key=lambda match: (-match.score, match.chunk.id))
    # Several best ones are in the order of their nudges, although no score is above 1.
    matches = [evolve(match, score=min(1.0, match.score)) for match in matches]
    if query.min_score is not None:
        matches = [match for match in matches if match.score >= query.min_score]
    return complete_matches(services, matches[: query.limit], checkout)


def find_matches(
    services: Services,
    text: str,
    *,
    repository: str | None,
    kinds: Collection[Kind] = CHUNK_KINDS,
    timeframe: str | None = None,
    limit: int = _CANDIDATES,
) -> list[WorkMatch]:
    """Return the chunks that answer a question, in one repository or in all that are open."""
    scope = ALL if repository is None else known_repository(services, repository)
    conditions: Conditions = {
        "scope": scope,
        "kinds": sorted(kinds),
        "statuses": sorted(KEPT),
        "when": timeframe,
    }
    request = SearchRequest(text=text, conditions=conditions, limit=limit, threshold=0.0)
    hits = find_hits(services, request)
    return [WorkMatch(chunk=chunk_of(hit.memory), score=hit.score) for hit in hits]


def complete_matches(
    services: Services, matches: Iterable[WorkMatch], checkout: Checkout | None
) -> tuple[WorkMatch, ...]:
    """Return the matches with their threads and the freshness of their files.

    The store notes that a caller was shown them, which is a recall.
    """
    completed = []
    for match in matches:
        thread = match.thread or load_thread(services, match.chunk)
        completed.append(
            evolve(
                match,
                thread=tuple(thread) if len(thread) > 1 else (),
                freshness=freshness_of(match.chunk, checkout),
            )
        )
    note_recalled(services, [match.chunk for match in completed])
    return tuple(completed)


def freshness_of(chunk: Chunk, checkout: Checkout | None) -> Freshness | None:
    """Return whether the files of a chunk are as they were, None if that cannot be told."""
    if checkout is None or not chunk.blobs or not checkout.is_of(chunk.scope):
        return None
    return compare_files(chunk.blobs, checkout)


def note_recalled(services: Services, chunks: Iterable[Chunk]) -> None:
    """Note that a caller was shown the chunks in answer to a question."""
    memories = load_memories(services, [chunk.id for chunk in chunks])
    services.note_returned(memories.values(), is_recall=True)


def suggest_related_work(
    services: Services,
    task: str,
    repository: str | None,
    *,
    files: Sequence[str] = (),
    limit: int = 8,
    folder: str | None = None,
) -> RelatedWork:
    """Return unfinished work on the same files, decisions on them, and what is similar.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: nothing is stored of the repository.
    """
    check_count(limit, "limit", low=1, high=_MAX_LIMIT)
    scope = known_repository(services, repository)
    checkout = open_checkout(folder, services.data_folder)
    in_play = clean_files(files, checkout)
    similar = find_matches(services, task, repository=scope)
    scores = {match.chunk.id: match.score for match in similar}
    suggested: dict[str, WorkMatch] = {}
    chunks = load_chunks(services, {scope})
    unfinished = find_open(services, chunks, services.clock() - _OPEN_SINCE)
    open_ids = {chunk.id for chunk in unfinished}
    for chunk, reason in _suggest_by_files(chunks, open_ids, in_play):
        score = scores.get(chunk.id, 0.0)
        suggested[chunk.id] = WorkMatch(chunk=chunk, score=score, reason=reason)
    for match in similar:
        reason = "unfinished and similar" if match.chunk.id in open_ids else "similar"
        suggested.setdefault(match.chunk.id, evolve(match, reason=reason))
    return RelatedWork(
        scope=scope,
        matches=complete_matches(services, list(suggested.values())[:limit], checkout),
    )


def _suggest_by_files(
    chunks: Sequence[Chunk], open_ids: Collection[str], files: Collection[str]
) -> Iterable[tuple[Chunk, str]]:
    touching = [(chunk, shared) for chunk in chunks if (shared := set(files) & set(chunk.files))]
    unfinished = [item for item in touching if item[0].id in open_ids][:_OPEN_SHOWN]
    rules = [item for item in touching if item[0].kind in (Kind.DECISION, Kind.LESSON)]
    for chunk, shared in unfinished:
        yield chunk, f"unfinished work on {_name_files(shared)}"
    for chunk, shared in rules[:_DECISIONS_SHOWN]:
        yield chunk, f"a {chunk.kind} on {_name_files(shared)}"


def _name_files(files: Iterable[str]) -> str:
    return ", ".join(sorted(files)[:3])


def clean_files(files: Sequence[str], checkout: Checkout | None) -> frozenset[str]:
    """Return paths within the repository.

    Raises:
        InvalidInput: a path cannot be used.
    """
    folder = None if checkout is None else checkout.folder
    given = check_labels(files, "files", max_chars=1024)
    return frozenset(relative_path(path, folder) for path in given)


def _nudge_score(match: WorkMatch, files: frozenset[str], recency: float, now: datetime) -> float:
    """Return the score, raised for files in play, perhaps above 1, and lowered by age."""
    chunk, score = match.chunk, match.score
    if files and chunk.files:
        shared = len(files & set(chunk.files)) / min(len(files), len(chunk.files))
        score += _SHARED_FILES * shared
    age = max(now - chunk.happened_at, timedelta(0))
    fading = 0.5 ** (age / _HALF_LIFE)
    return float(score * (1 - recency + recency * fading))


def _check_share(value: object, name: str) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:  # type: ignore[operator]
        raise InvalidInput(f"{name} {value!r:.100} cannot be used: give a number from 0 to 1")
