"""Which session files there are, and how the events of each are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from infinite_memory.core.files.regular import open_regular
from infinite_memory.features.sessions.events.claude_code import read_claude_code_events
from infinite_memory.features.sessions.events.codex import read_codex_events
from infinite_memory.features.sessions.events.event import Event
from infinite_memory.features.sessions.events.gemini import read_gemini_events
from infinite_memory.features.sessions.transcripts.lines import read_numbered

CLIENTS: Mapping[str, Callable[[Path], Iterator[Event]]] = {
    "claude-code": read_claude_code_events,
    "codex": read_codex_events,
    "gemini": read_gemini_events,
}
"""The readers by the name of the client."""

_LOOKED_AT = 20
_HEAD_BYTES = 4096
NAMES = ("*.jsonl", "*.json")
"""The patterns of the names of session files."""


@frozen(kw_only=True)
class SessionFile:
    """A session file, and the client that wrote it."""

    path: Path
    client: str


def find_session_files(path: Path) -> list[SessionFile]:
    """Return the session files in a file or a folder, the earliest changed first.

    Raises:
        OSError: the folder cannot be read.
    """
    if path.is_file():
        candidates = [path]
    else:
        candidates = [file for name in NAMES for file in path.rglob(name) if file.is_file()]
    files = []
    for candidate in candidates:
        client = recognise_client(candidate)
        # A file may be removed meanwhile.
        with suppress(FileNotFoundError):
            if client is not None:
                file = SessionFile(path=candidate, client=client)
                files.append((candidate.stat().st_mtime, candidate, file))
    return [file for _, _, file in sorted(files, key=lambda entry: entry[:2])]


def recognise_client(path: Path) -> str | None:
    """Return the client that wrote a session file, None if none did."""
    try:
        if path.suffix == ".json":
            with open_regular(path) as file:
                head = file.read(_HEAD_BYTES)
            return "gemini" if b'"sessionId"' in head and b'"projectHash"' in head else None
        for number, record in read_numbered(path):
            keys = record.keys()
            if {"sessionId", "projectHash"} <= keys:
                return "gemini"
            if record.get("type") in ("session_meta", "response_item"):
                return "codex"
            if {"id", "timestamp", "instructions"} <= keys:
                return "codex"
            if {"sessionId", "type"} <= keys:
                return "claude-code"
            if number > _LOOKED_AT:
                return None
    except OSError:
        return None
    return None


def read_session(file: SessionFile) -> list[Event]:
    """Return the events of a session file, in the order of time.

    Raises:
        OSError: the file cannot be read.
    """
    events = list(CLIENTS[file.client](file.path))
    # The sort is stable; a clock that was set back does not reorder a session much.
    return sorted(events, key=lambda event: event.at)
