"""The chunks of sessions: a session is cut into pieces of work, and each is stored as a chunk."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from attrs import evolve, field, frozen

from infinite_memory.core.errors import (
    Conflict,
    EmbedderError,
    InfiniteMemoryError,
    InvalidInput,
    NotFound,
)
from infinite_memory.core.paths import expand_path
from infinite_memory.core.plain import PlainData
from infinite_memory.core.secrets import unattended
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Memory, Origin, Status, shorten
from infinite_memory.engine.load_memories import count_versions, load_memories
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.forget import forget
from infinite_memory.engine.writes.quoting_summaries import erase_late_summaries
from infinite_memory.engine.writes.remember import remember
from infinite_memory.engine.writes.revise import revise
from infinite_memory.features.projects.checkout import open_checkout
from infinite_memory.features.projects.chunk import Chunk
from infinite_memory.features.projects.chunking.cutting import CutPiece, cut_session
from infinite_memory.features.projects.chunking.describing import describe_piece, exclude_files
from infinite_memory.features.projects.chunking.piece import Piece
from infinite_memory.features.projects.exclusion import Exclusion
from infinite_memory.features.projects.loading import around, load_chunks
from infinite_memory.features.projects.repositories import name_folder, prepare_repository
from infinite_memory.features.projects.storing import draft_of
from infinite_memory.features.sessions.conversation import message_ids
from infinite_memory.features.sessions.events.event import Event, EventKind
from infinite_memory.features.sessions.events.reading import (
    SessionFile,
    find_session_files,
    read_session,
)
from infinite_memory.features.sessions.git import find_repository
from infinite_memory.features.sessions.spool_reader import SpoolLine, load_pauses

_AROUND = timedelta(days=1)
_log = logging.getLogger(__name__)
_FORGOTTEN = "[forgotten message]"
_MAX_CHARS = 100_000
# The beginning of a message, by which a text that quotes it is recognised.
_QUOTED_CHARS = 60


@frozen(kw_only=True)
class SessionChunk(PlainData):
    """A chunk of a session: `id` of its memory, what became of it, and why its piece ended.

    `outcome` is "stored", "revised" if the session had gone on since, "unchanged", "kept" if a
    person changed or forgot it since, or "new" in a dry run.
    """

    id: str
    outcome: str
    scope: str
    kind: str
    summary: str
    reason: str
    events: int


@frozen(kw_only=True)
class IngestedSessions(PlainData):
    """The chunks of session files, in the order of the files and of time.

    `skipped` are sentences on files, or on repositories that are not enabled. `masked` counts the
    secrets in the files by their kinds; they are stored nowhere.
    """

    files: int
    chunks: tuple[SessionChunk, ...] = ()
    skipped: tuple[str, ...] = ()
    masked: Mapping[str, int] = field(factory=dict)

    def count(self, outcome: str) -> int:
        """Return the number of chunks with an outcome."""
        return sum(chunk.outcome == outcome for chunk in self.chunks)


def ingest_sessions(
    services: Services,
    paths: Iterable[Path],
    *,
    dry_run: bool = False,
    stop: Callable[[], bool] | None = None,
    only_checkouts: bool = False,
) -> IngestedSessions:
    """Store the chunks of session files; see `Projects.ingest_sessions` and `_ingest_events`.

    Raises:
        NotFound: there is nothing at a path.
        StorageError: the chunks cannot be stored at the moment.
    """
    result, seen = IngestedSessions(files=0), dict[str, str]()
    with unattended() as tally:
        for path in paths:
            for file in find_session_files(_check_existing(path)):
                if stop is not None and stop():
                    break
                result = _add_file(
                    services, result, file, seen, dry_run=dry_run, only_checkouts=only_checkouts
                )
    return evolve(result, masked=dict(tally))


def _check_existing(path: Path) -> Path:
    # A name that is too long, and a home that is not known, stand for nothing.
    with suppress(OSError, ValueError):
        expanded = expand_path(path)
        if expanded.exists():
            return expanded
    raise NotFound(f"there is nothing at {path!s:.200}: give a session file or a folder of them")


def ingest_noted(services: Services, line: SpoolLine, events: Sequence[Event]) -> None:
    """Store the chunks of a session that a hook has noted, if the configuration wants them.

    Its messages are stored by then, so a failure is logged; the next note tries again.
    """
    if not services.config.projects.sessions or not events:
        return
    try:
        own = leave_out_copies(services, line.client, events, {})
        _, skipped = _ingest_events(services, line.client, own, dry_run=False, only_checkouts=True)
    except InfiniteMemoryError as error:
        _log.warning("the work of %s was not stored: %s", line.transcript, error)
        return
    for sentence in skipped:
        _log.info("left out of the work of %s: %s", line.transcript, sentence)


def _add_file(
    services: Services,
    result: IngestedSessions,
    file: SessionFile,
    seen: dict[str, str],
    *,
    dry_run: bool,
    only_checkouts: bool,
) -> IngestedSessions:
    try:
        events = read_session(file, load_pauses(services.config.home))
    except OSError as error:
        sentence = f"{file.path}: {error.strerror or error}"
        return evolve(result, skipped=(*result.skipped, sentence))
    own = leave_out_copies(services, file.client, events, seen)
    seen.update({event.act: event.session for event in own})
    chunks, skipped = _ingest_events(
        services, file.client, own, dry_run=dry_run, only_checkouts=only_checkouts
    )
    return IngestedSessions(
        files=result.files + 1,
        chunks=(*result.chunks, *chunks),
        skipped=tuple(dict.fromkeys([*result.skipped, *skipped])),
    )


def _ingest_events(
    services: Services,
    client: str,
    events: Sequence[Event],
    *,
    dry_run: bool,
    only_checkouts: bool,
) -> tuple[list[SessionChunk], list[str]]:
    """Store the pieces of a session; with `only_checkouts` those in a repository on this machine.

    Return their chunks, and sentences on what is left out.
    """
    cuts = _cut_pieces(services, events)
    shown = _hide_erased(services, events)
    names = {event.name for event in events}
    ids = _make_chunk_ids(services, client, events)
    chunks: list[SessionChunk] = []
    skipped: list[str] = []
    done = 0
    for cut in cuts:
        earlier = shown[:done]
        done += len(cut.piece.events)
        cut = evolve(cut, piece=Piece(shown[len(earlier) : done]))
        named = describe_piece(cut, earlier).folder
        if not named:
            skipped.append(f"the session {cut.piece.events[0].session} names no folder")
            continue
        # Of a relative folder, nothing beside this process is meant.
        folder = Path("/", named)
        if only_checkouts and find_repository(folder) is None:
            continue
        scope = name_folder(services, folder)
        if not services.config.projects.rules_of(scope).enabled:
            skipped.append(f"{scope} is not enabled")
            continue
        try:
            draft = _make_draft(services, client, cut, earlier, scope)
            draft = evolve(draft, id=ids[cut.piece.events[0].name])
            outcome = "new" if dry_run else _store_chunk(services, draft, scope, names)
        except (Conflict, InvalidInput, NotFound) as error:
            session = cut.piece.events[0].session
            skipped.append(f"a piece of {session:.80} in {scope:.160}: {error}")
            continue
        chunks.append(_report_chunk(draft, cut, scope, outcome))
    if not dry_run:
        # Also a piece that could not be stored now keeps what was stored of it before.
        kept = {ids[cut.piece.events[0].name] for cut in cuts}
        _forget_replaced(services, events, chunks, kept)
    return chunks, skipped


def _cut_pieces(services: Services, events: Sequence[Event]) -> list[CutPiece]:
    """Return the pieces of a session; without a model, topics do not count."""
    settings = services.config.chunking
    try:
        return cut_session(events, settings, services.embedder.embed)
    except EmbedderError as error:
        _log.warning("a session was cut without the topics of its requests: %s", error)
        return cut_session(events, settings)


def _report_chunk(draft: Draft, cut: CutPiece, scope: str, outcome: str) -> SessionChunk:
    return SessionChunk(
        id=draft.id or "",
        outcome=outcome,
        scope=scope,
        kind=str(draft.kind),
        summary=draft.title or "",
        reason=cut.reason.value,
        events=len(cut.piece.events),
    )


def _make_draft(
    services: Services, client: str, cut: CutPiece, earlier: Sequence[Event], scope: str
) -> Draft:
    """Return the draft of a piece."""
    exclusion = Exclusion(services.config.projects.rules_of(scope).exclude)
    events = exclude_files(cut.piece.events, exclusion)
    described = describe_piece(evolve(cut, piece=Piece(events)), earlier)
    draft = draft_of(
        services,
        described.content,
        kind=described.kind,
        scope=scope,
        details=described.details,
        is_whole=True,
    )
    blobs = {}
    commit = described.details.get("commit")
    checkout = open_checkout(described.folder, services.data_folder)
    if commit and checkout is not None:
        # As they are in the commit: the checkout may have gone on since.
        blobs = checkout.hashes(described.details.get("files", ()), commit)
    context = {**draft.context, "client": client, "last_event": events[-1].name}
    context = {**context, "blobs": blobs} if blobs else context
    order = next(([event] for event in reversed(earlier) if event.is_request), [])
    sources = _find_sources(services, [*order, *events], draft.text)
    told = json.dumps(context, sort_keys=True)
    reading = import_id([draft.text, draft.title or "", told, *sources])
    return evolve(draft, sources=sources, context={**context, "reading": reading})


def _hide_erased(services: Services, events: Sequence[Event]) -> list[Event]:
    """Return the events without the texts of messages that were forgotten or erased since.

    Of a very long text the beginning is enough for a piece of work.
    """
    ids = {memory_id for event in events for memory_id in _list_stored_ids(event)}
    gone = services.storage.erased(ids) | {
        memory.id
        for memory in load_memories(services, ids).values()
        if memory.status is Status.FORGOTTEN
    }
    return [
        evolve(
            event,
            text=event.text[:_MAX_CHARS]
            if gone.isdisjoint(_list_stored_ids(event))
            else _FORGOTTEN,
        )
        for event in events
    ]


def _find_sources(services: Services, events: Sequence[Event], text: str) -> tuple[str, ...]:
    """Return the ids of the stored messages that a text quotes, so that it is erased with them."""
    quoted = {
        memory_id
        for event in events
        for memory_id in _list_stored_ids(event)
        if shorten(event.text, _QUOTED_CHARS).rstrip("…") in text
    }
    return tuple(sorted(load_memories(services, quoted)))


def _list_stored_ids(event: Event) -> tuple[str, ...]:
    """Return the ids that a message has if its session was taken in, of another event none."""
    return message_ids(event) if event.kind is EventKind.MESSAGE else ()


def _make_chunk_ids(services: Services, client: str, events: Sequence[Event]) -> dict[str, str]:
    """Return the id of the chunk that begins with an event, for ever, by the name of the event.

    Earlier versions named an event without an id of its own by its line.
    """
    ids = {event.name: chunk_id(client, event.session, event.name) for event in events}
    earlier = {
        event.name: chunk_id(client, event.session, f"{event.position}")
        for event in events
        if event.name == event.act
    }
    listed = list(earlier.values())
    known = load_memories(services, listed).keys() | services.storage.erased(listed)
    return ids | {name: memory_id for name, memory_id in earlier.items() if memory_id in known}


def _store_chunk(services: Services, draft: Draft, scope: str, names: Set[str]) -> str:
    """Store a chunk that is new, or bring one up to date whose session went on since.

    `names` are those of the events in the file.
    """
    assert draft.id is not None
    present = load_memories(services, [draft.id]).get(draft.id)
    if present is None:
        if services.storage.erased([draft.id]):
            return "kept"
        prepare_repository(services, scope)
        remember(services, draft, similar=False, create_scope=True)
        _erase_late(services, draft)
        return "stored"
    is_same = present.text == draft.text and present.context == dict(draft.context)
    if is_same:
        return "unchanged"
    if not _is_ours(services, present):
        return "kept"
    if not _holds_end(names, present):
        return "unchanged"
    changes = {
        "text": draft.text,
        "title": draft.title,
        "kind": draft.kind,
        "context": draft.context,
        "sources": draft.sources,
    }
    revise(services, present.id, revision=present.revision, changes=changes)
    _erase_late(services, draft)
    return "revised"


def _erase_late(services: Services, draft: Draft) -> None:
    """Erase a chunk one of whose messages was erased while it was being stored."""
    erased = services.storage.erased(draft.sources)
    if erased:
        erase_late_summaries(services, erased)


def _holds_end(names: Set[str], memory: Memory) -> bool:
    """Return whether a file holds all of a chunk: not an older copy, nor one that was cut short."""
    return memory.context.get("last_event") in names


def _is_ours(services: Services, memory: Memory) -> bool:
    """Return whether nobody but the taking in of sessions has changed a memory."""
    if memory.status is not Status.CURRENT or memory.origin is not Origin.TOOL:
        return False
    history = services.storage.history(memory.id)
    readings = {revision.context.get("reading") for revision in history}
    readings.add(memory.context.get("reading"))
    # Each version of ours is another reading of the session; one of a person keeps the last.
    return len(readings) == count_versions(services, memory)


def _forget_replaced(
    services: Services, events: Sequence[Event], chunks: Sequence[SessionChunk], kept: Set[str]
) -> None:
    """Forget chunks of the session beside `kept`, whose events now belong to other pieces."""
    if not chunks:
        return
    names = {event.name for event in events}
    sessions = {event.session for event in events}
    for chunk in load_chunks_beside(services, {chunk.scope for chunk in chunks}, events):
        if chunk.id not in kept and chunk.session in sessions:
            memory = load_memories(services, [chunk.id]).get(chunk.id)
            if memory is None or not _is_ours(services, memory):
                continue
            if not _holds_end(names, memory):
                continue
            try:
                forget(services, chunk.id, hard=False)
            except InfiniteMemoryError as error:
                _log.warning("%s was not forgotten: %s", chunk.id, error)


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
    folders = {event.folder for event in events} - {""}
    scopes = {name_folder(services, Path("/", folder)) for folder in folders}
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
