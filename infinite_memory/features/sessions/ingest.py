"""Take in the notes of hooks: read the transcripts, and store their new messages."""

from __future__ import annotations

import logging
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from attrs import evolve

from infinite_memory.core.errors import Conflict, InfiniteMemoryError, InvalidInput
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.remember import remember_many
from infinite_memory.features.sessions.ingested import Ingested
from infinite_memory.features.sessions.project_scope import find_project_scope
from infinite_memory.features.sessions.spool_reader import READER_LOCK, Spool, SpoolLine
from infinite_memory.features.sessions.transcripts.claude_code import read_claude_code
from infinite_memory.features.sessions.transcripts.message import Message, ReadTranscript
from infinite_memory.storage.inmemory import InMemoryStorage

Stop = Callable[[], bool]
"""Returns whether the work is to stop at the next opportunity."""

OnRead = Callable[[SpoolLine], None]
"""Called with a transcript whose new messages are stored."""

_log = logging.getLogger(__name__)
_BATCH = 64
_HEAD_BYTES = 1024
_MILLISECOND, _MICROSECOND = timedelta(milliseconds=1), timedelta(microseconds=1)
_MAX_BYTES_OF_CHARACTER = 4


READERS: Mapping[str, ReadTranscript] = {"claude-code": read_claude_code}


def ingest_spool(services: Services, stop: Stop, on_read: OnRead) -> Ingested:
    """Read the transcripts that hooks have noted; see `Conversations.ingest_spool`."""
    spool = Spool(services.config.home)
    # A confined handle may not have the scope of a session, a handle for a client may only read,
    # and a store in memory keeps nothing.
    is_whole = services.confinement is None and services.manages_keys
    is_suited = is_whole and not isinstance(services.storage, InMemoryStorage)
    if not is_suited or spool.is_empty:
        return Ingested()
    lock = FileLock(spool.folder / READER_LOCK)
    if not lock.try_acquire():
        return Ingested()
    try:
        return _ingest_claimed(services, spool, stop, on_read)
    finally:
        lock.release()


def _ingest_claimed(services: Services, spool: Spool, stop: Stop, on_read: OnRead) -> Ingested:
    files = spool.claim()
    positions = spool.positions()
    ingested = Ingested()
    failures: list[SpoolLine] = []
    for line in spool.read(files):
        if stop():
            return evolve(ingested, finished=False)
        try:
            count, position = _ingest_transcript(services, line, positions, stop)
        except (Conflict, InvalidInput) as error:
            failures.append(_fail(line, error, str(error)))
            continue
        except InfiniteMemoryError:
            raise  # the store cannot take anything in at the moment
        except FileNotFoundError:
            ingested = _skip(ingested, f"{line.transcript} does not exist any more")
            continue
        except _Unreadable as error:
            ingested = _skip(ingested, str(error))
            continue
        except OSError as error:
            failures.append(_fail(line, error, error.strerror or str(error)))
            continue
        if position is not None:
            positions.pop(line.transcript, None)
            positions[line.transcript] = position
            spool.write_positions(positions)
            on_read(line)
        new = 1 if count else 0
        ingested = evolve(
            ingested,
            messages=ingested.messages + count,
            conversations=ingested.conversations + new,
        )
    if stop():
        return evolve(ingested, finished=False)
    spool.finish(files, failures)
    failed = tuple(f"{line.transcript}: {line.reason}" for line in failures)
    return evolve(ingested, failed=failed)


class _Unreadable(Exception):
    """A transcript will never be read; the message says why."""


def _fail(line: SpoolLine, error: Exception, reason: str) -> SpoolLine:
    _log.warning("%s was not taken in: %s", line.transcript, error)
    return evolve(line, reason=reason)


def _skip(ingested: Ingested, sentence: str) -> Ingested:
    _log.warning("skipped: %s", sentence)
    return evolve(ingested, skipped=(*ingested.skipped, sentence))


def _ingest_transcript(
    services: Services, line: SpoolLine, positions: dict[str, tuple[int, int]], stop: Stop
) -> tuple[int, tuple[int, int] | None]:
    """Store the new messages of a transcript; return their number and where the reading ended.

    Raises:
        OSError: the file cannot be read.
        InfiniteMemoryError: the messages cannot be stored.
    """
    read = READERS.get(line.client)
    if read is None:
        raise _Unreadable(f"{line.transcript}: transcripts of {line.client!r:.60} cannot be read")
    path = Path(line.transcript)
    status = path.stat() if path.is_absolute() else None
    if status is None or not stat.S_ISREG(status.st_mode):
        raise _Unreadable(f"{line.transcript} is no file with a full path")
    digest, start = positions.get(line.transcript, (0, 0))
    place = find_project_scope(services, line.folder)
    if place.refusal is not None:
        raise _Unreadable(f"{line.transcript}: {place.refusal}")
    messages = read(path, start if digest == _digest_head(path, start) else 0)
    # The time of a message without one follows that of the message before it.
    last = datetime.fromtimestamp(status.st_mtime, UTC)
    count, end = 0, None
    while batch := list(islice(messages, _BATCH)):
        drafts: list[Draft] = []
        for message in batch:
            for number, text in enumerate(_split_text(services, message.text)):
                last = _next_moment(message.said_at, last)
                name = [line.client, message.session, message.name, number]
                drafts.append(_draft_of(message, text, last, place.scope, name))
        count += _store_new(services, drafts, place.create)
        end = batch[-1].end
        if stop():
            break
    return count, None if end is None else (_digest_head(path, end), end)


def _digest_head(path: Path, position: int) -> int:
    """Return a checksum of the beginning of a file, by which another file of its name is noticed.

    The number of the file would not do: a file system gives it again.
    """
    with open_regular(path) as file:
        return zlib.crc32(file.read(min(position, _HEAD_BYTES)))


def _next_moment(said_at: datetime | None, last: datetime) -> datetime:
    """Return when a message was said: a little after the last message of the same time.

    Memories of one moment have no order, and a transcript gives milliseconds.
    """
    if said_at is None or said_at <= last < said_at + _MILLISECOND:
        return last + _MICROSECOND
    return said_at


def _split_text(services: Services, text: str) -> Iterator[str]:
    """Yield a text, or its parts if it is longer than a memory may be."""
    # A reader of JSON brings back lone surrogates, which no storage takes.
    storable = text.encode(errors="replace").decode()
    size = max(1, services.config.limits.max_text_bytes // _MAX_BYTES_OF_CHARACTER)
    parts = (storable[start : start + size] for start in range(0, len(storable), size))
    yield from filter(str.strip, parts)


def _draft_of(
    message: Message, text: str, said_at: datetime, scope: str | None, name: list[object]
) -> Draft:
    """Return the draft of a message or a part of it; `name` is its client, session and so on."""
    return Draft(
        id=import_id(name),
        text=text,
        kind=Kind.MESSAGE,
        scope=scope,
        speaker=message.speaker,
        origin=message.speaker,
        conversation_id=message.session,
        happened_at=said_at,
        context={"client": name[0], **message.details},
    )


def _store_new(services: Services, drafts: Sequence[Draft], prepare: Callable[[], None]) -> int:
    """Store the drafts that were never stored; a memory forgotten or erased since stays so."""
    ids = [draft.id for draft in drafts if draft.id is not None]
    known = load_memories(services, ids).keys() | services.storage.erased(ids)
    new = list({draft.id: draft for draft in drafts if draft.id not in known}.values())
    if not new:
        return 0
    prepare()
    try:
        return len(remember_many(services, new))
    except InvalidInput as error:
        _log.info("the messages are stored one by one: %s", error)
    return sum(_store_single(services, draft) for draft in new)


def _store_single(services: Services, draft: Draft) -> int:
    try:
        return len(remember_many(services, [draft]))
    except InvalidInput as error:
        _log.warning("a message of %s is left out: %s", draft.conversation_id, error)
        return 0
