"""What enters a session unasked while it works: at a failed command, and before a file changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.memory import Kind
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.search import find_hits
from infinite_memory.engine.retrieval.search_request import SearchRequest
from infinite_memory.engine.retrieval.trust import may_be_pushed
from infinite_memory.engine.services import Services
from infinite_memory.features.overviews.sections import join_title
from infinite_memory.features.projects.checkout import Checkout, open_checkout
from infinite_memory.features.projects.chunk import Chunk, chunk_of
from infinite_memory.features.projects.errors import find_error, is_same_kind, rank_solutions
from infinite_memory.features.projects.errors.signature import rate_line
from infinite_memory.features.projects.finding import PROBLEM_KINDS
from infinite_memory.features.projects.loading import IN_FORCE, KEPT, find_open, load_chunks
from infinite_memory.features.projects.session_moments import (
    Candidate,
    Moment,
    find_end,
    find_session_scopes,
    show_memories,
)
from infinite_memory.features.sessions.project_scope import (
    existing_project_scope,
    find_active_project,
)
from infinite_memory.features.sessions.shown import ShownMemories

_MATCHES = 50
# A longer question takes seconds to embed, while a client waits; the likeness reads it all.
_QUERY_CHARS = 500
_LEAST_LIKENESS = 0.35
_MOST_OF_FILE = 3
_OPEN_SINCE = timedelta(days=365)
_MAX_PATH_CHARS = 1024


def recall_for_failure(
    services: Services, output: str, *, folder: str, session: str, within: float | None
) -> Moment:
    """Return how an error was solved before; see `Conversations.recall_for_failure`."""
    until, error = find_end(within), find_error(_drop_exit_code(output))
    if error is None or not rate_line(error.message):
        return Moment()
    project = find_active_project(services, folder)
    log = ShownMemories(services.config.home, session)
    scopes = find_session_scopes(services, project)
    conditions: Conditions = {
        "scope": None if scopes is None else sorted(scopes),
        "kinds": sorted(PROBLEM_KINDS),
        "statuses": sorted(KEPT),
    }
    request = SearchRequest(
        text=f"{error.message}\n{error.text}"[:_QUERY_CHARS],
        conditions=conditions,
        limit=_MATCHES,
        threshold=0.0,
    )
    matches = {hit.memory.id: (hit.memory, hit.score) for hit in find_hits(services, request)}
    errors = {
        memory_id: find_error(chunk.parts.get("error") or chunk.content)
        for memory_id, (memory, _) in matches.items()
        for chunk in [chunk_of(memory)]
    }
    ranked = rank_solutions(
        error, [(memory_id, errors[memory_id], score) for memory_id, (_, score) in matches.items()]
    )
    known = log.read()
    for memory_id, likeness in ranked:
        solved, memory = errors[memory_id], matches[memory_id][0]
        chunk = chunk_of(memory)
        if likeness < _LEAST_LIKENESS or solved is None or not is_same_kind(error, solved):
            break  # the next ones are less alike
        if not chunk.is_solved:
            continue
        if (
            memory_id in known
            or (session and chunk.session == session)
            or not may_be_pushed(memory)
        ):
            break
        candidate = Candidate(memory=memory, text=_tell_solution(chunk), at=memory.happened_at)
        title = "From the memory, how an error like this one was solved."
        return show_memories(
            services, "failure", [candidate], project, log, until=until, title=title
        )
    return Moment()


def _drop_exit_code(output: str) -> str:
    """Return the output of a command without the line that its client puts before it."""
    first, _, rest = output.partition("\n")
    return rest if first.startswith("Exit code ") and rest.strip() else output


def _tell_solution(chunk: Chunk) -> str:
    """Return what solved the error of a chunk, without the error."""
    solution = chunk.parts.get("solution")
    rest = chunk.content.replace(chunk.parts.get("error") or "\0", "").strip()
    return solution or rest or chunk.content


def recall_for_file(
    services: Services, path: str, *, folder: str, session: str, within: float | None
) -> Moment:
    """Return what names a file that is about to change; see `Conversations.recall_for_file`."""
    until = find_end(within)
    scope, checkout = (
        existing_project_scope(services, folder),
        open_checkout(folder, services.data_folder),
    )
    name = None if checkout is None else _find_name(path, folder, checkout)
    if scope is None or checkout is None or name is None:
        return Moment()
    log = ShownMemories(services.config.home, session)
    known = log.read()
    chunks = load_chunks(services, {scope})
    unsolved = find_open(services, chunks, services.clock() - _OPEN_SINCE)
    ruling = [
        chunk
        for kind in (Kind.LESSON, Kind.DECISION)
        for chunk in chunks
        if chunk.kind is kind and chunk.status in IN_FORCE and not chunk.is_open
    ]
    new = [
        chunk
        for chunk in [*unsolved, *ruling]
        if chunk.id not in known and not (session and chunk.session == session)
    ]
    found = _choose_naming(new, name, checkout)
    memories = load_memories(services, [chunk.id for chunk in found])
    candidates = [
        Candidate(memory=memory, text=join_title(memory, memory.text), at=memory.happened_at)
        for chunk in found
        if (memory := memories.get(chunk.id)) is not None and may_be_pushed(memory)
    ]
    title = "From the memory, on a file that is about to change."
    project = find_active_project(services, folder)
    return show_memories(
        services, "file", candidates[:_MOST_OF_FILE], project, log, until=until, title=title
    )


def _find_name(path: str, folder: str, checkout: Checkout) -> str | None:
    """Return the path of a file within a repository, with slashes; None for any other path."""
    if not path.isprintable() or len(path) > _MAX_PATH_CHARS:
        return None
    try:
        top = checkout.folder.resolve()
        return Path(folder, path).resolve().relative_to(top).as_posix()
    except (OSError, ValueError, RuntimeError):
        return None


def _choose_naming(chunks: Sequence[Chunk], name: str, checkout: Checkout) -> list[Chunk]:
    """Return the chunks on a file, or whose text has its path, or its name if no other has it."""
    by_path, by_name = _compile_word(name), _compile_word(name.rpartition("/")[2])
    is_alone: bool | None = None
    chosen = []
    for chunk in chunks:
        text = "\n".join((chunk.content, chunk.summary, *chunk.parts.values()))
        is_named = name in chunk.files or (by_path is not None and by_path.search(text) is not None)
        if not is_named and by_name is not None and by_name.search(text):
            if is_alone is None:
                is_alone = checkout.is_alone(name)
            is_named = is_alone
        if is_named:
            chosen.append(chunk)
    return chosen


def _compile_word(name: str) -> re.Pattern[str] | None:
    """Return the pattern of a name of a file in a text, None if it may be any word, such as run."""
    return None if name.isalpha() else re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)")
