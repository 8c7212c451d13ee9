"""What an assistant has left on this machine before it was connected: sessions, and notes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from infinite_memory.core.files.regular import open_regular
from infinite_memory.features.sessions.spool import append_line

SESSION_FOLDERS = {
    "claude-code": ".claude/projects",
    "codex": ".codex/sessions",
    "gemini": ".gemini/tmp",
}
"""Where the clients keep their sessions, in the folder of the user."""

# The patterns of the files of sessions, the file of what the user told the client for all projects,
# and the name of such a file in a project.
_PLACES = {
    "claude-code": ("*/*.jsonl", ".claude/CLAUDE.md", "CLAUDE.md"),
    "codex": ("**/rollout-*.jsonl", ".codex/AGENTS.md", "AGENTS.md"),
    "gemini": ("*/chats/session-*.json*", ".gemini/GEMINI.md", "GEMINI.md"),
}
_OWN_NOTES = "memory/*.md"
_FOLDER = re.compile(rb'"cwd":\s*("(?:[^"\\]|\\.)*")')
_READ_BYTES = 64 << 10
_MOST_READ = 200


@frozen
class ExistingNote:
    """A file of notes, and the folder of the project that it is about, "" for all of them."""

    path: Path
    folder: str = ""


@frozen(kw_only=True)
class Existing:
    """The sessions of a client, the last changed first, and the notes that it reads."""

    client: str
    sessions: tuple[Path, ...] = ()
    notes: tuple[ExistingNote, ...] = ()


def find_existing(client: str, home: Path) -> Existing:
    """Return what a client has left in the folder `home` of a user, nothing for others."""
    if client not in _PLACES:
        return Existing(client=client)
    pattern, own, in_project = _PLACES[client]
    found = _find_files(home / SESSION_FOLDERS[client], pattern)
    sessions = sorted(found, key=_changed_at, reverse=True)
    places = _find_projects(sessions)
    notes = [ExistingNote(home / own), *_find_own_notes(places)]
    notes += [ExistingNote(Path(folder, in_project), folder) for _, folder in places]
    return Existing(
        client=client,
        sessions=tuple(sessions),
        notes=tuple(sorted({note for note in notes if note.path.is_file()}, key=str)),
    )


def note_sessions(home: Path, client: str, sessions: Iterable[Path]) -> None:
    """Note sessions as a hook of the client does, so that they are taken in.

    Raises:
        OSError: they could not be noted.
    """
    for session in sessions:
        append_line(home, {"client": client, "transcript": str(session), "folder": ""})


def _find_files(folder: Path, pattern: str) -> Iterator[Path]:
    with suppress(OSError):
        yield from (file for file in folder.glob(pattern) if file.is_file())


def _changed_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _find_projects(sessions: Sequence[Path]) -> set[tuple[Path, str]]:
    """Return the folders of sessions, each with the folders of projects that its sessions name.

    The newest session in each folder is read, and the newest of all.
    """
    newest = {session.parent: session for session in reversed(sessions)}
    read = {*newest.values(), *sessions[:_MOST_READ]}
    named = ((session.parent, _read_folder(session)) for session in read)
    return {(place, folder) for place, folder in named if folder}


def _read_folder(session: Path) -> str:
    try:
        with open_regular(session) as stream:
            match = _FOLDER.search(stream.read(_READ_BYTES))
        return str(json.loads(match[1])) if match is not None else ""
    except (OSError, ValueError):
        return ""


def _find_own_notes(places: Iterable[tuple[Path, str]]) -> Iterator[ExistingNote]:
    for place, folder in places:
        yield from (ExistingNote(file, folder) for file in _find_files(place, _OWN_NOTES))
