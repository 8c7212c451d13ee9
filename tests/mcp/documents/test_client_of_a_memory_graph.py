"""The client of the fourth document: four commands of a graph, in JSON and as tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from literal import literal_client

pytestmark = [pytest.mark.anyio, pytest.mark.thorough]

REMEMBER = {
    "command": "remember",
    "content": "Met with Alice about project X",
    "context": {"project": "X", "location": "Office", "period": "2025-Q3"},
}


async def test_the_printed_command_remembers_with_its_context(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        by_command = await client.act(REMEMBER)
        by_more = await client.call("more", **{**REMEMBER, "content": "Alice wants a prototype"})
        for receipt, text in (
            (by_command, REMEMBER["content"]),
            (by_more, "Alice wants a prototype"),
        ):
            memory = client.store.get(receipt["id"])
            assert (memory.text, memory.context) == (text, REMEMBER["context"])


async def test_the_sample_workflows_find_recall_and_relate(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        first = await client.act(
            {
                "command": "I should remember",
                "content": "Meeting notes with Alice on project X",
                "context": {"project": "X", "location": "Office"},
            }
        )
        second = await client.act({**REMEMBER, "content": "Project X is due in June"})
        for command in ("What do I remember about", "search"):
            found = await client.act({"command": command, "query": "Alice"})
            assert first["id"] in {hit["id"] for hit in found["hits"]}
        known = await client.act({"command": "What do I know about", "query": "project X"})
        assert "Meeting notes with Alice" in known["text"]
        assert known["highlights"]
        for command in ("Recall memory", "recall"):
            recalled = await client.act({"command": command, "id": first["id"]})
            assert recalled["hits"][0]["context"] == {"project": "X", "location": "Office"}
            assert second["id"] in {each["id"] for each in recalled["related"]}
        deep = await client.call("retrieve_memory", query="project X", depth="exhaustive")
        assert {first["id"], second["id"]} <= {hit["id"] for hit in deep["hits"]}


async def test_instructions_and_conclusions_are_kinds(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        for kind in ("instruction", "conclusion"):
            receipt = await client.act({**REMEMBER, "content": f"An {kind}", "type": kind})
            assert client.store.get(receipt["id"]).kind == kind
            found = await client.call("retrieve_memory", query=kind, kinds=[kind])
            assert [hit["id"] for hit in found["hits"]] == [receipt["id"]]


async def test_a_command_that_is_not_that_of_the_tool_changes_nothing(tmp_path: Path) -> None:
    async with literal_client(tmp_path) as client:
        with pytest.raises(Exception, match="'forget' is not what store_memory does"):
            await client.call("store_memory", **{**REMEMBER, "command": "forget"})
        assert client.stored() == []
