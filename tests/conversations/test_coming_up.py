"""What the last messages bring up by itself: in Python, with a search, and of any conversation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from infinite_memory import Config, InvalidInput, MemoryStore, UnknownScope
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.lazy_store import LazyStore
from tests.harness.growing_calls import SPECS
from tests.stopped_clock import StoppedClock

NOW = datetime(2026, 7, 17, 9, tzinfo=UTC)
BOAT = {"any_of": ["boat"]}
SAID = [{"role": "user", "content": "Shall we take the boat to the island?"}]


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore.open(
        tmp_path / "home",
        config=Config(home=tmp_path / "home"),
        embedder=HashingEmbedder(),
        clock=StoppedClock(NOW),
    )


def names_of(store: MemoryStore, conversation_id: str) -> list[str]:
    """Return the names of what fires in a conversation, which both ways must agree on."""
    activated = store.triggers.activate(SAID, conversation_id).activated
    coming = store.conversations.coming_up(SAID, conversation_id).reminders
    assert [memory.name for memory in activated] == [memory.title for memory in coming]
    return [memory.name for memory in activated]


def test_a_trigger_holds_in_every_conversation_and_one_of_a_conversation_there_alone(
    store: MemoryStore,
) -> None:
    store.triggers.add("anchor", "The anchor is in the shed.", BOAT)
    store.triggers.add("crew", "Ask Ann too.", BOAT, conversation_id="family")
    assert names_of(store, "family") == ["anchor", "crew"]
    assert names_of(store, "work") == ["anchor"]
    assert names_of(store, "default") == ["anchor"]
    # A name belongs to its conversation all the same.
    assert [memory.name for memory in store.triggers.list("family")] == ["crew"]


def test_reminders_that_are_due_and_short_term_memories_come_up_with_them(
    store: MemoryStore,
) -> None:
    day = timedelta(days=1)
    for name, moment in (("old", NOW - 9 * day), ("due", NOW - day), ("next", NOW + day)):
        store.remember(f"Pay the {name} fee.", kind="reminder", valid_from=moment, id=name)
    store.triggers.add("anchor", "The anchor is in the shed.", BOAT)
    talk = [{"role": "user", "content": "The boat to the island leaks.", "timestamp": "2026-07-10"}]
    store.conversations.add_short_term(talk, "family")
    store.conversations.add_short_term(talk, "work")
    coming = store.conversations.coming_up(SAID, "family")
    assert [memory.heading for memory in coming.reminders] == ["Pay the due fee.", "anchor"]
    assert [memory.conversation_id for memory in coming.short_term] == ["family"]
    assert store.triggers.get("anchor").firings == 1


def test_a_search_with_messages_adds_what_they_bring_up(store: MemoryStore) -> None:
    store.remember("The island has no harbour.")
    store.triggers.add("anchor", "The anchor is in the shed.", BOAT)
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        ask = SPECS["retrieve_memory"].build_tool(memory, structured=True).fn
        (plain,) = ask({"query": "island"}).content
        answer = ask({"query": "island", "messages": SAID, "conversation_id": "family"})
        (text,) = answer.content
        assert "anchor" not in plain.text
        assert text.text.startswith(plain.text)
        assert "The anchor is in the shed." in text.text
        titles = [each["title"] for each in answer.structured_content["coming_up"]["reminders"]]
        assert titles == ["anchor"]
        with pytest.raises(ToolError, match="the nearest is 'content'"):
            ask({"query": "island", "messages": [{"text": "boat"}]})


def test_what_cannot_be_used_is_refused_and_nothing_fires(store: MemoryStore) -> None:
    store.triggers.add("anchor", "The anchor is in the shed.", BOAT)
    with pytest.raises(InvalidInput, match="messages is empty"):
        store.conversations.coming_up([])
    with pytest.raises(UnknownScope, match="nowhere"):
        store.conversations.coming_up(SAID, scope="nowhere")
    assert store.triggers.get("anchor").firings == 0


def test_a_condition_that_took_too_long_is_named_in_the_list(store: MemoryStore) -> None:
    slow = "context.messages[0].content.includes('boat') ? (() => { while (true); })() : false"
    store.triggers.add("slow", "never", slow)
    assert [memory.error for memory in store.triggers.list()] == [None]
    store.triggers.activate(SAID)
    (listed,) = store.triggers.list()
    assert "took longer than half a second" in str(listed.error)


def test_a_condition_that_took_too_long_in_another_process_is_named_for_an_hour(
    tmp_path: Path,
) -> None:
    clock = StoppedClock(NOW)

    def open_store() -> MemoryStore:
        return MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder(), clock=clock)

    slow = "context.messages[0].content.includes('boat') ? (() => { while (true); })() : false"
    with open_store() as store, open_store() as other:
        store.triggers.add("slow", "never", slow)
        store.triggers.add("quick", "Take the anchor", BOAT)
        assert [memory.error for memory in other.triggers.list()] == [None, None]
        store.triggers.activate(SAID)
        named = {memory.name: str(memory.error) for memory in other.triggers.list()}
        assert named["quick"] == "None"
        assert "another process" in named["slow"]
        assert "2026-07-17T09:00:00" in named["slow"]
        clock.now += timedelta(hours=2)
        assert [memory.error for memory in other.triggers.list()] == [None, None]
        clock.now -= timedelta(hours=2)
        # What this process found out itself is newer.
        other.triggers.activate([{"role": "user", "content": "hello"}])
        assert [memory.error for memory in other.triggers.list()] == [None, None]
        store.triggers.update("slow", trigger="false")
        with open_store() as third:
            assert [memory.error for memory in third.triggers.list()] == [None, None]
