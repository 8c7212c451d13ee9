"""Calls of the public methods as people type them, for mypy and pyright.

`good` and `good_awaited` are run too, by `test_typed_calls.py`. Each line of `bad` and
`bad_awaited` is wrong, and its comment says so: both checkers report a comment that is not needed.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import assert_type

from infinite_memory import (
    AsyncMemoryStore,
    Briefing,
    BulkReceipt,
    Hits,
    Knowledge,
    Memory,
    MemoryStore,
    NewKey,
    Page,
    Preview,
    Profile,
    Recalled,
    Receipt,
    Scope,
    Stats,
    Undone,
)


def good(memory: MemoryStore) -> None:
    receipt = memory.remember("Alice drinks tea", id="tea", tags=["drink"], happened_at="yesterday")
    assert_type(receipt, Receipt)
    memory.remember("Bob", kind="note", valid_from=date(2026, 1, 1), valid_to="2027-01-01")
    memory.remember("Eve", happened_at=datetime.now(UTC), key="eve/job", context={"topic": "work"})
    assert_type(memory.remember_many([{"text": "Rex is a dog"}]), list[Receipt])
    assert_type(memory.revise("tea", revision=1, important=True, title=None), Receipt)
    assert_type(memory.search("tea", limit=3, scope=["Global"], when="yesterday"), Hits)
    assert_type(memory.search("tea", as_of="yesterday")[0].memory, Memory)
    assert_type(memory.browse(limit=5, since="last week", kinds=["note"]), Page)
    assert_type(memory.recall_by_time(when="yesterday"), Recalled)
    assert_type(memory.what_do_i_know("tea", budget=500), Knowledge)
    assert_type(memory.briefing(), Briefing)
    assert_type(memory.get("tea"), Memory)
    assert_type(memory.stats(), Stats)
    assert_type(memory.scopes.create("apollo", keywords=["rocket"]), Scope)
    assert_type(memory.scopes["apollo"], Scope)
    assert_type([scope.name for scope in memory.scopes], list[str])
    assert_type(memory.profile.update({"name": "Alice"}, user="alice"), Profile)
    assert_type(memory.times.read("yesterday", "happened_at"), datetime)
    assert_type(memory.keys.create("anna", rights=["read"], expires_at="in 30 days"), NewKey)
    memory.conversations.log([{"role": "user", "content": "Hi"}], "monday")
    preview = memory.bulk.preview_forget(tags=["drink"])
    assert_type(preview, Preview)
    assert_type(memory.bulk.forget(preview.token, tags=["drink"]), BulkReceipt)
    assert_type(memory.undo(), Undone)


async def good_awaited(memory: AsyncMemoryStore) -> None:
    receipt = await memory.remember("Alice drinks tea", id="tea2", happened_at="yesterday")
    assert_type(receipt, Receipt)
    assert_type(await memory.search("tea", limit=3, when="yesterday"), Hits)
    assert_type(await memory.revise("tea2", revision=1, tags=["drink"]), Receipt)
    assert_type(await memory.scopes.create("borealis", description="The second"), Scope)
    assert_type(await memory.profile.update({"name": "Alice"}), Profile)
    assert_type(await memory.times.read(date(2026, 1, 1), "since"), datetime)
    assert_type([scope.name async for scope in memory.scopes], list[str])


def bad(memory: MemoryStore) -> None:
    memory.remember()  # type: ignore[call-arg]
    memory.remember(5)  # type: ignore[arg-type]
    memory.remember("x", happend_at="yesterday")  # type: ignore[call-arg]
    memory.remember("x", happened_at=1683504000)  # type: ignore[arg-type]
    memory.remember("x", valid_to=5)  # type: ignore[arg-type]
    memory.remember("x", scope=["apollo"])  # type: ignore[arg-type]
    memory.remember("x", important="yes")  # type: ignore[arg-type]
    memory.revise("tea", important=True)  # type: ignore[call-arg]
    memory.revise("tea", revision=1, txt="x")  # type: ignore[call-arg]
    memory.revise("tea", revision=1, tags=5)  # type: ignore[arg-type]
    memory.search("x", limt=3)  # type: ignore[call-arg]
    memory.search("x", limit="3")  # type: ignore[arg-type]
    memory.search("x", since=5)  # type: ignore[arg-type]
    memory.browse(as_of=5)  # type: ignore[arg-type]
    memory.scopes.create("x", keyword="y")  # type: ignore[call-arg]
    memory.scopes.update("x", active="no")  # type: ignore[arg-type]
    memory.profile.update("Alice")  # type: ignore[arg-type]
    memory.keys.create("anna", expires_at=30)  # type: ignore[arg-type]
    memory.bulk.preview_forget(tag="drink")  # type: ignore[call-arg]
    memory.conversations.search("monday", date_from=5)  # type: ignore[arg-type]
    memory.projects.store_lesson("x", "y", happened_at=5)  # type: ignore[arg-type]
    MemoryStore.open("memory://", embeder=None)  # type: ignore[call-arg]
    memory.recieve()  # type: ignore[attr-defined]


async def bad_awaited(memory: AsyncMemoryStore) -> None:
    await memory.remember("x", happend_at="yesterday")  # type: ignore[call-arg]
    await memory.search("x", limit="3")  # type: ignore[arg-type]
    await memory.revise("x", revision=1, txt="x")  # type: ignore[call-arg]
    await memory.scopes.create("x", keyword="y")  # type: ignore[call-arg]
    await memory.profile.update("Alice")  # type: ignore[arg-type]
    AsyncMemoryStore.open("memory://", thread=3)  # type: ignore[call-arg]
    AsyncMemoryStore.open("memory://", config=5)  # type: ignore[arg-type]
