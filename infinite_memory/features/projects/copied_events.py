"""The events that a session has from another one: a client copies them when it resumes or forks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.features.projects.chunk import Chunk
from infinite_memory.features.projects.loading import around, load_chunks
from infinite_memory.features.sessions.conversation import message_ids
from infinite_memory.features.sessions.events.event import Event
from infinite_memory.features.sessions.repository import scope_of_folder

_AROUND = timedelta(days=1)


def chunk_id(client: str, session: str, name: str) -> str:
    """Return the id of the chunk of a session that begins with the event called `name`."""
    return import_id(["chunk", client, session, name])


def load_chunks_beside(
    services: Services, scopes: Collection[str], events: Sequence[Event]
) -> list[Chunk]:
    """Return the chunks in the scopes within a day of the events, also what was forgotten since."""
    since, until = around(events[0].at, events[-1].at, _AROUND)
    return load_chunks(services, scopes, statuses=frozenset(Status), since=since, until=until)


def leave_out_copies(
    services: Services, client: str, events: Sequence[Event], seen: Mapping[str, str]
) -> list[Event]:
    """Return the events behind the last that is a copy from another session.

    A copy is the same act as one that is `seen`, which gives the session of an act, or is part of
    the work of a session that a chunk begins with one of the events for.
    """
    if not events:
        return []
    copied = [n for n, e in enumerate(events) if seen.get(e.act, e.session) != e.session]
    copied += _find_stored(services, client, events)
    return list(events[max(copied, default=-1) + 1 :])


def _find_stored(services: Services, client: str, events: Sequence[Event]) -> Iterator[int]:
    """Yield the numbers of events that belong to the stored work of another session."""
    scopes = {scope_of_folder(Path("/", folder)) for folder in {e.folder for e in events} if folder}
    stored = load_chunks_beside(services, scopes, events)
    own = {event.session for event in events}
    names: dict[datetime, list[str]] = {}
    for event in events:
        names.setdefault(event.at, []).append(event.name)
    origins = {
        chunk.session
        for chunk in stored
        if chunk.session and chunk.session not in own
        for name in names.get(chunk.happened_at, ())
        if chunk.id == chunk_id(client, chunk.session, name)
    }
    if not origins:
        return
    begun = {chunk_id(client, e.session, e.name): number for number, e in enumerate(events)}
    yield min((begun[chunk.id] for chunk in stored if chunk.id in begun), default=0) - 1
    chunks = load_memories(services, [c.id for c in stored if c.session in origins])
    ends = {memory.context.get("last_event") for memory in chunks.values()}
    yield from (number for number, event in enumerate(events) if event.name in ends)
    logged = {message_ids(event)[0]: number for number, event in enumerate(events)}
    for memory in load_memories(services, logged).values():
        if memory.conversation_id in origins:
            yield logged[memory.id]
