"""Session files of Claude Code, Codex CLI and Gemini CLI: what the person and the assistant wrote.

Calls of tools, their results, thoughts, and texts that the program added are left out, and what is
not to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.features.archive.exchange.reading import Options
from infinite_memory.features.archive.exchange.records import DraftRecord, Item
from infinite_memory.features.archive.exchange.source import Source
from infinite_memory.features.sessions.conversation import draft_messages
from infinite_memory.features.sessions.events.reading import read_stream, recognise_client
from infinite_memory.features.sessions.spool_reader import load_pauses

_LINES, _DOCUMENT = ".jsonl", ".json"
_LOOKED_AT = 100


def holds_sessions(client: str, source: Source) -> bool:
    """Return whether a source holds session files of a client."""
    return any(
        _recognise_client(source, file) == client
        for ending in (_LINES, _DOCUMENT)
        for file in islice(source.with_ending(ending), _LOOKED_AT)
    )


def read_sessions(client: str, source: Source, options: Options) -> Iterator[Item]:
    """Yield the messages of every session file, the earliest changed first.

    So a message that a client has copied to a later session belongs to the one it was said in.

    Raises:
        OSError: a file cannot be read.
    """
    pauses = load_pauses(options.home)
    files = source.with_ending(_LINES, _DOCUMENT)
    for file in sorted(files, key=lambda file: (source.changed_at(file), file)):
        found, shown = _recognise_client(source, file), source.show(file)
        # A file of lines that says nothing of its client may be damaged: that is said.
        if found != client and (found is not None or not file.lower().endswith(_LINES)):
            continue
        with source.open(file) as stream:
            reading = read_stream(stream, client, file, source.changed_at(file), pauses)
        for position, what in reading.problems:
            yield ImportProblem(file=shown, where=reading.place(position), what=what)
        for event, ids, draft in draft_messages(reading.events, options.limits):
            where = reading.place(event.position)
            yield DraftRecord(
                file=shown, where=where, draft=draft, earlier_ids=ids[1:], is_final=True
            )


def _recognise_client(source: Source, file: str) -> str | None:
    with source.open(file) as stream:
        return recognise_client(stream, file)
