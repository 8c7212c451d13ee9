"""Session files of Claude Code, Codex CLI and Gemini CLI: what the person and the assistant wrote.

Calls of tools, their results, thoughts, and texts that the program added are left out, and what is
not to be kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import IO

from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.reading import Options
from infinite_memory.features.archive.exchange.records import DraftRecord, Item
from infinite_memory.features.archive.exchange.source import Source
from infinite_memory.features.sessions.conversation import draft_messages
from infinite_memory.features.sessions.events.reading import read_stream, recognise_client
from infinite_memory.features.sessions.spool_reader import load_pauses


def find_client(source: Source, file: str) -> str | None:
    """Return the client that wrote a session file, None if none did."""
    with _open_lines(source, file) as stream:
        return recognise_client(stream, file)


@contextmanager
def _open_lines(source: Source, file: str) -> Iterator[IO[bytes]]:
    """Open a session file; one that was made an array is read as the lines that it was."""
    if source.head(file).lstrip()[:1] != b"[":
        with source.open(file) as stream:
            yield stream
        return
    found = (each for each in source.values(file) if isinstance(each, Value))
    yield BytesIO(b"".join(json.dumps(each.value).encode() + b"\n" for each in found))


def read_sessions(
    client: str, source: Source, files: Sequence[str], options: Options
) -> Iterator[Item]:
    """Yield the messages of session files, the earliest changed first.

    So a message that a client has copied to a later session belongs to the one it was said in.

    Raises:
        OSError: a file cannot be read.
    """
    pauses = load_pauses(options.home)
    for file in sorted(files, key=lambda file: (source.changed_at(file), file)):
        shown = source.show(file)
        with _open_lines(source, file) as stream:
            reading = read_stream(stream, client, file, source.changed_at(file), pauses)
        for position, what in reading.problems:
            yield ImportProblem(file=shown, where=reading.place(position), what=what)
        for event, ids, draft in draft_messages(reading.events, options.limits):
            where = reading.place(event.position)
            yield DraftRecord(
                file=shown, where=where, draft=draft, earlier_ids=ids[1:], is_final=True
            )
