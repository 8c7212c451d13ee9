"""The tools that store, change and forget memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from infinite_memory.model.timestamps import read_moment
from infinite_memory_mcp.arguments import Arguments, Labels, Object
from infinite_memory_mcp.data import RECEIPT, receipt_to_data
from infinite_memory_mcp.render import render_receipt
from infinite_memory_mcp.tool import Answer, ToolSpec

if TYPE_CHECKING:
    from infinite_memory.model.receipt import Receipt
    from infinite_memory.store import MemoryStore

__all__ = ["WRITING"]


class StoreMemory(Arguments):
    """The arguments of `store_memory`."""

    text: str = Field(description="One self-contained statement, with names and absolute dates")
    scope: str | None = Field(None, description="Compartment, such as a project; made if new")
    tags: Labels = Field([])
    kind: str = Field(
        "note",
        description="message, note, fact, summary, problem, solution, code_change, discussion,"
        " decision, lesson or reminder",
    )
    title: str | None = None
    speaker: str | None = Field(None, description="Who said it")
    conversation_id: str | None = None
    happened_at: str | None = Field(None, description="ISO 8601; now if left out")
    key: str | None = Field(
        None,
        description="What a fact is about, as alice/job; replaces the earlier fact of that key",
    )
    supersedes: Labels = Field(
        [], description="Ids of memories it replaces, such as an old decision"
    )
    important: bool = False
    context: Object = Field({}, description="Anything else")
    id: str | None = Field(None, description="Your own id makes a retry harmless")


class UpdateMemory(Arguments):
    """The arguments of `update_memory`."""

    id: str
    revision: int | None = Field(
        None, description="The revision you read; refused if it changed since"
    )
    text: str | None = None
    scope: str | None = None
    tags: Labels | None = Field(None, description="Replace all tags")
    kind: str | None = None
    title: str | None = Field(None, description='"" removes it; so for speaker and key')
    speaker: str | None = None
    happened_at: str | None = None
    key: str | None = None
    important: bool | None = None
    context: Object | None = None
    status: str | None = Field(
        None, description="current (also brings back), superseded or archived"
    )


class DeleteMemory(Arguments):
    """The arguments of `delete_memory`."""

    id: str
    permanently: bool = Field(False, description="Erase text, history and vectors; no way back")


def store_memory(store: MemoryStore, arguments: StoreMemory) -> Answer:
    """Store what will matter later: a fact, preference, decision, solution, lesson or event.

    Do so without being asked. An acknowledged memory is durable. Never store secrets.
    """
    fields = arguments.model_dump(exclude={"text", "happened_at"})
    happened_at = arguments.happened_at
    moment = None if happened_at is None else read_moment(happened_at, store.config.time_zone)
    # The assistant wrote the memory, even if somebody else spoke; a caller cannot claim an origin.
    return _render_write(
        store.remember(arguments.text, happened_at=moment, origin="assistant", **fields)
    )


def update_memory(store: MemoryStore, arguments: UpdateMemory) -> Answer:
    """Change a memory that is wrong, out of date or in the wrong place.

    Only what you give changes; earlier revisions are kept.
    """
    revision = (
        store.get(arguments.id).revision if arguments.revision is None else arguments.revision
    )
    changes = _changes(arguments, store.config.time_zone)
    return _render_write(store.revise(arguments.id, revision=revision, **changes))


def delete_memory(store: MemoryStore, arguments: DeleteMemory) -> Answer:
    """Forget a memory when the user asks for it: it is out of every result at once.

    It can be brought back, unless `permanently`: ask the user before that.
    """
    return _render_write(store.forget(arguments.id, hard=arguments.permanently))


def _changes(arguments: UpdateMemory, zone: str | None) -> dict[str, Any]:
    # An argument that is null was left out: many clients send every argument.
    changes = arguments.model_dump(exclude={"id", "revision"}, exclude_none=True)
    for name in ("title", "speaker", "key"):
        if changes.get(name) == "":
            changes[name] = None
    if "happened_at" in changes:
        changes["happened_at"] = read_moment(changes["happened_at"], zone)
    return changes


def _render_write(receipt: Receipt) -> Answer:
    return Answer(text=render_receipt(receipt), data=receipt_to_data(receipt))


WRITING = (
    ToolSpec(run=store_memory, arguments=StoreMemory, title="Store a memory", answers=RECEIPT),
    ToolSpec(
        run=update_memory,
        arguments=UpdateMemory,
        title="Change a memory",
        answers=RECEIPT,
        destroys=True,
    ),
    ToolSpec(
        run=delete_memory,
        arguments=DeleteMemory,
        title="Forget a memory",
        answers=RECEIPT,
        destroys=True,
        repeatable=True,
    ),
)
"""The tools that change the store."""
