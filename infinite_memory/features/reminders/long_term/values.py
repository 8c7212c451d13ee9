"""Long-term memories as a caller gets them, and the answers of a search and of a look ahead."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Self

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.conversation.trigger import Trigger


@frozen(kw_only=True)
class LongTermMemory(PlainData):
    """A named memory of a conversation that comes up when the condition of its trigger holds.

    `created_context` and `updated_context` say in which situation it was added and last updated.
    `updated_at` is None if it never changed. It came up `firings` times since its trigger was set,
    the last time at `last_fired_at`. `disabled_because` is None for a memory that is enabled;
    `error` says why its condition could not be checked the last time, None if it could.
    """

    id: str
    name: str
    prompt: str
    conversation_id: str
    scope: str
    trigger: Trigger
    enabled: bool
    disabled_because: str | None = None
    created_at: datetime
    updated_at: datetime | None = None
    created_context: str | None = None
    updated_context: str | None = None
    tags: tuple[str, ...] = ()
    revision: int = 1
    firings: int = 0
    last_fired_at: datetime | None = None
    error: str | None = None


@frozen(kw_only=True)
class TriggerFailure(PlainData):
    """A condition that could not be checked, and why; it counts as false."""

    id: str
    name: str
    error: str


@frozen(kw_only=True)
class Activation(PlainData):
    """The long-term memories that come up in a conversation at a moment.

    `activated` are the memories whose condition holds, the earliest first; `random` are at most two
    further memories of the conversation, drawn with `seed`. `total` counts the memories of the
    conversation, `disabled` the memories whose trigger is not enabled, and `resting` the memories
    whose condition holds during their cooldown, or after their last firing. Of the `conditions`
    that were to be checked, those of the memories named in `unchecked` were not, because the time
    of the call was over; they come first in the next one.
    """

    conversation_id: str
    activated: tuple[LongTermMemory, ...]
    random: tuple[LongTermMemory, ...]
    seed: int
    total: int
    disabled: int = 0
    resting: int = 0
    failures: tuple[TriggerFailure, ...] = ()
    conditions: int = 0
    unchecked: tuple[str, ...] = ()


@frozen(kw_only=True)
class DueReminder(PlainData):
    """A reminder that is due at `due_at`: a dated memory, or one whose condition holds then.

    `name` is its title, None without one. `is_trigger` is whether it has a condition.
    """

    id: str
    name: str | None
    text: str
    scope: str
    conversation_id: str | None
    due_at: datetime
    is_trigger: bool = False
    important: bool = False


class DueReminders(tuple[DueReminder, ...]):
    """The reminders that are due, the earliest first.

    Of the `conditions` that were to be checked, those of the memories named in `unchecked` were
    not, because the time of the call was over.
    """

    conditions: int
    unchecked: tuple[str, ...]

    def __new__(
        cls,
        reminders: Iterable[DueReminder],
        *,
        conditions: int = 0,
        unchecked: Iterable[str] = (),
    ) -> Self:
        """Return the reminders with what was not checked."""
        self = super().__new__(cls, tuple(reminders))
        self.conditions, self.unchecked = conditions, tuple(unchecked)
        return self


def describe_unchecked(unchecked: int, conditions: int) -> str:
    """Return the sentence on conditions that there was no time to check."""
    return (
        f"{unchecked:,} of {conditions:,} conditions of reminders were not checked, since the"
        " others took the time of the call."
    )
