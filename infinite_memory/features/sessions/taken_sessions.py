"""The session files that were taken in, as they were then, and whose pieces of work still wait.

Each store has a file in the spool, to which lines are added. The last line of a session counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from attrs import asdict, evolve, frozen

from infinite_memory.core.files.json_lines import parse_object, read_lines
from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.values.ids import import_id
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.features.sessions.conversation import message_ids
from infinite_memory.features.sessions.events.event import Event, EventKind
from infinite_memory.features.sessions.spool import FOLDER

# Raise it when a reader finds more in a session than before: every session is then read again.
_READING = 1
_MAX_LINE_BYTES = 64 << 10
_PAGE = 500


@frozen(kw_only=True)
class TakenSession:
    """A session file whose messages were stored.

    `stamp` is what `stamp_file` returned before it was read, `last` the ids of its last message and
    of its last piece of work, and `is_cut` says whether its pieces of work were stored.
    """

    transcript: str
    stamp: str
    last: Sequence[str] = ()
    is_cut: bool = False


@frozen
class TakenSessions:
    """What a store has taken in; nothing for a store that shows some scopes, or ends here."""

    services: Services

    @property
    def _path(self) -> Path:
        folder = self.services.config.home / FOLDER
        return folder / f"taken-{self.services.storage.identity}.jsonl"

    def read(self) -> dict[str, TakenSession]:
        """Return the sessions by their files, in the order in which they were first taken in."""
        sessions: dict[str, TakenSession] = {}
        with suppress(FileNotFoundError), open_regular(self._path) as stream:
            for _, line in read_lines(stream, _MAX_LINE_BYTES):
                with suppress(ValueError, TypeError):  # a full disk has cut it
                    session = TakenSession(**parse_object(line, _MAX_LINE_BYTES))
                    # Another program may have written it.
                    if {type(each) for each in (session.transcript, *session.last)} == {str}:
                        sessions[session.transcript] = session
        return sessions

    def add(self, session: TakenSession) -> None:
        """Add the line of a session.

        Raises:
            OSError: it could not be written.
        """
        line = f"\n{json.dumps(asdict(session))}\n".encode()
        with self._path.open("ab", buffering=0) as file:
            file.write(line)

    def add_messages(self, transcript: str, stamp: str, events: Sequence[Event]) -> None:
        """Add a session whose messages were stored, and whose pieces of work are not."""
        said = [event for event in events if event.kind is EventKind.MESSAGE]
        # What stands last in a file came last, whatever clock was set back.
        last = [message_ids(max(said, key=lambda event: event.position))[0]] if said else []
        self.add(TakenSession(transcript=transcript, stamp=stamp, last=last))

    def add_pieces(self, cut: Iterable[tuple[TakenSession, Sequence[str]]]) -> None:
        """Add sessions whose pieces of work were stored under these ids.

        One that has grown and was taken in anew meanwhile goes on waiting.
        """
        known = self.read()
        for session, ids in cut:
            if known.get(session.transcript) == session:
                self.add(evolve(session, is_cut=True, last=[*session.last, *ids[-1:]]))

    def find_uncut(self) -> list[TakenSession]:
        """Return the sessions whose pieces of work wait, in the order of the import."""
        return [session for session in self.read().values() if not session.is_cut]

    def leave_out_known(self, files: Iterable[Path]) -> list[Path]:
        """Return the files that are new, or that changed since they were taken in.

        A store that was restored since may not hold what was taken in: what was made of a file
        last is looked up, whether it is forgotten or erased by now or not.
        """
        listed, taken = list(files), self.read()
        same = {
            file: taken[str(file)].last
            for file in listed
            if str(file) in taken and taken[str(file)].stamp == stamp_file(self.services, file)
        }
        ids, known = list(chain.from_iterable(same.values())), set[str]()
        for start in range(0, len(ids), _PAGE):
            page = ids[start : start + _PAGE]
            known |= load_memories(self.services, page).keys()
            known |= self.services.storage.erased(page)
        return [file for file in listed if file not in same or not known.issuperset(same[file])]


def stamp_file(services: Services, file: Path) -> str:
    """Return what changes with a file, with what is wanted of sessions, and with their readers.

    It is "" for a file that cannot be looked at.
    """
    config = services.config
    wanted = [config.projects.model_dump_json(), config.chunking.model_dump_json()]
    try:
        status = file.stat()
    except OSError:
        return ""
    return import_id([_READING, status.st_size, status.st_mtime_ns, *wanted])
