"""The client of the third document: its flows, lifecycles, and isolated conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from literal import LiteralClient, literal_client
from talking import refusal

from infinite_memory import Status

pytestmark = [pytest.mark.anyio, pytest.mark.thorough]


def talk(content: str, conversation_id: str, **further: Any) -> dict[str, Any]:
    # Of an hour ago, since a search leaves out what was said in the last twenty minutes.
    message = {"role": "user", "content": content, "timestamp": "2026-01-01T10:00:00Z"}
    return {"messages": [message], "conversation_id": conversation_id, **further}


async def search(client: LiteralClient, content: str, conversation_id: str) -> set[str]:
    found = await client.call(
        "search_short_term_memories",
        recentMessages=[{"role": "user", "content": content}],
        conversation_id=conversation_id,
    )
    return {hit["memory"]["id"] if "memory" in hit else hit["id"] for hit in found["top"]}


async def test_what_is_added_comes_up_by_its_keywords_and_is_kept(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        added = await client.call("add_short_term_memory", **talk("我喜欢吃披萨", "conversation_1"))
        assert "披萨" in added["keywords"]
        assert await search(client, "今天吃披萨吗?", "conversation_1") == {added["id"]}
    async with literal_client(tmp_path) as client:
        assert await search(client, "披萨", "conversation_1") == {added["id"]}


async def test_each_conversation_has_a_space_of_its_own(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        ids = {}
        for name in ("conversation_1", "conversation_2", "default"):
            added = await client.call("add_short_term_memory", **talk("The pizza is hot", name))
            ids[name] = added["id"]
            await client.call(
                "add_long_term_memory",
                name="pizza",
                prompt=f"Of {name}",
                trigger="match_keys(context.messages, ['pizza'], 'any')",
                conversation_id=name,
            )
        for name, memory_id in ids.items():
            assert await search(client, "pizza", name) == {memory_id}
            active = await client.call(
                "search_long_term_memories",
                messages=[{"role": "user", "content": "pizza!"}],
                conversation_id=name,
            )
            # What is noted for no conversation in particular holds in each.
            prompts = {memory["prompt"] for memory in active["activated"]}
            assert prompts == {f"Of {name}", "Of default"}
        await client.call(
            "delete_short_term_memories", pattern="pizza", conversation_id="conversation_1"
        )
        assert client.store.get(ids["conversation_1"]).status is Status.FORGOTTEN
        assert client.store.get(ids["conversation_2"]).status is Status.CURRENT


async def test_a_trigger_is_validated_and_runs_in_a_sandbox(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        for trigger in ("match_keys(", "require('fs')", "process.exit()"):
            await refusal(
                client.client, "add_long_term_memory", name="x", prompt="p", trigger=trigger
            )
        assert client.stored() == []


async def test_invalid_arguments_are_an_error_and_store_nothing(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        for arguments in (
            {"conversation_id": "c"},
            {"messages": "hello"},
            {"messages": [{"role": "user"}], "conversation_id": "c"},
        ):
            await refusal(client.client, "add_short_term_memory", **arguments)
        assert client.stored() == []
