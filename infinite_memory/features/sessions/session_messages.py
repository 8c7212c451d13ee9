"""The new messages of the sessions that hooks have noted: read, and stored."""

from __future__ import annotations

import logging
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from attrs import evolve

from infinite_memory.core.errors import Conflict, InfiniteMemoryError, InvalidInput
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.secrets import unattended
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.entry import Actor
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import INFERRED, Kind
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.remember import remember_many
from infinite_memory.features.sessions.conversation import draft_messages
from infinite_memory.features.sessions.events.event import Event
from infinite_memory.features.sessions.events.reading import CLIENTS, SessionFile, read_session
from infinite_memory.features.sessions.ingested import Ingested
from infinite_memory.features.sessions.project_scope import ProjectScope, find_project_scope
from infinite_memory.features.sessions.relocation import find_waiting, move_misplaced
from infinite_memory.features.sessions.shown import ShownMemories
from infinite_memory.features.sessions.spool_reader import (
    READER_LOCK,
    Spool,
    SpoolLine,
    load_pauses,
)
from infinite_memory.features.sessions.statements import find_statements
from infinite_memory.features.sessions.taken_sessions import TakenSessions, stamp_file
from infinite_memory.features.sessions.withheld import Pauses
from infinite_memory.storage.inmemory import InMemoryStorage

Stop = Callable[[], bool]
"""Returns whether the work is to stop at the next opportunity."""

OnRead = Callable[[Services, SpoolLine, list[Event]], None]
"""Called, as the client of a transcript whose new messages are stored, with it and its events."""

_log = logging.getLogger(__name__)
_BATCH = 64


def ingest_spool(
    services: Services, stop: Stop, on_read: OnRead, *, wait_seconds: float = 0.0
) -> Ingested:
    """Read the transcripts that hooks have noted; see `Conversations.ingest_spool`.

    Another reader is left to its work, or waited for; nothing is finished after `wait_seconds`.
    """
    spool = Spool(services.config.home)
    # A confined handle may not have the scope of a session, a handle for a client may only read,
    # and a store in memory keeps nothing.
    is_whole = services.confinement is None and services.manages_keys and not services.actor.key
    is_suited = is_whole and not isinstance(services.storage, InMemoryStorage)
    if not is_suited or (spool.is_empty and not find_waiting(services)):
        return Ingested()
    with suppress(OSError):  # the lock says why
        spool.folder.mkdir(mode=0o700, exist_ok=True)
    lock = FileLock(spool.folder / READER_LOCK)
    if not lock.acquire(wait_seconds):
        return Ingested(finished=not wait_seconds)
    try:
        with unattended() as tally:
            ingested = _ingest_claimed(services, spool, stop, on_read)
        return evolve(ingested, masked=dict(tally))
    finally:
        lock.release()


def _ingest_claimed(services: Services, spool: Spool, stop: Stop, on_read: OnRead) -> Ingested:
    files = spool.claim()
    ingested = Ingested()
    failures: list[SpoolLine] = []
    for line in spool.read(files):
        writer = _act_for(services, line.client)
        if stop():
            return evolve(ingested, finished=False)
        try:
            line = evolve(line, stamp=stamp_file(services, Path(line.transcript)))
            events = _read_events(line, load_pauses(spool.home))
            count, is_whole = _store_messages(writer, line, events, stop)
        except (Conflict, InvalidInput, ValueError) as error:
            failures.append(_fail_line(line, error, str(error)))
            continue
        except InfiniteMemoryError:
            raise  # the store cannot take anything in at the moment
        except FileNotFoundError:
            ingested = _skip_session(ingested, f"{line.transcript} does not exist any more")
            continue
        except _Unreadable as error:
            ingested = _skip_session(ingested, str(error))
            continue
        except OSError as error:
            failures.append(_fail_line(line, error, error.strerror or str(error)))
            continue
        if not is_whole:
            return evolve(ingested, messages=ingested.messages + count, finished=False)
        on_read(writer, line, events)
        _note_used(services, events)
        new = 1 if count else 0
        ingested = evolve(
            ingested,
            messages=ingested.messages + count,
            conversations=ingested.conversations + new,
        )
    move_misplaced(services)
    spool.finish(files, failures)
    failed = tuple(f"{line.transcript}: {line.reason}" for line in failures)
    return evolve(ingested, failed=failed)


def _act_for(services: Services, client: str) -> Services:
    """Return services that write as the client of a session.

    The process is one of its own, so that no undo of the last change reverses what was taken in.
    """
    actor = Actor(client=client, process=f"{services.actor.process}-spool")
    return evolve(services, actor=actor)


def leave_pieces(services: Services, line: SpoolLine, events: Sequence[Event]) -> None:
    """Leave the pieces of work of a transcript to the upkeep."""
    TakenSessions(services).add_messages(line.transcript, line.stamp, events)


def _note_used(services: Services, events: Sequence[Event]) -> None:
    sessions: dict[str, list[Event]] = {}
    for event in events:
        sessions.setdefault(event.session, []).append(event)
    for session, own in sessions.items():
        ShownMemories(services.config.home, session).note_used(services, own)


class _Unreadable(Exception):
    """A transcript will never be read; the message says why."""


def _fail_line(line: SpoolLine, error: Exception, reason: str) -> SpoolLine:
    _log.warning("%s was not taken in: %s", line.transcript, error)
    return evolve(line, reason=reason)


def _skip_session(ingested: Ingested, sentence: str) -> Ingested:
    _log.info("skipped: %s", sentence)
    return evolve(ingested, skipped=(*ingested.skipped, sentence))


def _read_events(line: SpoolLine, pauses: Pauses) -> list[Event]:
    """Return what may be kept of the events of a transcript.

    Raises:
        OSError: the file cannot be read.
    """
    if line.client not in CLIENTS:
        raise _Unreadable(f"{line.transcript}: transcripts of {line.client!r:.60} cannot be read")
    path = Path(line.transcript)
    if not path.is_absolute() or not stat.S_ISREG(path.stat().st_mode):
        raise _Unreadable(f"{line.transcript} is no file with a full path")
    return read_session(SessionFile(path=path, client=line.client), pauses)


def _store_messages(
    services: Services, line: SpoolLine, events: Sequence[Event], stop: Stop
) -> tuple[int, bool]:
    """Store the new messages of a transcript; return their number, and whether these are all.

    Raises:
        InfiniteMemoryError: the messages cannot be stored.
    """
    named = (event.folder for event in reversed(events) if event.folder)
    where = line.folder or next(named, "")
    place = find_project_scope(services, where)
    if place.refusal is not None:
        raise _Unreadable(f"{line.transcript}: {place.refusal}")
    # Outside of a repository, a later session in the folder finds them by the folder.
    folder = "" if place.scope is not None else where
    messages = draft_messages(events, services.config.limits, folder)
    count = 0
    batch = list(islice(messages, _BATCH))
    while batch:
        drafts = {ids: evolve(draft, scope=place.scope) for _, ids, draft in batch}
        count += _store_new(services, drafts, place)
        batch = list(islice(messages, _BATCH))
        if batch and stop():
            return count, False
    return count, True


def _store_new(
    services: Services, drafts: Mapping[tuple[str, ...], Draft], place: ProjectScope
) -> int:
    """Store the drafts that were never stored; a memory forgotten or erased since stays so.

    A conversation goes on where its first messages are.
    """
    every = [known_id for ids in drafts for known_id in ids]
    stored = load_memories(services, every)
    known = stored.keys() | services.storage.erased(every)
    new = [draft for ids, draft in drafts.items() if known.isdisjoint(ids)]
    if not new:
        return 0
    homes = {memory.conversation_id: memory.scope for memory in stored.values()}
    new = [evolve(draft, scope=homes.get(draft.conversation_id, draft.scope)) for draft in new]
    place.create()
    is_wanted = services.config.projects.sessions and place.is_enabled
    groups = [[draft, *(draft_statements(draft) if is_wanted else ())] for draft in new]
    try:
        remember_many(services, [draft for group in groups for draft in group])
    except InvalidInput as error:
        _log.info("the messages are stored one by one: %s", error)
        return sum(_store_single(services, group) for group in groups)
    return len(new)


def _store_single(services: Services, group: Sequence[Draft]) -> int:
    try:
        remember_many(services, group)
    except InvalidInput as error:
        _log.warning("a message of %s is left out: %s", group[0].conversation_id, error)
        return 0
    return 1


def draft_statements(message: Draft) -> Iterator[Draft]:
    """Yield the statements in a message of the user as drafts of facts, of any other none.

    They have the time and the place of the message, which is their source.
    """
    if message.speaker != "user":
        return
    for number, sentence in enumerate(find_statements(message.text)):
        yield evolve(
            message,
            id=import_id([message.id, "statement", number]),
            kind=Kind.FACT,
            text=sentence,
            sources=(message.id or "",),
            context={**message.context, INFERRED: "session"},
        )
