"""What was shown to a session unasked, and what of it was used: a file of each session.

The file is in `run/shown` of the home folder, so that whichever server answers the next hook of the
session knows of it.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import field, frozen

from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.features.sessions.events.event import Event
from infinite_memory.search.text.question_terms import find_subject

_FOLDER = ("run", "shown")
_KEPT_SECONDS = 90 * 24 * 3600
_MAX_BYTES = 1 << 20
_START, _USED = "start", "used"
_LEAST_SHARE, _LEAST_WORDS = 0.5, 2
# A longer text is mostly what somebody pasted, or a whole file.
_MAX_CHARS = 4000


@frozen(kw_only=True)
class Receipt(PlainData):
    """What was shown unasked: `times` by moment, `memories`, each once a session, and `tokens`.

    `used` is how many of them the assistant took up later in the session; see `find_used`.
    """

    sessions: int = 0
    times: Mapping[str, int] = field(factory=dict)
    memories: int = 0
    tokens: int = 0
    used: int = 0


@frozen
class ShownMemories:
    """The memories that the session with an id was shown unasked; without an id none are kept."""

    home: Path
    session: str

    @property
    def _path(self) -> Path:
        name = sha256(self.session.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.home.joinpath(*_FOLDER, f"{name}.jsonl")

    def read(self) -> frozenset[str]:
        """Return the ids of the memories that were shown since the session last began."""
        return _list_ids(self._read_since_start())

    def read_begin(self, now: datetime) -> datetime:
        """Return when the session began as far as is known: `now`, which is noted, if it is new."""
        for line in self._read_since_start():
            with suppress(OverflowError, OSError):
                return datetime.fromtimestamp(line["at"], UTC)
        self.add(_START, (), tokens=0, at=now)
        return now

    @property
    def has_begun(self) -> bool:
        """Whether the session has a file."""
        return self._path.exists()

    def begin_once(self) -> bool:
        """Return whether the session is new: of several that ask, one alone is told so."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.open("x").close()
        except OSError:
            return False
        return True

    def add(
        self, moment: str, ids: Iterable[str], *, tokens: int, at: datetime, scope: str = ""
    ) -> None:
        """Note what was shown at a moment of the session; a failure leaves it out.

        `scope` is that of the project at work. With "start" the session begins, or begins anew.
        """
        if not self.session:
            return
        line = {
            "moment": moment,
            "at": int(at.timestamp()),
            "ids": [*ids],
            "tokens": tokens,
            "scope": scope,
        }
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if moment == _START:
                _remove_old(self._path.parent)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(line)}\n")

    def note_used(self, services: Services, events: Sequence[Event]) -> None:
        """Note which of the memories that were shown the session has used; see `find_used`.

        `events` are those of the session; what was looked at before is not looked at again.
        """
        lines = list(_read_lines(self._path)) if self.session else []
        known = _list_ids(line for line in lines if line["moment"] == _USED)
        waiting = {
            memory_id: line["at"]
            for line in reversed(lines)
            for memory_id in line["ids"]
            if memory_id not in known
        }
        since = max((line["at"] for line in lines if line["moment"] == _USED), default=0)
        if waiting and events and events[-1].at.timestamp() >= since:
            memories = load_memories(services, [*waiting]).values()
            used = find_used(memories, waiting, events, since=since)
            scope = lines[-1]["scope"]
            self.add(_USED, used, tokens=0, at=services.clock(), scope=scope)

    def _read_since_start(self) -> list[dict[str, Any]]:
        lines = list(_read_lines(self._path)) if self.session else []
        starts = [place for place, line in enumerate(lines) if line["moment"] == _START]
        return lines[starts[-1] if starts else 0 :]


NOTHING_SHOWN = Receipt()


def find_used(
    memories: Iterable[Memory], shown_at: Mapping[str, int], events: Sequence[Event], *, since: int
) -> list[str]:
    """Return the ids of the memories that an assistant used after they were shown.

    A memory counts as used if a later message, command or edit of the assistant has at least half
    of the telling words of the memory that the user has not said in the session. With fewer than
    two such words it does not count: the assistant may have followed the user. Times are seconds
    since 1970; events before `since` are left out.
    """
    said = frozenset[str]().union(*(_find_words(each.text) for each in events if each.is_request))
    done = [
        (each.at.timestamp(), _find_words(each.text) | _find_words(each.after))
        for each in events
        if not each.is_request and each.at.timestamp() >= since
    ]
    used = []
    for memory in memories:
        telling = _find_words(memory.text) - said
        if len(telling) >= _LEAST_WORDS and any(
            at >= shown_at[memory.id] and len(telling & words) >= _LEAST_SHARE * len(telling)
            for at, words in done
        ):
            used.append(memory.id)
    return used


def _find_words(text: str) -> frozenset[str]:
    return find_subject(text[:_MAX_CHARS])


def sum_shown(
    home: Path,
    scopes: Collection[str] | None,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Receipt:
    """Return what was shown to the sessions at work on `scopes`, None for all, in a time."""
    first = -math.inf if since is None else since.timestamp()
    last = math.inf if until is None else until.timestamp()
    sessions: list[list[dict[str, Any]]] = []
    with suppress(OSError):
        sessions = [
            [
                line
                for line in _read_lines(path)
                if (scopes is None or line["scope"] in scopes) and first <= line["at"] < last
            ]
            for path in home.joinpath(*_FOLDER).iterdir()
        ]
    return _sum_lines(sessions)


def _sum_lines(sessions: Iterable[Sequence[Mapping[str, Any]]]) -> Receipt:
    times: Counter[str] = Counter()
    memories, tokens, used, count = 0, 0, 0, 0
    for lines in sessions:
        shown = [line for line in lines if line["ids"] and line["moment"] != _USED]
        times.update(line["moment"] for line in shown)
        memories += len(_list_ids(shown))
        tokens += sum(line["tokens"] for line in shown)
        used += len(_list_ids(line for line in lines if line["moment"] == _USED))
        count += bool(shown)
    return Receipt(
        sessions=count,
        times=dict(sorted(times.items())),
        memories=memories,
        tokens=tokens,
        used=used,
    )


def _list_ids(lines: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(memory_id for line in lines for memory_id in line["ids"])


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    lines: list[bytes] = []
    with suppress(OSError), open_regular(path) as file:
        lines = file.read(_MAX_BYTES).splitlines()
    for text in lines:
        # A line that a full disk has cut, or that somebody else wrote, tells nothing.
        with suppress(ValueError, RecursionError, TypeError, AttributeError, LookupError):
            line = json.loads(text)
            ids, at, tokens = line["ids"], line["at"], line["tokens"]
            if isinstance(ids, list) and isinstance(at, int) and isinstance(tokens, int):
                yield {
                    "moment": f"{line['moment']}",
                    "at": at,
                    "ids": [each for each in ids if isinstance(each, str)],
                    "tokens": tokens,
                    "scope": f"{line.get('scope', '')}",
                }


def _remove_old(folder: Path) -> None:
    before = time.time() - _KEPT_SECONDS
    for path in folder.iterdir():
        with suppress(OSError):  # another process may have removed it
            if path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
