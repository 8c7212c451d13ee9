"""What an assistant has left on this machine before it was connected: sessions, and notes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from attrs import frozen

from infinite_memory.core.files.regular import open_regular
from infinite_memory.features.sessions.spool import append_line

# By the name of the client: the folder of its sessions, the patterns of their files, the file of
# what the user told it for all projects, and the name of such a file in a project.
_PLACES = {
    "claude-code": (".claude/projects", ("*/*.jsonl",), ".claude/CLAUDE.md", "CLAUDE.md"),
    "codex": (".codex/sessions", ("**/rollout-*.jsonl",), ".codex/AGENTS.md", "AGENTS.md"),
    "gemini": (
        ".gemini/tmp",
        ("*/chats/session-*.json", "*/chats/session-*.jsonl"),
        ".gemini/GEMINI.md",
        "GEMINI.md",
    ),
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
    place, patterns, own, in_project = _PLACES[client]
    sessions = sorted(
        (file for pattern in patterns for file in _find_files(home / place, pattern)),
        key=_changed_at,
        reverse=True,
    )
    folders = _find_folders(sessions)
    notes = [ExistingNote(home / own), *_find_own_notes(folders)]
    notes += [ExistingNote(Path(folder, in_project), folder) for folder in set(folders.values())]
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


def _find_folders(sessions: Iterable[Path]) -> dict[Path, str]:
    """Return the folder of a project by each folder of sessions, as the newest of them names it."""
    folders: dict[Path, str] = {}
    for session in islice((one for one in sessions if one.parent not in folders), _MOST_READ):
        found = _read_folder(session)
        if found:
            folders.setdefault(session.parent, found)
    return folders


def _read_folder(session: Path) -> str:
    try:
        with open_regular(session) as stream:
            match = _FOLDER.search(stream.read(_READ_BYTES))
        return str(json.loads(match[1])) if match is not None else ""
    except (OSError, ValueError):
        return ""


def _find_own_notes(folders: dict[Path, str]) -> Iterator[ExistingNote]:
    for place, folder in folders.items():
        yield from (ExistingNote(file, folder) for file in _find_files(place, _OWN_NOTES))
