"""An event: what a person, an assistant or a tool did in a session."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import frozen

from infinite_memory.core.plain import PlainData


class EventKind(StrEnum):
    """The kind of an event."""

    MESSAGE = "message"
    TOOL = "tool"
    EDIT = "edit"
    COMMIT = "commit"
    TODO = "todo"


@frozen(kw_only=True)
class Todo(PlainData):
    """An item of a list of things to do; `status` is pending, in_progress or completed."""

    text: str
    status: str


@frozen(kw_only=True)
class Event(PlainData):
    """Something that happened in a session.

    `position` is the number of the line or of the item in the file, from 1, at which it begins.
    `name` identifies it for ever within its session, and `act` in every session that a client has
    copied it to; both are made of the client's own id, or else of the content, never of a position.
    `client` is the name of the product. `folder` is the root of the repository that it
    concerns, as far as that can be told, and `files` are paths, within it where possible. A MESSAGE
    has a `speaker`, "user" or "assistant", and a `text`. A TOOL has the name of the `tool`, its
    command, pattern or path as `text`, what it printed as `output`, and whether it succeeded, `ok`.
    An EDIT changed `files`, from `before` to `after`. A COMMIT has its message as `text`, and its
    hash, "" if that is not known. A TODO has the whole list as it stands then.
    """

    kind: EventKind
    at: datetime
    position: int
    name: str = ""
    act: str = ""
    client: str = ""
    session: str = ""
    folder: str = ""
    branch: str = ""
    speaker: str = ""
    text: str = ""
    tool: str = ""
    files: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    output: str = ""
    ok: bool = True
    commit: str = ""
    todos: tuple[Todo, ...] = ()

    @property
    def is_request(self) -> bool:
        """Whether a person wrote it."""
        return self.kind is EventKind.MESSAGE and self.speaker == "user"
