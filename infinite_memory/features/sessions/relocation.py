"""Moves what earlier versions stored elsewhere into the scope of its repository.

They put the messages of a repository without a remote into the default scope, and two repositories
of one name into one scope. A repository that gets a remote has another scope from then on, and what
was said in a folder before it became a repository belongs to the repository.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import evolve

from infinite_memory.core.errors import ConfigurationError, InfiniteMemoryError
from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.paths import find_user_home
from infinite_memory.core.values.commit import Commit, Expect, merge_commits
from infinite_memory.core.values.conversation.attachment import is_reference
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.link import WITHIN_SCOPE
from infinite_memory.core.values.memory import INFERRED, Kind, Memory, Status
from infinite_memory.core.values.scope import Scope, Sensitivity, find_spelling, fold_name
from infinite_memory.engine.conversation_scopes import create_missing_scopes
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import iterate_memories
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.bulk_forget import put_changed
from infinite_memory.engine.writes.topic_summaries import forget_strayed_topics
from infinite_memory.features.sessions.git import find_repository, list_commits_in
from infinite_memory.features.sessions.known_repositories import (
    KnownRepositories,
    KnownRepository,
)
from infinite_memory.features.sessions.scope_names import PROJECTS
from infinite_memory.features.sessions.session_undo import WORK

_log = logging.getLogger(__name__)
_TRANSCRIPTS = (".claude/projects", ".codex/sessions")
_FOLDER = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_HEAD_BYTES, _ID_CHARS = 1 << 16, 36
_KEPT = frozenset(Status) - {Status.FORGOTTEN}


def find_waiting(services: Services) -> list[KnownRepository]:
    """Return the repositories for which it was not looked yet what is to be moved to them."""
    is_own = services.backend == "sqlite" or services.config.storage == "managed"
    known = KnownRepositories(services.data_folder).read() if is_own else []
    return [entry for entry in known if entry.waits]


def move_misplaced(services: Services) -> None:
    """Move what belongs to repositories that are new or have got a remote, if there is anything.

    What goes to a repository is one change with one entry in the journal. What somebody has
    forgotten stays where it is, and so does all in a store on a server: its other users may have
    other repositories in folders of the same names.
    """
    waiting = find_waiting(services)
    if not waiting:
        return
    known = KnownRepositories(services.data_folder)
    try:
        for entry in waiting:
            _move_to_repository(services, entry, known.read())
        known.settle(waiting)
    except (OSError, InfiniteMemoryError) as error:  # which must not keep new sessions out
        _log.warning("what belongs to repositories is moved the next time: %s", error)


def _move_to_repository(
    services: Services, entry: KnownRepository, entries: Sequence[KnownRepository]
) -> None:
    for attempt in attempts():
        number = services.storage.journal_end().number + 1
        scopes = services.storage.scopes()
        target = find_spelling(entry.scope, scopes) or entry.scope
        rules = services.config.projects.rules_of(target)
        is_shut = not scopes[target].active if target in scopes else services.config.strict_scopes
        if is_shut or not rules.enabled:
            return
        project = scopes.get(target) or Scope(
            name=target, parent=PROJECTS, sensitivity=rules.sensitivity or Sensitivity.NORMAL
        )
        sources = [
            scopes[name]
            for former in entry.former
            if (name := find_spelling(former, scopes)) and _may_move(scopes[name], project)
        ]
        found = {scope.name: _choose_own(services, entry, entries, scope) for scope in sources}
        memories = [memory for listed in found.values() for memory in listed]
        default = scopes.get(services.default_scope)
        if default is not None and _may_move(default, project):
            memories += _find_sessions(services, entry, target, memories)
        if not memories:
            return
        parents = {scope.parent for scope in scopes.values()}
        emptied = {
            scope.name: scope
            for scope in sources
            if scope.name not in parents
            and len(found[scope.name]) == len(_load_scope(services, scope.name))
        }
        expect = Expect(scopes=emptied, unused=frozenset(emptied), entry_number=number)
        with attempt:
            rest = Commit(expect=expect, erased_scopes=tuple(emptied))
            _commit_move(services, memories, project, scopes, rest)
            return


def _may_move(source: Scope, target: Scope) -> bool:
    """Return whether memories may move to another scope, where as few see them."""
    is_open = target.sensitivity is Sensitivity.NORMAL
    is_guarded = source.sensitivity is Sensitivity.PRIVATE and is_open
    return source.active and not is_guarded and source.name != target.name


def _choose_own(
    services: Services,
    entry: KnownRepository,
    entries: Sequence[KnownRepository],
    source: Scope,
) -> list[Memory]:
    """Return what is of a repository in a scope that earlier versions gave to a name.

    It is all of it, unless a commit that is named in it tells that it was another repository, or
    the scope is that of another one: then it is the sessions in its folders, and what names commits
    that it alone has.
    """
    memories = _load_scope(services, source.name)
    commits = sorted({commit for memory in memories if (commit := _read(memory, "commit"))})
    own = list_commits_in(Path(entry.git), commits) if commits else set()
    claimants = [e for e in entries if fold_name(e.scope) == fold_name(source.name)]
    if not claimants:
        return memories if own or not commits else []
    for other in claimants:
        own -= set() if other.is_gone else list_commits_in(Path(other.git), commits)
    folders = _find_folders({_read_session(memory) for memory in memories})
    sessions = {session for session, folder in folders.items() if _is_in(folder, entry)}
    sessions |= {_read_session(memory) for memory in memories if _read(memory, "commit") in own}
    sessions.discard("")
    return [
        memory
        for memory in memories
        if _read(memory, "commit") in own or _read_session(memory) in sessions
    ]


def _load_scope(services: Services, name: str) -> list[Memory]:
    criteria = Criteria(scopes=frozenset({name}), statuses=_KEPT)
    return list(iterate_memories(services, criteria))


def _find_sessions(
    services: Services, entry: KnownRepository, target: str, moved: Sequence[Memory]
) -> list[Memory]:
    """Return what sessions in a repository left in the default scope.

    Their messages name the folder in which the session began. Those of the first versions do not:
    the transcript names it, if its client has kept that, or the work of the session is kept with
    the repository.
    """
    work = iterate_memories(services, Criteria(scopes=frozenset({target}), kinds=WORK))
    sessions = {_read(memory, "session") for memory in (*work, *moved)} - {""}
    criteria = Criteria(scopes=frozenset({services.default_scope}), statuses=_KEPT)
    begun: dict[str, str] = {}
    for memory in iterate_memories(services, evolve(criteria, kinds=frozenset({Kind.MESSAGE}))):
        if memory.conversation_id is not None and _read(memory, "client"):
            # The newest come first.
            earlier = begun.get(memory.conversation_id, "")
            begun[memory.conversation_id] = _read(memory, "folder") or earlier
    begun |= _find_folders({session for session, folder in begun.items() if not folder})
    folders = {folder for folder in begun.values() if folder and _is_in(folder, entry)}
    return [
        memory
        for session, folder in begun.items()
        if (folder in folders if folder else session in sessions)
        for memory in iterate_memories(services, evolve(criteria, conversation_id=session))
        if memory.kind in (Kind.MESSAGE, Kind.SUMMARY) or INFERRED in memory.context
    ]


def _find_folders(sessions: Collection[str]) -> dict[str, str]:
    """Return the folders of sessions whose transcripts are where their clients keep them."""
    folders: dict[str, str] = {}
    with suppress(OSError, ConfigurationError):
        home = find_user_home()
        paths = [
            path for name in _TRANSCRIPTS if sessions for path in (home / name).rglob("*.jsonl")
        ]
        for path in paths:
            # A time may stand before the id.
            session = path.stem[-_ID_CHARS:]
            if session in sessions:
                with suppress(OSError, ValueError), open_regular(path) as file:
                    if match := _FOLDER.search(file.read(_HEAD_BYTES)):
                        folders[session] = json.loads(match[1])
    return folders


def _is_in(folder: str, entry: KnownRepository) -> bool:
    repository = find_repository(Path("/", folder))
    return repository is not None and str(repository.git) == entry.git


def _commit_move(
    services: Services,
    memories: Sequence[Memory],
    project: Scope,
    scopes: Mapping[str, Scope],
    rest: Commit,
) -> None:
    """Move memories, make the scope of a project if it is missing, and do the `rest` with it."""
    made = create_missing_scopes(
        {project.name}, scopes, evolve(services, find_project_scope=lambda: project)
    )
    puts = tuple(put_changed(services, memories, scope=project.name))
    ids = {memory.id for memory in memories}
    strayed = forget_strayed_topics(services, [put.memory for put in puts], without=ids)
    links = services.storage.links(ids)
    # A link never joins two scopes.
    parted = [
        link.key
        for link in links
        if link.type in WITHIN_SCOPE
        and not is_reference(link)
        and not ids.issuperset({link.source, link.target})
    ]
    moved = Commit(puts=(*puts, *strayed), erased_links=tuple(parted))
    commit = merge_commits(made, moved, rest)
    reason = f"moved to {project.name}, the scope of their repository"
    services.storage.commit(
        with_entry(services, Operation.REVISE, commit, links=links, reason=reason)
    )


def _read_session(memory: Memory) -> str:
    return _read(memory, "session") or memory.conversation_id or ""


def _read(memory: Memory, name: str) -> str:
    value = memory.context.get(name)
    return value if isinstance(value, str) else ""
