"""Collects the events of a session file while it is read: a call waits for its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from attrs import define, field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.timestamps import read_moment
from infinite_memory.features.sessions.events.event import Event, EventKind
from infinite_memory.features.sessions.events.folders import Folders
from infinite_memory.features.sessions.events.tools import Call, event_of_call

_MAX_CHARS = 100_000
_MAX_NAME_CHARS = 200
_MAX_DEPTH = 50
_UNNAMEABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@frozen(kw_only=True)
class _Waiting:
    """A call without its answer yet."""

    tool: str
    arguments: Mapping[str, Any] | str
    at: datetime
    position: int
    name: str
    folder: str
    branch: str


@define(kw_only=True)
class EventBuilder:
    """The events of a session file, in the order in which they began.

    `changed_at`, in seconds since 1970, stands for the time of events without one.
    """

    client: str
    session: str
    changed_at: float
    folder: str = ""
    branch: str = ""
    position: int = 0
    _at: datetime | None = None
    _events: list[Event | _Waiting] = field(factory=list)
    _waiting: dict[str, int] = field(factory=dict)
    _names: dict[str, int] = field(factory=dict)
    _folders: Folders = field(factory=Folders)

    def enter(
        self,
        position: int,
        *,
        at: object = None,
        session: object = None,
        folder: object = None,
        branch: object = None,
    ) -> None:
        """Go on to a line or an item of the file; what it does not tell stays as it was."""
        self.position = position
        self._at = _read_time(at) or self._at
        if isinstance(session, str) and session:
            self.session = _name(session)
        if isinstance(folder, str) and folder:
            self.folder = folder
        if isinstance(branch, str) and branch:
            self.branch = _name(branch)

    def say(self, speaker: str, text: str, *, name: object = None) -> None:
        """Add a message, unless it is blank."""
        if not text.strip():
            return
        event = Event(
            kind=EventKind.MESSAGE,
            at=self._moment(),
            position=self.position,
            name=self._unique(name),
            session=self.session,
            folder=self._folders.root_of(self.folder),
            branch=self.branch,
            speaker=speaker,
            text=_storable(text[:_MAX_CHARS]),
        )
        self._events.append(event)

    def call(self, call_id: object, tool: object, arguments: object) -> None:
        """Add a call of a tool, whose answer may follow."""
        if not isinstance(tool, str) or not tool:
            return
        key = call_id if isinstance(call_id, str) and call_id else f"line {self.position}"
        waiting = _Waiting(
            tool=_name(tool),
            arguments=arguments if isinstance(arguments, Mapping | str) else {},
            at=self._moment(),
            position=self.position,
            name=self._unique(key),
            folder=self.folder,
            branch=self.branch,
        )
        self._waiting[key] = len(self._events)
        self._events.append(waiting)

    def answer(self, call_id: object, output: str, *, ok: bool) -> None:
        """Give the answer to a call; one without a call is passed over."""
        index = self._waiting.pop(call_id, None) if isinstance(call_id, str) else None
        if index is None:
            return
        waiting = self._events[index]
        assert isinstance(waiting, _Waiting)
        self._events[index] = self._complete(waiting, output, ok=ok)

    def finish(self) -> Iterator[Event]:
        """Yield the events; a call without an answer did not succeed."""
        for event in self._events:
            yield self._complete(event, "", ok=False) if isinstance(event, _Waiting) else event

    def _complete(self, waiting: _Waiting, output: str, *, ok: bool) -> Event:
        call = Call(
            tool=waiting.tool,
            arguments=_storable_arguments(waiting.arguments),
            output=_storable(output[:_MAX_CHARS]),
            ok=ok,
            at=waiting.at,
            position=waiting.position,
            name=waiting.name,
            session=self.session,
            folder=waiting.folder,
            branch=waiting.branch,
        )
        return event_of_call(call, self._folders)

    def _moment(self) -> datetime:
        return self._at or datetime.fromtimestamp(self.changed_at, UTC)

    def _unique(self, name: object) -> str:
        base = _name(name) if isinstance(name, str) and name else f"{self.position}"
        number = self._names.get(base, 0)
        self._names[base] = number + 1
        return f"{base}#{number}" if number else base


def text_in(content: object, depth: int = 0) -> str:
    """Return the text in a content: a text, or a list of texts and of blocks with a text."""
    if isinstance(content, str):
        return content
    if depth == _MAX_DEPTH:
        return ""
    if isinstance(content, Mapping):
        return text_in(content.get("text") or content.get("output") or "", depth + 1)
    if isinstance(content, list):
        return "\n\n".join(filter(None, (text_in(part, depth + 1) for part in content)))
    return ""


def _read_time(value: object) -> datetime | None:
    try:
        return read_moment(value, "UTC").astimezone(UTC) if isinstance(value, str) else None
    except (InvalidInput, OverflowError):
        return None


def _storable(text: str) -> str:
    """Return a text without lone surrogates and NUL, which no storage takes."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def _name(text: str) -> str:
    """Return a name on one line, without what no storage takes."""
    return _UNNAMEABLE.sub("\ufffd", _storable(text[:_MAX_NAME_CHARS]))


def _storable_arguments(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return _storable(value)
    if depth == _MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        return {str(name): _storable_arguments(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_storable_arguments(inner, depth + 1) for inner in value]
    return value
