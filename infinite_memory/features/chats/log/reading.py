"""Read conversations back, list them, and forget one as a whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from attrs import evolve

from infinite_memory.core.errors import NotFound
from infinite_memory.core.values.checks import check_count, check_flag
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.criteria import Conditions, Criteria
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.receipt import BulkReceipt
from infinite_memory.engine.kind_follower import KindFollower
from infinite_memory.engine.load_memories import iterate_memories
from infinite_memory.engine.retrieval.search_request import build_criteria
from infinite_memory.engine.scopes import ALL
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.bulk_erase import erase_all
from infinite_memory.engine.writes.bulk_forget import forget_all
from infinite_memory.features.chats.log.values import ConversationMessages

Value = TypeVar("Value")
_PAGE = 1000
# A commit holds the lock of the writers.
_MOST_AT_ONCE = 20_000
_LIVING = frozenset({Status.CURRENT, Status.SUPERSEDED, Status.ARCHIVED})


def conversation_criteria(
    services: Services,
    conversation_id: str | None,
    scope: str | None,
    *,
    kinds: frozenset[Kind] | None,
) -> Criteria:
    """Return the criteria of the memories of a conversation, or of any, in a scope.

    Without `scope` they are those in the default scope, and in the scope of the conversation.

    Raises:
        InvalidInput: the id cannot be used.
        UnknownScope: there is no such scope.
    """
    if conversation_id is not None:
        conversation_id = check_conversation_id(conversation_id)
    conditions: Conditions = {
        "scope": scope,
        "conversation_id": conversation_id,
        "inherited": "none",
    }
    criteria = build_criteria(services, "", conditions)
    return evolve(criteria, kinds=kinds, statuses=_LIVING, tense=None, unended_at=None)


def follow_conversation(
    services: Services,
    conversation_id: str | None,
    scope: str | None,
    kind: Kind,
    make: Callable[[Memory], Value],
) -> list[Value]:
    """Return what is made of the memories of a kind in a conversation, or in all, newest first.

    They are those of `conversation_criteria`; each is read once. `make` is the same for a kind.
    """
    criteria = conversation_criteria(services, conversation_id, scope, kinds=frozenset({kind}))
    follower: KindFollower[tuple[datetime, str, str, Value]] = services.followers.get(
        f"{kind} of {conversation_id}",
        lambda: KindFollower(
            services.storage,
            evolve(criteria, scopes=None),
            lambda memory: (memory.happened_at, memory.id, memory.scope, make(memory)),
        ),
    )
    found = sorted(follower.read().values(), key=lambda value: value[:2], reverse=True)
    scopes = criteria.scopes
    return [value for _, _, name, value in found if scopes is None or name in scopes]


def read_conversation(
    services: Services, conversation_id: str, *, scope: str | None, limit: int, start: int | None
) -> ConversationMessages:
    """Return messages in the order in which they were said; see `Conversations.read`."""
    check_count(limit, "limit", low=1, high=_PAGE)
    kinds = frozenset({Kind.MESSAGE})
    criteria = conversation_criteria(services, conversation_id, scope, kinds=kinds)
    messages = list(iterate_memories(services, criteria))[::-1]
    if not messages:
        raise _make_unknown_error(services, conversation_id)
    first = max(0, len(messages) - limit) if start is None else start
    check_count(first, "start", low=0, high=2**62)
    shown = messages[first : first + limit]
    services.note_returned(shown)
    end = first + len(shown)
    return ConversationMessages(
        conversation_id=conversation_id,
        messages=tuple(shown),
        total=len(messages),
        next=end if end < len(messages) else None,
    )


def delete_conversation(
    services: Services, conversation_id: str, *, scope: str | None, hard: bool
) -> BulkReceipt:
    """Forget or erase everything of a conversation; see `Conversations.delete`."""
    check_flag(hard, "hard")
    criteria = conversation_criteria(services, conversation_id, scope, kinds=None)
    if hard:
        # What was forgotten before is erased too.
        criteria = evolve(criteria, statuses=None)
    memories = list(iterate_memories(services, criteria))
    if not memories:
        raise _make_unknown_error(services, conversation_id)
    if hard:
        return BulkReceipt(ids=erase_all(services, memories))
    for start in range(0, len(memories), _MOST_AT_ONCE):
        forget_all(services, memories[start : start + _MOST_AT_ONCE])
    return BulkReceipt(ids=tuple([memory.id for memory in memories]))


def _make_unknown_error(services: Services, conversation_id: str) -> NotFound:
    everywhere = conversation_criteria(services, conversation_id, ALL, kinds=None)
    page = services.storage.find(everywhere, limit=_PAGE)
    scopes = sorted({memory.scope for memory in page.memories if everywhere.admit(memory)})
    if scopes:
        return NotFound(
            f"nothing is stored here of the conversation {conversation_id!r:.100}; it is in"
            f" {', '.join(map(repr, scopes[:5]))}: give the scope"
        )
    return NotFound(
        f"nothing is stored of the conversation {conversation_id!r:.100}: ids are compared letter"
        " by letter; the list of conversations shows those that exist"
    )
