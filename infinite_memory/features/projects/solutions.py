"""Find how an error was solved before, wherever it happened."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.values.checks import check_count, check_text
from infinite_memory.core.values.memory import Kind
from infinite_memory.engine.services import Services
from infinite_memory.features.projects.checkout import open_checkout
from infinite_memory.features.projects.chunk import Chunk, WorkOutcome
from infinite_memory.features.projects.errors import ErrorSignature, find_error, rank_solutions
from infinite_memory.features.projects.finding import (
    PROBLEM_KINDS,
    WorkMatch,
    complete_matches,
    find_matches,
)
from infinite_memory.features.projects.loading import load_thread
from infinite_memory.features.projects.repositories import name_repository

_MAX_LIMIT = 100
_MAX_BYTES = 1 << 20
# Of the errors to tune on, the right solution has 0.41 and more, and the best wrong one 0.38 in the
# median (benchmarks/projects_errors.py): below this, a solution is of something else.
_LEAST = 0.3
# What was solved in the present repository is more likely to be the same problem.
_SAME_REPOSITORY = 0.05
_OPEN = "open: not solved so far"


def find_past_solutions(
    services: Services,
    error_message: str,
    *,
    context: str | None,
    repository: str | None,
    limit: int,
    folder: str | None,
) -> tuple[WorkMatch, ...]:
    """Return how the same error was solved before; see `Projects.find_past_solutions`.

    Raises:
        InvalidInput: a value cannot be used.
    """
    check_count(limit, "limit", low=1, high=_MAX_LIMIT)
    message = check_text(error_message, "error_message", max_bytes=_MAX_BYTES)
    own = None if repository is None else name_repository(services, repository)
    if own not in services.storage.scopes():
        own = None  # nothing is stored of it yet, and its errors may be known elsewhere
    signature = find_error(message)
    query = message[:2000] if signature is None else signature.text
    if context not in (None, ""):
        said = check_text(context, "context", max_bytes=_MAX_BYTES)
        query = f"{query}\n{said}"
    matches = find_matches(services, query, repository=None, kinds=PROBLEM_KINDS)
    if own is not None:
        known = {match.chunk.id for match in matches}
        matches += [
            match
            for match in find_matches(services, query, repository=own, kinds=PROBLEM_KINDS)
            if match.chunk.id not in known
        ]
    ranked = _rank_matches(signature, matches)
    if own is not None:
        ranked = [
            evolve(match, score=min(1.0, match.score + _SAME_REPOSITORY))
            if match.chunk.scope == own
            else match
            for match in ranked
        ]
        ranked.sort(key=lambda match: -match.score)
    likely = [match for match in ranked if match.score >= _LEAST]
    checkout = open_checkout(folder, services.data_folder)
    return complete_matches(services, _put_solved_first(services, likely, limit), checkout)


def _put_solved_first(
    services: Services, ranked: Sequence[WorkMatch], limit: int
) -> list[WorkMatch]:
    """Return the first `limit` matches, those that were solved before those that are open.

    What was not solved is no solution, but says that others stand before the same problem.
    """
    solved: list[WorkMatch] = []
    opened: list[WorkMatch] = []
    for match in ranked:
        thread = tuple(load_thread(services, match.chunk))
        known = evolve(match, thread=thread)
        if any(_solves(one) for one in thread if one.happened_at >= match.chunk.happened_at):
            solved.append(known)
        else:
            opened.append(evolve(known, reason=_OPEN))
        if len(solved) == limit:
            break
    return [*solved, *opened][:limit]


def _solves(chunk: Chunk) -> bool:
    is_done = chunk.kind is not Kind.PROBLEM and chunk.outcome is WorkOutcome.SUCCESS
    return chunk.is_solved or is_done


def _rank_matches(
    signature: ErrorSignature | None, matches: Sequence[WorkMatch]
) -> list[WorkMatch]:
    by_id = {match.chunk.id: match for match in matches}
    candidates = [
        (match.chunk.id, _find_signature(match.chunk), match.score) for match in by_id.values()
    ]
    ranked = rank_solutions(signature, candidates)
    return [evolve(by_id[chunk_id], score=round(score, 6)) for chunk_id, score in ranked]


def _find_signature(chunk: Chunk) -> ErrorSignature | None:
    """Return the signature of the error of a chunk: that which it was stored with, or its text."""
    return find_error(chunk.parts.get("error") or chunk.content)
