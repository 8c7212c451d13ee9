"""The tools of long-term memory: named memories that come up when their condition holds."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import BeforeValidator, Field

from infinite_memory.core.values.memory import shorten
from infinite_memory.core.values.receipt import Outcome
from infinite_memory.search.text.quotation import quote_label, quote_lines
from infinite_memory_mcp.arguments import Arguments, MemoryId, Tokens, list_choices
from infinite_memory_mcp.budget import DEFAULT_TOKENS
from infinite_memory_mcp.data import RECEIPT, object_schema, receipt_to_data
from infinite_memory_mcp.foreign.arguments import decode_json
from infinite_memory_mcp.render import render_receipt, render_secrets
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.toolsets.conversations.arguments import (
    ATTACHMENTS,
    Attachments,
    Messages,
    contents_of,
)
from infinite_memory_mcp.toolsets.conversations.phrases import (
    Language,
    explain_errors,
    language_of,
    say,
)
from infinite_memory_mcp.toolsets.conversations.render import fit_blocks
from infinite_memory_mcp.view import View, receipt_ids, view_of_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infinite_memory.core.values.memory import JsonValue
    from infinite_memory.core.values.receipt import Receipt
    from infinite_memory.features.reminders.long_term.values import Activation, LongTermMemory
    from infinite_memory.store.memory_store import MemoryStore

_DEFAULT = "default"
_PREVIEW_CHARS, _CONDITION_CHARS, _ERROR_CHARS = 120, 600, 200
_MAX_TEXT_CHARS = 4000
_MAX_NAMED = 10

Trigger = Annotated[str | dict[str, Any], BeforeValidator(decode_json)]
"""Rules as an object, or an expression in JavaScript."""

_TRIGGER = (
    'Rules, {"any_of": ["birthday"]} or {"on": "07-17"}, or JavaScript:'
    " match_keys(context.messages, ['birthday'], 'any')"
)


class LongTermArguments(Arguments):
    """The arguments of a tool on a long-term memory."""

    name: str
    conversation_id: str = _DEFAULT
    scope: str | None = Field(None, description="That of the conversation if left out")


class AddLongTermMemory(LongTermArguments):
    """The arguments of `add_long_term_memory`."""

    prompt: str = Field(description="What to be reminded of")
    trigger: Trigger = Field(description=_TRIGGER)
    createdContext: str | None = Field(  # noqa: N815 - the name that callers know
        None, description="The situation it was made in"
    )
    recentMessages: Messages | None = Field(  # noqa: N815 - the name that callers know
        None, description="Instead: {role, content}, oldest first"
    )
    attachments: Attachments = Field(None, description=ATTACHMENTS)


class UpdateLongTermMemory(LongTermArguments):
    """The arguments of `update_long_term_memory`."""

    prompt: str | None = None
    trigger: Trigger | None = Field(None, description="As in add_long_term_memory")
    updatedContext: str | None = Field(  # noqa: N815 - the name that callers know
        None, description="The situation of the update"
    )
    recentMessages: Messages | None = Field(  # noqa: N815 - the name that callers know
        None, description="Instead: {role, content}, oldest first"
    )


class ListLongTermMemories(Arguments):
    """The arguments of `list_long_term_memories`."""

    conversation_id: str = _DEFAULT
    scope: str | None = None
    max_tokens: Tokens = DEFAULT_TOKENS


class SearchLongTermMemories(Arguments):
    """The arguments of `search_long_term_memories`."""

    messages: Messages = Field(description="{role, content}, oldest first")
    conversation_id: str = _DEFAULT
    participants: Annotated[
        dict[str, Any] | list[str | dict[str, Any]] | str | None, BeforeValidator(decode_json)
    ] = Field(None, description="Who takes part, for conditions")
    scope: str | None = None
    seed: int | None = Field(None, description="Draws the same two at random again")
    max_tokens: Tokens = DEFAULT_TOKENS


class GetMemoryContext(LongTermArguments):
    """The arguments of `get_memory_context`."""

    max_tokens: Tokens = DEFAULT_TOKENS


class ReminderDone(Arguments):
    """The arguments of `reminder_done`."""

    id: MemoryId
    state: str = Field(
        "done",
        description="open: not done after all",
        json_schema_extra=list_choices("open", "done", "dropped"),
    )


@tool("Close a reminder", RECEIPT, repeatable=True)
def reminder_done(store: MemoryStore, arguments: ReminderDone) -> Answer:
    """Store that a reminder is done or dropped, so that it is due no more; undo takes it back.

    One that recurs moves on.
    """
    (receipt,) = store.triggers.done(arguments.id, state=arguments.state)
    text = render_receipt(receipt, view_of_ids(store, receipt_ids(receipt)))
    return Answer(text=text, data=receipt_to_data(receipt))


@tool("Add a reminder with a trigger", RECEIPT, repeatable=True)
def add_long_term_memory(store: MemoryStore, arguments: AddLongTermMemory) -> Answer:
    """Keep a reminder that comes up by itself when its trigger holds.

    A name that exists in the conversation is replaced.
    """
    language = language_of(arguments.prompt, arguments.name)
    with explain_errors(language):
        receipt = store.triggers.add(
            arguments.name,
            arguments.prompt,
            arguments.trigger,
            conversation_id=arguments.conversation_id,
            created_context=arguments.createdContext,
            recent_messages=arguments.recentMessages,
            scope=arguments.scope,
            attachments=arguments.attachments,
        )
    phrase = {Outcome.STORED: "reminder_added", Outcome.UNCHANGED: "reminder_unchanged"}.get(
        receipt.outcome, "reminder_replaced"
    )
    return _render_write(store, receipt, phrase, arguments.name, language)


@tool("Update a long-term memory", RECEIPT, repeatable=True)
def update_long_term_memory(store: MemoryStore, arguments: UpdateLongTermMemory) -> Answer:
    """Change the prompt or the trigger of a long-term memory; what is left out stays."""
    language = language_of(arguments.prompt, arguments.updatedContext, arguments.name)
    with explain_errors(language):
        receipt = store.triggers.update(
            arguments.name,
            trigger=arguments.trigger,
            prompt=arguments.prompt,
            conversation_id=arguments.conversation_id,
            updated_context=arguments.updatedContext,
            recent_messages=arguments.recentMessages,
            scope=arguments.scope,
        )
    is_unchanged = receipt.outcome is Outcome.UNCHANGED
    phrase = "reminder_unchanged" if is_unchanged else "reminder_updated"
    return _render_write(store, receipt, phrase, arguments.name, language)


@tool("Forget a long-term memory", RECEIPT, destroys=True)
def delete_long_term_memory(store: MemoryStore, arguments: LongTermArguments) -> Answer:
    """Forget a long-term memory; undo brings it back."""
    language = language_of(arguments.name)
    with explain_errors(language):
        receipt = store.triggers.delete(
            arguments.name, conversation_id=arguments.conversation_id, scope=arguments.scope
        )
    return _render_write(store, receipt, "reminder_deleted", arguments.name, language)


@tool("List long-term memories", object_schema("memories", "total"), reads=True)
def list_long_term_memories(store: MemoryStore, arguments: ListLongTermMemories) -> Answer:
    """List the long-term memories of a conversation, oldest first, and whether each is enabled."""
    with explain_errors(language_of(arguments.conversation_id)):
        memories = store.triggers.list(arguments.conversation_id, scope=arguments.scope)
    language = language_of(*(memory.prompt for memory in memories), arguments.conversation_id)
    data = {
        "notice": say("notice", Language.ENGLISH),
        "conversation_id": arguments.conversation_id,
        "memories": [memory.to_dict() for memory in memories],
        "total": len(memories),
    }
    if not memories:
        return Answer(text=_describe_none(store, arguments, language), data=data)
    view = view_of_ids(store, [memory.id for memory in memories])
    head = say(
        "reminders",
        language,
        count=len(memories),
        id=quote_label(arguments.conversation_id),
    )
    blocks = [_render_row(memory, view, language) for memory in memories]
    return Answer(text=fit_blocks(head, blocks, arguments.max_tokens, language), data=data)


@tool("Show what comes up", object_schema("activated", "random"), reads=True)
def search_long_term_memories(store: MemoryStore, arguments: SearchLongTermMemories) -> Answer:
    """Show the long-term memories whose condition holds now, and two others at random."""
    language = language_of(
        *contents_of(list(reversed(arguments.messages))),
        arguments.conversation_id,
    )
    with explain_errors(language):
        activation = store.triggers.activate(
            arguments.messages,
            arguments.conversation_id,
            participants=cast("JsonValue", arguments.participants),
            scope=arguments.scope,
            seed=arguments.seed,
        )
    text = _render_activation(store, activation, language, arguments.max_tokens)
    data = {"notice": say("notice", Language.ENGLISH), **activation.to_dict()}
    return Answer(text=text, data=data)


@tool("Show a long-term memory", object_schema("name", "trigger"), reads=True)
def get_memory_context(store: MemoryStore, arguments: GetMemoryContext) -> Answer:
    """Show a long-term memory whole: when and why it was made and changed, and its trigger."""
    with explain_errors(language_of(arguments.name)):
        memory = store.triggers.get(
            arguments.name, conversation_id=arguments.conversation_id, scope=arguments.scope
        )
    language = language_of(memory.prompt, memory.name)
    view = view_of_ids(store, [memory.id])
    condition = memory.trigger.condition
    shown = condition if isinstance(condition, str) else json.dumps(condition, ensure_ascii=False)
    parts = [
        f"{_render_head(memory, view, language)} {say('notice', language)}",
        quote_lines(_cut_text(memory.prompt)),
        say("condition_of", language, name=memory.trigger.language.value),
        quote_lines(shorten(shown, _CONDITION_CHARS)),
    ]
    for phrase, situation in (
        ("created_in", memory.created_context),
        ("updated_in", memory.updated_context),
    ):
        if situation is not None:
            parts += [say(phrase, language), quote_lines(_cut_text(situation))]
    if memory.created_context is None and memory.updated_context is None:
        parts.append(say("no_situation", language))
    data = {"notice": say("notice", Language.ENGLISH), **memory.to_dict()}
    return Answer(text="\n".join(parts), data=data)


def _render_write(
    store: MemoryStore, receipt: Receipt, phrase: str, name: str, language: Language
) -> Answer:
    text = say(
        phrase,
        language,
        name=quote_label(name),
        id=view_of_ids(store, [receipt.id]).shorten(receipt.id),
        revision=receipt.revision,
    )
    text += render_secrets(receipt)
    return Answer(text=text, data=receipt_to_data(receipt))


def _describe_none(store: MemoryStore, arguments: ListLongTermMemories, language: Language) -> str:
    """Return that a conversation has none, and which conversations have some."""
    text = say("no_reminders", language, id=quote_label(arguments.conversation_id))
    counts = Counter(memory.conversation_id for memory in store.triggers.list())
    named = [f"{quote_label(name)} ({count:,})" for name, count in counts.most_common(_MAX_NAMED)]
    return text + say("reminders_elsewhere", language, names=", ".join(named)) if named else text


def _render_head(memory: LongTermMemory, view: View, language: Language) -> str:
    columns = [
        quote_label(memory.name),
        view.format_date(memory.created_at),
        f"id {view.shorten(memory.id)}",
        _describe_state(memory, language),
        say("came_up", language, count=memory.firings),
    ]
    if memory.updated_at is not None:
        columns.insert(2, say("changed_at", language, date=view.format_date(memory.updated_at)))
    return " · ".join(columns)


def _describe_state(memory: LongTermMemory, language: Language) -> str:
    if not memory.enabled:
        return say("is_disabled", language)
    if memory.error is not None:
        error = quote_label(memory.error, max_chars=_ERROR_CHARS)
        return say("is_failing", language, error=error)
    return say("is_enabled", language)


def _render_row(memory: LongTermMemory, view: View, language: Language) -> str:
    preview = quote_lines(shorten(memory.prompt, _PREVIEW_CHARS))
    return f"- {_render_head(memory, view, language)}\n{preview}"


def _render_activation(
    store: MemoryStore, activation: Activation, language: Language, budget: int
) -> str:
    count = len(activation.activated)
    head = say(
        "came_up_now" if count or activation.random else "nothing_came_up",
        language,
        count=count,
        random=len(activation.random),
        total=activation.total,
        id=quote_label(activation.conversation_id),
    )
    view = view_of_ids(store, [m.id for m in (*activation.activated, *activation.random)])
    blocks = [
        _render_block(say(phrase, language), memory, view)
        for phrase, memories in (
            ("holds_now", activation.activated),
            ("at_random", activation.random),
        )
        for memory in memories
    ]
    text = fit_blocks(head, blocks, budget, language) if blocks else head
    return "\n\n".join([text, *_describe_rest(activation, language)])


def _render_block(tier: str, memory: LongTermMemory, view: View) -> str:
    columns = [
        tier,
        quote_label(memory.name),
        view.format_date(memory.created_at),
        f"id {view.shorten(memory.id)}",
    ]
    return f"{' · '.join(columns)}\n{quote_lines(_cut_text(memory.prompt))}"


def _describe_rest(activation: Activation, language: Language) -> Sequence[str]:
    """Return what kept further memories from coming up."""
    lines = []
    if activation.failures:
        shown = "; ".join(
            f"{quote_label(failure.name)}: {quote_label(failure.error, max_chars=_ERROR_CHARS)}"
            for failure in activation.failures[:_MAX_NAMED]
        )
        lines.append(say("failures", language, count=len(activation.failures), names=shown))
    if activation.unchecked:
        lines.append(
            say(
                "unchecked_count",
                language,
                count=len(activation.unchecked),
                total=activation.conditions,
                names="; ".join(quote_label(name) for name in activation.unchecked[:_MAX_NAMED]),
            )
        )
    if activation.disabled:
        lines.append(say("disabled_count", language, count=activation.disabled))
    if activation.resting:
        lines.append(say("resting_count", language, count=activation.resting))
    return lines


def _cut_text(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[:_MAX_TEXT_CHARS].rstrip()}…"


LONG_TERM = (
    reminder_done,
    add_long_term_memory,
    update_long_term_memory,
    delete_long_term_memory,
    list_long_term_memories,
    search_long_term_memories,
    get_memory_context,
)
"""The tools of long-term memory."""
