"""Add, update and delete long-term memories by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from infinite_memory.core.errors import Conflict, IdTaken, InvalidInput
from infinite_memory.core.values.checks import check_text
from infinite_memory.core.values.commit import Commit, Put, merge_commits
from infinite_memory.core.values.conversation.message import check_messages
from infinite_memory.core.values.conversation.trigger import Trigger
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import JsonValue, Kind, Memory, Status, shorten
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.engine.conversation_scopes import create_missing_scopes
from infinite_memory.engine.embed import embed_new
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.forget import forget
from infinite_memory.engine.writes.receipts import receipt_of
from infinite_memory.engine.writes.revise import revise
from infinite_memory.engine.writes.validation import build_memory, tell_of
from infinite_memory.features.attachments.attaching import attach_after, prepare_attachments
from infinite_memory.features.reminders.long_term.book import (
    TrackedMemory,
    find_evaluator,
    select_tracked,
)
from infinite_memory.features.reminders.long_term.context import write_trigger
from infinite_memory.features.reminders.long_term.finding import check_conversation, find_named
from infinite_memory.features.reminders.long_term.firing import read_total
from infinite_memory.features.reminders.long_term.values import (
    check_name,
    fold_memory_name,
    name_id,
)
from infinite_memory.features.reminders.triggers.reading import read_trigger

_CREATED, _UPDATED = "created_context", "updated_context"
_MESSAGES_KEPT = 4
_MESSAGE_CHARS = 200


@frozen(kw_only=True)
class NewMemory:
    """A long-term memory as a caller gives it, not checked yet; see `Triggers.add`."""

    name: object
    prompt: object
    trigger: object
    conversation_id: object
    created_context: object = None
    recent_messages: object = None
    scope: str | None = None
    tags: Sequence[str] = ()
    create_scope: bool | None = None
    attachments: object = None


def check_trigger(services: Services, value: object) -> Trigger:
    """Return a trigger whose condition its evaluator can check.

    Raises:
        InvalidInput: it cannot be used.
        ConfigurationError: what its language needs is not installed.
    """
    trigger = read_trigger(value)
    find_evaluator(services, trigger.language).prepare(trigger.condition)
    return trigger


def add(services: Services, new: NewMemory) -> Receipt:
    """Store a long-term memory, or replace the one that has its name; see `Triggers.add`.

    Raises:
        InvalidInput: a value cannot be used.
        ConfigurationError: what the language of the condition needs is not installed.
        Conflict: other clients kept changing the memory of that name.
    """
    request = _check_request(services, new)
    files = prepare_attachments(services, new.attachments)
    return attach_after(services, _add_memory(services, request), files)


def _add_memory(services: Services, request: _Request) -> Receipt:
    for attempt in attempts():
        with attempt:
            memory = _build_memory(services, request)
            present = _find_present(services, request, memory)
            if present is None:
                return _store_memory(services, memory)
            return _replace_memory(services, request, present)
    raise AssertionError


def update(
    services: Services,
    name: object,
    *,
    trigger: object,
    prompt: object,
    conversation_id: object,
    updated_context: object,
    recent_messages: object,
    scope: str | None,
) -> Receipt:
    """Change the prompt or the trigger of a long-term memory; see `Triggers.update`.

    Raises:
        InvalidInput: a value cannot be used, or nothing was given to change.
        NotFound: the conversation has no memory of that name.
    """
    conversation = check_conversation(conversation_id)
    situation = _read_situation(services, updated_context, recent_messages, _UPDATED)
    if trigger is None and prompt is None and situation is None:
        raise InvalidInput("nothing to update: give a trigger, a prompt or an updated_context")
    checked = None if trigger is None else check_trigger(services, trigger)
    text = None if prompt is None else _check_prompt(services, prompt)
    for attempt in attempts():
        tracked = find_named(services, name, conversation, scope)
        changes: dict[str, Any] = {} if text is None else {"text": text}
        fields = {} if checked is None else _make_trigger_fields(services, tracked, checked)
        if situation is not None:
            fields[_UPDATED] = situation
        changes["context"] = {**tracked.memory.context, **fields}
        with attempt:
            return _revise_memory(services, tracked.memory, changes, approves=checked is not None)
    raise AssertionError


def delete(services: Services, name: object, *, conversation_id: object, scope: Any) -> Receipt:
    """Forget the long-term memory of that name; see `Triggers.delete`.

    Raises:
        NotFound: the conversation has no memory of that name.
    """
    tracked = find_named(services, name, check_conversation(conversation_id), scope)
    return forget(services, tracked.memory.id, hard=False)


@frozen(kw_only=True)
class _Request:
    """A long-term memory whose values were checked."""

    name: str
    prompt: str
    trigger: Trigger
    conversation_id: str
    situation: str | None
    new: NewMemory
    tags: Sequence[str] = field(factory=tuple)


def _check_request(services: Services, new: NewMemory) -> _Request:
    return _Request(
        name=check_name(new.name),
        prompt=_check_prompt(services, new.prompt),
        trigger=check_trigger(services, new.trigger),
        conversation_id=check_conversation(new.conversation_id),
        situation=_read_situation(services, new.created_context, new.recent_messages, _CREATED),
        new=new,
        tags=() if new.tags is None else new.tags,
    )


def _check_prompt(services: Services, value: object) -> str:
    return check_text(value, "prompt", max_bytes=services.config.limits.max_text_bytes)


def _read_situation(services: Services, context: object, messages: object, name: str) -> str | None:
    """Return the situation in which a memory is made or updated, in the words of the caller.

    Without any it is a line for each of the last messages, shortened.
    """
    limits = services.config.limits
    situation = None
    if not (context is None or (isinstance(context, str) and not context.strip())):
        situation = check_text(context, name, max_bytes=limits.max_context_bytes)
    if messages is None:
        return situation
    recent = check_messages(
        messages,
        "recent_messages",
        max_bytes=limits.max_text_bytes,
        zone=services.config.time_zone,
    )
    lines = [
        f"{message.speaker}: {shorten(message.content, _MESSAGE_CHARS)}"
        for message in recent[-_MESSAGES_KEPT:]
    ]
    return situation or "\n".join(lines) or None


def _build_memory(services: Services, request: _Request) -> Memory:
    """Return the memory as it is stored if its name is new, in its scope."""
    now = services.clock()
    draft = Draft(
        text=request.prompt,
        kind=Kind.REMINDER,
        title=request.name,
        scope=request.new.scope,
        tags=request.tags,
        conversation_id=request.conversation_id,
        context={
            **write_trigger(request.trigger, enabled_at=now),
            **({} if request.situation is None else {_CREATED: request.situation}),
        },
    )
    scopes = services.storage.scopes()
    memory = build_memory(draft, services, scopes, now, create_scope=request.new.create_scope)
    return evolve(memory, id=name_id(request.name, request.conversation_id, memory.scope))


def _find_present(services: Services, request: _Request, memory: Memory) -> TrackedMemory | None:
    """Return the memory with the name, scope and conversation of `memory`, even if forgotten."""
    if memory.scope in services.storage.scopes():
        for tracked in select_tracked(services, request.conversation_id, memory.scope):
            if _has_same_name(tracked.memory, memory):
                return tracked
    record = services.storage.get([memory.id], models=()).get(memory.id)
    is_forgotten = record is not None and record.memory.status is Status.FORGOTTEN
    if record is None or not is_forgotten or not _has_same_name(record.memory, memory):
        return None
    return TrackedMemory.of(record.memory)


def _has_same_name(memory: Memory, other: Memory) -> bool:
    same_place = (memory.scope, memory.conversation_id) == (other.scope, other.conversation_id)
    is_named = fold_memory_name(memory.heading) == fold_memory_name(other.heading)
    return is_named and same_place and memory.kind is other.kind


def _store_memory(services: Services, memory: Memory) -> Receipt:
    """Store a memory whose name is new; its id is another if the name's own id is taken.

    Raises:
        Conflict: another client stored a memory of that name.
    """
    try:
        _commit_new(services, memory)
    except Conflict as error:
        record = services.storage.get([memory.id], models=()).get(memory.id)
        is_taken = record is not None and not _has_same_name(record.memory, memory)
        if not is_taken and not isinstance(error, IdTaken):
            raise
        memory = evolve(memory, id=services.make_id(services.clock(), memory.scope))
        _commit_new(services, memory)
    embedded = embed_new(services, [memory])
    is_embedded = memory.id in embedded
    found_by = Searchable.MEANING if is_embedded else Searchable.WORDS
    receipt = receipt_of(memory, Outcome.STORED, found_by)
    receipt = tell_of(services, receipt, memory)
    return receipt if embedded.failure is None else evolve(receipt, pending=(embedded.failure,))


def _commit_new(services: Services, memory: Memory) -> None:
    scopes = services.storage.scopes()
    commit = merge_commits(
        create_missing_scopes([memory.scope], scopes, services),
        Commit(puts=(Put(memory=memory, expected=0),)),
    )
    services.storage.commit(with_entry(services, Operation.TRIGGER, commit))


def _replace_memory(services: Services, request: _Request, present: TrackedMemory) -> Receipt:
    memory = present.memory
    context = {k: v for k, v in memory.context.items() if k not in (_CREATED, _UPDATED)}
    if request.situation is not None:
        context[_CREATED] = request.situation
    changes: dict[str, Any] = {
        "text": request.prompt,
        "title": request.name,
        "tags": request.tags,
        "context": {**context, **_make_trigger_fields(services, present, request.trigger)},
    }
    if memory.status is not Status.CURRENT:
        changes |= {"status": Status.CURRENT, "happened_at": services.clock()}
    return _revise_memory(services, memory, changes, approves=True)


def _make_trigger_fields(
    services: Services, present: TrackedMemory, trigger: Trigger
) -> dict[str, JsonValue]:
    """Return the field of the context for a trigger; the firings of a new one begin with 0."""
    memory = present.memory
    is_current = memory.status is Status.CURRENT and present.trigger == trigger
    if is_current and present.disabled_because(services) is None:
        return {"trigger": memory.context["trigger"]}
    earlier = read_total(services, memory.id)
    return write_trigger(trigger, enabled_at=services.clock(), earlier_firings=earlier)


def _revise_memory(
    services: Services, memory: Memory, changes: Mapping[str, Any], *, approves: bool
) -> Receipt:
    operation = Operation.TRIGGER if approves else Operation.REVISE
    return revise(
        services, memory.id, revision=memory.revision, changes=changes, operation=operation
    )
