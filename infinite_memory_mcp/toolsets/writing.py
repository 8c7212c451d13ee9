"""The tools that store, change and forget memories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from infinite_memory.core.errors import Conflict, InvalidInput, ScopeNotCreated
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.scope import fold_name
from infinite_memory.core.values.timestamps import show_moment
from infinite_memory.features.sessions.scope_names import PREFIX
from infinite_memory.search.text.quotation import escape_line
from infinite_memory_mcp.arguments import (
    KINDS,
    Arguments,
    Labels,
    MemoryId,
    MemoryIds,
    Object,
    list_choices,
)
from infinite_memory_mcp.data import RECEIPT, object_schema, receipt_to_data
from infinite_memory_mcp.render import render_receipt, seems_to_command
from infinite_memory_mcp.render_bulk import render_bulk_receipt, render_preview
from infinite_memory_mcp.render_keys import render_keys
from infinite_memory_mcp.tool import Answer, tool
from infinite_memory_mcp.view import receipt_ids, view_of_ids

if TYPE_CHECKING:
    from infinite_memory.core.values.receipt import Receipt
    from infinite_memory.store.memory_store import MemoryStore

_MOVABLE = "Kept for this repository; update_memory with a scope moves it."
_WAITING = (
    "It seems to command a model, so it waits in the inbox, marked and never told unasked: if the"
    " user wants it so, inbox accepts it."
)
_STATUSES = list_choices(Status.CURRENT, Status.SUPERSEDED, Status.ARCHIVED)


class StoreMemory(Arguments):
    """The arguments of `store_memory`."""

    text: str = Field(description="One self-contained statement, with names and absolute dates")
    scope: str | None = Field(None, description="Compartment; project: the repository; made if new")
    create: bool = Field(False, description="Make it though its name is near another")
    tags: Labels = Field([])
    kind: str = Field("note", json_schema_extra=KINDS)
    title: str | None = None
    speaker: str | None = Field(None, description="Who said it")
    conversation_id: str | None = None
    happened_at: str | None = Field(None, description='ISO 8601 or "last Tuesday"')
    key: str | None = Field(
        None,
        description="What a fact is about, as alice/job; replaces the earlier one",
    )
    supersedes: MemoryIds = Field([], description="Ids of memories it replaces")
    important: bool = False
    context: Object = Field({}, description="Anything else")
    id: str | None = Field(None, description="Your own, for a retry")


class UpdateMemory(Arguments):
    """The arguments of `update_memory`."""

    id: MemoryId
    revision: int | None = Field(None, description="As you read it; refused if changed since")
    text: str | None = None
    scope: str | None = None
    create: bool = False
    tags: Labels | None = Field(None, description="Replace all tags")
    kind: str | None = Field(None, description="As in store_memory")
    title: str | None = Field(None, description='"" removes it; so for speaker and key')
    speaker: str | None = None
    happened_at: str | None = None
    key: str | None = None
    important: bool | None = None
    context: Object | None = None
    supersedes: MemoryIds | None = Field(None, description="Ids it replaces")
    status: str | None = Field(None, description="current brings back", json_schema_extra=_STATUSES)
    cleared: ClassVar[frozenset[str]] = frozenset({"title", "speaker", "key"})


class DeleteMemory(Arguments):
    """The arguments of `delete_memory`."""

    id: str | None = None
    tags: Labels = Field([], description="Instead of id: all with these tags")
    scope: str | None = Field(None, description="All of this scope alone")
    query: str | None = None
    when: str | None = None
    confirm: str | None = Field(None, description="Token of the preview")
    permanently: bool = Field(False, description="Erase the id for good")
    destroying: ClassVar[frozenset[str]] = frozenset({"permanently", "confirm"})


@tool("Store a memory", RECEIPT)
def store_memory(store: MemoryStore, arguments: StoreMemory) -> Answer:
    """Store what will matter later: a fact, preference, decision, solution, lesson or event.

    Do so without being asked. Never store secrets.
    """
    fields = arguments.model_dump(exclude={"text", "happened_at", "create"})
    happened_at = arguments.happened_at
    moment = None if happened_at is None else store.times.read(happened_at, "happened_at")
    # The assistant wrote the memory, even if somebody else spoke; a caller cannot claim an origin.
    with _name_create_argument():
        receipt = store.remember(
            arguments.text,
            happened_at=moment,
            origin="assistant",
            create_scope=arguments.create,
            **fields,
        )
    answer = _render_write(store, receipt)
    if arguments.scope is None and fold_name(receipt.scope).startswith(PREFIX):
        answer = Answer(text=f"{answer.text}\n{_MOVABLE}", data=answer.data)
    if seems_to_command(arguments.title, arguments.text):
        answer = Answer(text=f"{answer.text}\n{_WAITING}", data=answer.data)
    return _add_reading(answer, store, happened_at, moment)


@tool("Change a memory", RECEIPT, destroys=True)
def update_memory(store: MemoryStore, arguments: UpdateMemory) -> Answer:
    """Change a memory that is wrong, or settle with supersedes which of two memories holds.

    Only what you give changes; earlier revisions are kept.
    """
    revision = (
        store.get(arguments.id).revision if arguments.revision is None else arguments.revision
    )
    changes = _read_changes(arguments, store)
    with _name_create_argument():
        receipt = store.revise(
            arguments.id, revision=revision, create_scope=arguments.create, **changes
        )
    answer = _render_write(store, receipt)
    return _add_reading(answer, store, arguments.happened_at, changes.get("happened_at"))


@tool("Forget memories", object_schema("outcome"), destroys=True, repeatable=True)
def delete_memory(store: MemoryStore, arguments: DeleteMemory) -> Answer:
    """Forget a memory when the user asks for it: it is out of every result at once.

    It can be brought back, unless `permanently`: ask the user before that. Without id, the first
    call only shows what matches; the same call with `confirm` forgets it.
    """
    choice = arguments.model_dump(include={"tags", "scope", "query", "when"}, exclude_defaults=True)
    if arguments.id is None:
        return _forget_matching(store, arguments, choice)
    if choice or arguments.confirm is not None:
        given = ", ".join([*choice, *(["confirm"] if arguments.confirm is not None else [])])
        raise InvalidInput(
            f"id names one memory and cannot go together with {given}: leave out the one or the"
            " other; nothing was forgotten"
        )
    memory_id = store.ids.resolve(arguments.id, whole=arguments.permanently)
    return _render_write(store, store.forget(memory_id, hard=arguments.permanently))


def _forget_matching(store: MemoryStore, arguments: DeleteMemory, choice: dict[str, Any]) -> Answer:
    """Forget the memories of a confirmed preview; without a token, or with another, preview."""
    if arguments.permanently:
        raise InvalidInput(
            "permanently erases one memory at a time: give its id; nothing was erased"
        )
    if not choice:
        raise InvalidInput(
            "nothing says what to forget: give an id, or tags, a scope, a query or when"
        )
    refusal = None
    if arguments.confirm is not None:
        try:
            receipt = store.bulk.forget(arguments.confirm, **choice)
        except Conflict as error:
            refusal = str(error)
        else:
            return render_bulk_receipt(receipt)
    return render_preview(store.bulk.preview_forget(**choice), choice, refusal)


def _read_changes(arguments: UpdateMemory, store: MemoryStore) -> dict[str, Any]:
    # An argument that is null was left out: many clients send every argument.
    changes = arguments.model_dump(exclude={"id", "revision", "create"}, exclude_none=True)
    for name in ("title", "speaker", "key"):
        if changes.get(name) == "":
            changes[name] = None
    if changes.get("text") or changes.get("title"):
        # The assistant wrote it, whoever told what stood there before.
        changes["origin"] = "assistant"
    if "happened_at" in changes:
        changes["happened_at"] = store.times.read(changes["happened_at"], "happened_at")
    return changes


def _add_reading(
    answer: Answer, store: MemoryStore, words: str | None, moment: datetime | None
) -> Answer:
    """Return an answer that says how words of time were read."""
    if words is None or moment is None or words.strip()[:4].isdigit():
        return answer
    shown = show_moment(moment, store.config.time_zone)
    return Answer(
        text=f"{answer.text}\nhappened_at {escape_line(words)!r:.100} was read as {shown}.",
        data={**answer.data, "happened_at": shown},
    )


def _render_write(store: MemoryStore, receipt: Receipt) -> Answer:
    view = view_of_ids(store, receipt_ids(receipt))
    text = f"{render_receipt(receipt, view)}{render_keys(receipt, view)}"
    return Answer(text=text, data=receipt_to_data(receipt))


@contextmanager
def _name_create_argument() -> Iterator[None]:
    """Let the refusal of a new scope name the arguments that go on from there."""
    try:
        yield
    except ScopeNotCreated as error:
        correct = None if error.nearest is None else f"scope {error.nearest!r}"
        raise ScopeNotCreated.of(
            error.name, error.nearest, scope=correct, create="create: true"
        ) from error


WRITING = (store_memory, update_memory, delete_memory)
"""The tools that change the store."""
