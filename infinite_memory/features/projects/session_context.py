"""The briefing of an assistant that begins to work on a repository."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from pathlib import PurePosixPath

from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.memory import Kind, shorten
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.scope import find_spelling, fold_name
from infinite_memory.engine.id_endings import shorten_ids
from infinite_memory.engine.services import Services
from infinite_memory.features.overviews.briefing import brief
from infinite_memory.features.overviews.choosing import Additions
from infinite_memory.features.overviews.values import Briefing, BriefingPart
from infinite_memory.features.projects.chunk import CHUNK_KINDS, Chunk
from infinite_memory.features.projects.loading import find_conflicts, find_open, load_chunks
from infinite_memory.features.projects.patterns import Pattern, PatternKind, find_patterns
from infinite_memory.features.projects.repositories import name_repository
from infinite_memory.features.sessions.project_scope import existing_project_scope
from infinite_memory.features.sessions.scope_names import PREFIX

DEFAULT_DAYS = 14
"""How many days back the sessions of a briefing go."""

_CLUSTERED = 400
_TITLE_CHARS = 70
_MAX_OPEN, _MAX_SESSIONS, _MAX_PATTERNS = 8, 6, 3
_MAX_TITLES, _MAX_CONFLICTS = 4, 3
_MAX_TECHNOLOGIES = 5
# What stands in the headline is no sentence of somebody's.
_SUFFIX = re.compile(r"\.\w{1,12}")
_OPEN_DAYS = 90
_TOLD = CHUNK_KINDS - {Kind.DECISION, Kind.LESSON}


def build_session_context(
    services: Services, repository: str | None, *, recent_days: int, budget: int
) -> Briefing:
    """Return the briefing for a repository; see `Projects.build_session_context`.

    Raises:
        InvalidInput: a value cannot be used.
    """
    check_count(recent_days, "recent_days", low=1, high=3650)
    if repository is None:
        return brief_scope(services, None, budget=budget)
    name = name_repository(services, repository)
    scope = find_spelling(name, services.storage.scopes())
    # Nothing is stored of it yet: the user and the default scope are worth knowing all the same.
    return brief_scope(services, scope, budget=budget, recent_days=recent_days)


def brief_scope(
    services: Services,
    scope: str | None,
    *,
    budget: int,
    recent_days: int = DEFAULT_DAYS,
    folder: str = "",
) -> Briefing:
    """Return the briefing for a scope, with further parts if it is that of a repository.

    Without a scope it is for a session in `folder`: in the scope of its repository, if any.

    Raises:
        InvalidInput: the budget cannot be used.
        UnknownScope: there is no such scope.
    """
    return brief(
        services,
        existing_project_scope(services, folder) if scope is None else scope,
        budget=budget,
        add=lambda name: _make_additions(services, name, recent_days),
        folder=folder,
    )


def _make_additions(services: Services, scope: str, recent_days: int) -> Additions:
    chunks = load_chunks(services, {scope}) if fold_name(scope).startswith(PREFIX) else ()
    if not chunks:
        return Additions()
    now = services.clock()
    unfinished = find_open(services, chunks, now - timedelta(days=_OPEN_DAYS))[:_MAX_OPEN]
    sessions = group_sessions(chunks)
    since = now - timedelta(days=recent_days)
    recent = [group for group in sessions if group[0].happened_at >= since][:_MAX_SESSIONS]
    patterns = find_patterns(services, chunks[:_CLUSTERED], scope=scope).of(PatternKind.PROBLEM)
    in_play = [*unfinished, *(recent[0] if recent else ())]
    conflicts = find_conflicts(services, chunks)
    endings = shorten_ids(services, [other.id for _, other in conflicts])
    return Additions(
        headline=_write_headline(chunks, sessions),
        texts={
            BriefingPart.CONFLICTS: {
                later.id: _describe_conflict(later, earlier, endings[earlier.id])
                for later, earlier in conflicts[:_MAX_CONFLICTS]
            },
            BriefingPart.OPEN: {chunk.id: _describe_open(chunk) for chunk in unfinished},
            BriefingPart.SESSIONS: {group[0].id: _describe_session(group) for group in recent},
            BriefingPart.PATTERNS: {
                pattern.examples[0].id: _describe_pattern(pattern)
                for pattern in patterns[:_MAX_PATTERNS]
            },
        },
        told=_TOLD,
        first=_find_concerning(chunks, {file for chunk in in_play for file in chunk.files}),
    )


def group_sessions(chunks: Iterable[Chunk]) -> list[list[Chunk]]:
    """Return the chunks by session, both in order; chunks without a session are joined by day."""
    sessions: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        sessions.setdefault(chunk.session or f"{chunk.happened_at:%Y-%m-%d}", []).append(chunk)
    return list(sessions.values())


def count_technologies(chunks: Iterable[Chunk]) -> list[str]:
    """Return the kinds of files that were worked on, the most frequent first."""
    counts = Counter(
        suffix
        for chunk in chunks
        for suffix in {PurePosixPath(file).suffix.lower() for file in chunk.files}
        if _SUFFIX.fullmatch(suffix)
    )
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [suffix for suffix, _ in ranked[:_MAX_TECHNOLOGIES]]


def _write_headline(chunks: Sequence[Chunk], sessions: Sequence[Sequence[Chunk]]) -> str:
    last = chunks[0].happened_at.date().isoformat()
    worked = f"Worked on in {format_count(len(sessions), 'session')}, the last on {last}"
    technologies = count_technologies(chunks)
    return f"{worked}; files: {', '.join(technologies)}." if technologies else f"{worked}."


def _describe_open(chunk: Chunk) -> str:
    state = "unsolved" if chunk.outcome is None else chunk.outcome.value.replace("_", " ")
    subject = chunk.summary.rstrip("…")
    head, lines = chunk.summary, chunk.content.splitlines()
    if lines[0].startswith(subject):
        head, lines = lines[0], lines[1:]
    rest = [line for line in lines if subject not in line]
    return f"[{state}] {': '.join(filter(None, [head, ' '.join(rest)]))}"


def _describe_conflict(later: Chunk, earlier: Chunk, ending: str) -> str:
    return (
        f"{later.component}: {later.summary}; but on {earlier.happened_at:%Y-%m-%d}:"
        f" {earlier.summary} (id {ending})"
    )


def _describe_session(group: Sequence[Chunk]) -> str:
    titles = [chunk.summary for chunk in reversed(group)]
    more = len(titles) - _MAX_TITLES
    rest = f"; and {more} more" if more > 0 else ""
    return f"{'; '.join(shorten(title, _TITLE_CHARS) for title in titles[:_MAX_TITLES])}{rest}"


def _describe_pattern(pattern: Pattern) -> str:
    fix = "" if pattern.fix is None else f"; the last fix: {pattern.fix.summary}"
    return f"{pattern.count} times ({pattern.trend}): {pattern.name}{fix}"


def _find_concerning(chunks: Iterable[Chunk], files: Collection[str]) -> frozenset[str]:
    """Return the decisions and lessons on files in play."""
    return frozenset(
        chunk.id
        for chunk in chunks
        if chunk.kind in (Kind.DECISION, Kind.LESSON) and set(files) & set(chunk.files)
    )
