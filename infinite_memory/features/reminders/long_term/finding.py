"""Find the long-term memory that a caller means by its name."""

from __future__ import annotations

from collections.abc import Iterable

from infinite_memory.core.errors import InvalidInput, NotFound
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.ids import ENDING_CHARS
from infinite_memory.core.values.messages import suggest_name
from infinite_memory.engine.scopes import ALL
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.long_term.book import TrackedMemory, select_tracked
from infinite_memory.features.reminders.long_term.values import (
    DEFAULT_CONVERSATION,
    check_name,
    fold_memory_name,
)

_MAX_LISTED = 5


def check_conversation(value: object) -> str:
    """Return the id of a conversation, the default one for None.

    Raises:
        InvalidInput: it cannot be used.
    """
    return DEFAULT_CONVERSATION if value is None else check_conversation_id(value)


def find_named(
    services: Services,
    name: object,
    conversation_id: str | None,
    scope: str | Iterable[str] | None,
) -> TrackedMemory:
    """Return the long-term memory with that name, id, or ending of an id of 8 characters or more.

    None for the conversation means all of them.

    Raises:
        InvalidInput: several memories have the name; the message has their ids.
        NotFound: no memory has it; the message has the nearest name.
    """
    wanted = check_name(name)
    tracked = select_tracked(services, conversation_id, scope)
    by_id = [entry for entry in tracked if entry.memory.id == wanted]
    folded = fold_memory_name(wanted)
    matching = by_id or [entry for entry in tracked if entry.folded_name == folded]
    if not matching and len(wanted) >= ENDING_CHARS:
        matching = [entry for entry in tracked if entry.memory.id.endswith(wanted)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        shown = "; ".join(
            f"{entry.memory.id} in {entry.memory.scope!r} of the conversation"
            f" {entry.conversation_id!r:.100}"
            for entry in matching[:_MAX_LISTED]
        )
        raise InvalidInput(
            f"{len(matching)} long-term memories are named {wanted!r:.100}: give an id in place of"
            f" the name: {shown}"
        )
    raise _make_not_found(services, wanted, tracked, conversation_id)


def _make_not_found(
    services: Services, name: str, tracked: Iterable[TrackedMemory], conversation_id: str | None
) -> NotFound:
    """Return the error for a name that no memory of the conversation has.

    It says where else the name is, in the scopes that are open, or else the nearest name.
    """
    where = "" if conversation_id is None else f" in the conversation {conversation_id!r:.100}"
    sentence = f"there is no long-term memory {name!r:.100}{where}"
    folded = fold_memory_name(name)
    for entry in select_tracked(services, None, ALL):
        if entry.folded_name == folded:
            place = f"the conversation {entry.conversation_id!r:.100}"
            if entry.conversation_id == conversation_id:
                place = f"the scope {entry.memory.scope!r}"
            return NotFound(f"{sentence}: {place} has one of that name")
    names = [entry.name for entry in tracked]
    if not names:
        return NotFound(f"{sentence}, nor any other: add it first")
    return NotFound(f"{sentence}; the nearest is {suggest_name(name, names)!r:.200}")
