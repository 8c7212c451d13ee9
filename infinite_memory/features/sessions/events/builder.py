"""Collects the events of a session file while it is read: a call waits for its answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import define, field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.draft import storable
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.timestamps import read_moment
from infinite_memory.features.sessions.events.event import Event, EventKind
from infinite_memory.features.sessions.events.folders import Folders
from infinite_memory.features.sessions.events.tools import Call, event_of_call

_OPENING = re.compile(r"\s*<([A-Za-z][^<>]{0,500})>")
# Two words or more; with attributes behind them, the words are joined.
_JOINED_NAME = re.compile(r"(?:[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)+|skill)(?=\s|\Z)")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_ ][A-Za-z0-9]+)+")
# This one also stands behind and within what a person wrote.
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
# Sentences that Claude Code, Codex and Gemini CLI write in the name of the person.
_SENTENCES = (
    "[Request interrupted by user",
    "# AGENTS.md ",
    "System: Please continue.",
    "You are an AI agent that brings the power of Gemini",
)
_MAX_OUTPUT_CHARS = 100_000
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
    act: str
    folder: str
    branch: str


@define(kw_only=True)
class EventBuilder:
    """The events of a session file, in the order in which they began.

    `changed_at` stands for the time of events without one. `problems` are the positions of what
    cannot be read, and why not.
    """

    client: str
    session: str
    changed_at: datetime
    folder: str = ""
    branch: str = ""
    position: int = 0
    problems: list[tuple[int, str]] = field(factory=list)
    _at: datetime | None = None
    _stamp: object = None
    _events: list[Event | _Waiting] = field(factory=list)
    _waiting: dict[str, int] = field(factory=dict)
    _names: dict[str, int] = field(factory=dict)
    _acts: dict[str, int] = field(factory=dict)
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
        self._stamp = at
        self._at = self._read_time(at) or self._at
        if isinstance(session, str) and session:
            self.session = _make_name(session)
        if isinstance(folder, str) and folder:
            self.folder = folder
        if isinstance(branch, str) and branch:
            self.branch = _make_name(branch)

    def say(self, speaker: str, blocks: Sequence[str], *, name: object = None) -> bool:
        """Add a message, and return whether it says anything beside what the client added."""
        said = "\n\n".join(filter(None, map(str.strip, blocks)))
        text = remove_client_text(blocks) if speaker == "user" else said
        if not text:
            return False
        # Its time is no part of it: Codex writes copies with the time of the copy.
        identity = self._identify_event(name, [speaker, said])
        if identity is not None:
            event = Event(
                kind=EventKind.MESSAGE,
                at=self._choose_moment(),
                position=self.position,
                name=identity[0],
                act=identity[1],
                client=self.client,
                session=self.session,
                folder=self._folders.root_of(self.folder),
                branch=self.branch,
                speaker=speaker,
                text=storable(text),
            )
            self._events.append(event)
        return True

    def call(self, call_id: object, tool: object, arguments: object) -> None:
        """Add a call of a tool, whose answer may follow."""
        if not isinstance(tool, str) or not tool:
            return
        given = _make_storable(arguments if isinstance(arguments, Mapping | str) else {})
        identity = self._identify_event(call_id, [tool, self._stamp, given])
        if identity is None:
            return
        waiting = _Waiting(
            tool=_make_name(tool),
            arguments=given,
            at=self._choose_moment(),
            position=self.position,
            name=identity[0],
            act=identity[1],
            folder=self.folder,
            branch=self.branch,
        )
        if isinstance(call_id, str):
            self._waiting[call_id] = len(self._events)
        self._events.append(waiting)

    def answer(self, call_id: object, output: str, *, ok: bool) -> None:
        """Give the answer to a call; one without a call is passed over."""
        index = self._waiting.pop(call_id, None) if isinstance(call_id, str) else None
        if index is None:
            return
        waiting = self._events[index]
        assert isinstance(waiting, _Waiting)
        self._events[index] = self._complete_call(waiting, output, ok=ok)

    def leave_out(self, positions: Collection[int]) -> None:
        """Leave out the events that began at some positions."""
        self._events = [event for event in self._events if event.position not in positions]

    def finish(self) -> Iterator[Event]:
        """Yield the events; a call without an answer did not succeed."""
        for event in self._events:
            yield self._complete_call(event, "", ok=False) if isinstance(event, _Waiting) else event

    def refuse(self, what: str) -> None:
        """Note that what is at the position cannot be read."""
        self.problems.append((self.position, what))

    def _complete_call(self, waiting: _Waiting, output: str, *, ok: bool) -> Event:
        call = Call(
            tool=waiting.tool,
            arguments=waiting.arguments,
            output=storable(_remove_reminders(output[:_MAX_OUTPUT_CHARS])),
            ok=ok,
            at=waiting.at,
            position=waiting.position,
            name=waiting.name,
            act=waiting.act,
            client=self.client,
            session=self.session,
            folder=waiting.folder,
            branch=waiting.branch,
        )
        return event_of_call(call, self._folders)

    def _choose_moment(self) -> datetime:
        return self._at or self.changed_at

    def _read_time(self, value: object) -> datetime | None:
        if value in (None, ""):
            return None
        try:
            if not isinstance(value, str):
                raise InvalidInput(f"{value!r:.60} is no time")
            return read_moment(value, "UTC").astimezone(UTC)
        except (InvalidInput, OverflowError) as error:
            self.refuse(str(error))
            return None

    def _identify_event(self, own: object, content: list[object]) -> tuple[str, str] | None:
        """Return the name and the act of an event, None if the client has written it before."""
        if own is not None and not isinstance(own, str):
            self.refuse(f"the id is {own!r:.60}, and no text")
        if isinstance(own, str) and own:
            act = import_id([self.client, own, *content])
            if act in self._acts:
                return None
            self._acts[act] = 1
            return self._make_unique(_make_name(own)), act
        content = [self.client, self._stamp or self.session, *content]
        base = import_id(content)
        self._acts[base] = number = self._acts.get(base, 0) + 1
        act = base if number == 1 else import_id([*content, number])
        return act, act

    def _make_unique(self, base: str) -> str:
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


def _make_name(text: str) -> str:
    """Return a name on one line, without what no storage takes."""
    return storable(_UNNAMEABLE.sub("\ufffd", text[:_MAX_NAME_CHARS]))


def _make_storable(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return storable(value)
    if depth == _MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        return {str(name): _make_storable(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_make_storable(inner, depth + 1) for inner in value]
    return value


def remove_client_text(blocks: Iterable[str]) -> str:
    """Return what the person wrote in the blocks of a message, "" if that is nothing."""
    return "\n\n".join(filter(None, map(_remove_from, blocks)))


def _remove_from(block: str) -> str:
    text = _remove_reminders(block)
    start = 0
    while (end := _find_end(text, start)) is not None:
        start = end
    written = text[start:].strip()
    return "" if written.startswith(_SENTENCES) else written


def _remove_reminders(text: str) -> str:
    kept, start = [], 0
    while (begin := text.find(_REMINDER, start)) >= 0:
        end = text.find(_REMINDER_END, begin)
        if end < 0:
            break
        kept.append(text[start:begin])
        start = end + len(_REMINDER_END)
    return "".join([*kept, text[start:]])


def _find_end(text: str, start: int) -> int | None:
    """Return where the element of a client that begins at `start` ends, None if none begins there.

    One name is looked for, so that the time is linear in the text.
    """
    opening = _OPENING.match(text, start)
    if opening is None:
        return None
    name = _JOINED_NAME.match(opening[1]) or _NAME.fullmatch(opening[1])
    if name is None:
        return None
    closing = f"</{name[0]}>"
    end = text.find(closing, opening.end())
    return None if end < 0 else end + len(closing)
