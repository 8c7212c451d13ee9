"""The state of the piece of work that a session is in, as far as its events show it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from infinite_memory.features.sessions.events.event import Event, EventKind, Todo

_UNDOES = re.compile(
    r"\bgit\s+(?:-C\s+\S+\s+)?(?:checkout\b(?!\s+-b)[^;&|]*(?:--|\s\.)|restore\b|reset\s+--hard)"
)
_MAX_COMMAND_CHARS = 2000

File = tuple[str, str]
"""The folder of a repository, and a path within it."""


class Piece:
    """Some events in a row, and what they say of the work; nothing here reads words."""

    def __init__(self, events: Sequence[Event]) -> None:
        """Describe the events, at least one."""
        self.events = tuple(events)

    @property
    def begins(self) -> datetime:
        """When the first event happened."""
        return self.events[0].at

    @property
    def ends(self) -> datetime:
        """When the last event happened."""
        return self.events[-1].at

    @property
    def duration(self) -> timedelta:
        """The time from the first event to the last."""
        return self.ends - self.begins

    @cached_property
    def requests(self) -> tuple[str, ...]:
        """What the person wrote."""
        return tuple([event.text for event in self.events if event.is_request])

    @cached_property
    def folders(self) -> frozenset[str]:
        """The repositories in which something was read, run or changed."""
        return frozenset(self._list_work_folders())

    @property
    def first_folder(self) -> str | None:
        """The repository of the first event that is work, None if nothing is."""
        return next(self._list_work_folders(), None)

    @cached_property
    def touched(self) -> frozenset[File]:
        """The files that were read or changed."""
        return frozenset((event.folder, file) for event in self.events for file in event.files)

    @cached_property
    def changed(self) -> frozenset[File]:
        """The files that were changed."""
        return frozenset(
            (event.folder, file)
            for event in self.events
            if event.kind is EventKind.EDIT and event.ok
            for file in event.files
        )

    @property
    def is_committed(self) -> bool:
        """Whether there was a commit, and no file was changed after it."""
        last = self._find_last(EventKind.COMMIT)
        return last is not None and last > (self._find_last(EventKind.EDIT) or -1)

    @property
    def is_verified(self) -> bool:
        """Whether a command succeeded after the last change of a file."""
        last_edit = self._find_last(EventKind.EDIT)
        if last_edit is None:
            return False
        return any(
            event.kind in (EventKind.TOOL, EventKind.COMMIT) and event.ok and not event.files
            for event in self.events[last_edit + 1 :]
        )

    @cached_property
    def failure(self) -> int | None:
        """The position of the first command that failed, None if none did."""
        return next(
            (
                index
                for index, event in enumerate(self.events)
                if event.kind in (EventKind.TOOL, EventKind.COMMIT) and not event.ok
            ),
            None,
        )

    @property
    def is_solved(self) -> bool:
        """Whether a command failed, a file was changed after it, and a command then succeeded."""
        if self.failure is None:
            return False
        return Piece(self.events[self.failure :]).is_verified and not self.ends_in_failure

    @property
    def began_with_failure(self) -> bool:
        """Whether a command failed before any file was changed, as when a fault is reproduced."""
        edits = [n for n, event in enumerate(self.events) if event.kind is EventKind.EDIT]
        return self.failure is not None and (not edits or self.failure < edits[0])

    @property
    def ends_in_failure(self) -> bool:
        """Whether the last command failed."""
        for event in reversed(self.events):
            if event.kind in (EventKind.TOOL, EventKind.COMMIT) and not event.files:
                return not event.ok
        return False

    @property
    def is_undone(self) -> bool:
        """Whether what was changed was taken back with git, and nothing was changed after it."""
        for event in reversed(self.events):
            if event.kind in (EventKind.EDIT, EventKind.COMMIT) and event.ok:
                return False
            command = event.text[:_MAX_COMMAND_CHARS]
            if event.kind is EventKind.TOOL and event.ok and _UNDOES.search(command):
                return bool(self.changed)
        return False

    @property
    def is_talk(self) -> bool:
        """Whether several things were asked, no file was changed, and no command failed."""
        return len(self.requests) > 1 and not self.changed and self.failure is None

    def _list_work_folders(self) -> Iterator[str]:
        return (event.folder for event in self.events if is_work(event))

    def _find_last(self, kind: EventKind) -> int | None:
        for index in range(len(self.events) - 1, -1, -1):
            if self.events[index].kind is kind and self.events[index].ok:
                return index
        return None


def is_work(event: Event) -> bool:
    """Return whether something was read, run or changed, and where is known."""
    return event.kind not in (EventKind.MESSAGE, EventKind.TODO) and bool(event.folder)


def completed_by(event: Event, before: Sequence[Todo] | None) -> tuple[str, ...]:
    """Return the items that a list of things to do completes, by the list `before` it.

    What the first list has completed already is not counted.
    """
    if before is None:
        return ()
    done = {todo.text for todo in before if todo.status == "completed"}
    return tuple(
        [todo.text for todo in event.todos if todo.status == "completed" and todo.text not in done]
    )
