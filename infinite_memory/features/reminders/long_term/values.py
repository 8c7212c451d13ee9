"""Long-term memories as a caller gets them, their names, and the answers about them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import datetime
from hashlib import blake2b
from typing import Self

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.conversation.trigger import Trigger
from infinite_memory.core.values.scope import fold_name

DEFAULT_CONVERSATION = "default"
"""The conversation of a long-term memory whose caller names none."""

_PREFIX = "reminder:"
_DIGEST_BYTES = 16


def check_name(name: object) -> str:
    """Return the name of a long-term memory in NFC, without white space around it.

    Raises:
        InvalidInput: it is no text of 1 to 256 characters on one line.
    """
    return unicodedata.normalize("NFC", check_label(name, "name"))


def fold_memory_name(name: str) -> str:
    """Return the form in which names of long-term memories are compared.

    Letter case and surrounding white space do not count; every other sign does, so that "C++" and
    "C#", or two names of punctuation alone, stay different. Keys of facts are folded more, and are
    no names of this kind.
    """
    return fold_name(name)


def name_id(name: str, conversation_id: str, scope: str) -> str:
    """Return the id of a new memory with this name, the same in every process.

    Of two processes that add the name at once, the storage refuses the later.
    """
    parts = [fold_name(scope), conversation_id, fold_memory_name(name)]
    content = b"".join(b"%d:%s" % (len(encoded), encoded) for encoded in map(str.encode, parts))
    return _PREFIX + blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


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
