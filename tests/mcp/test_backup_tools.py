"""The tools of the backups: for an operator, and by name alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client
from talking import call, refusal, server, text

from infinite_memory import MemoryStore

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]


async def test_a_backup_is_made_listed_merged_and_deleted(connect: Connect) -> None:
    async with connect() as client:
        assert "backup_memory makes one" in await text(client, "list_backups")
        await call(client, "store_memory", text="The deadline of Apollo is June 5", id="apollo")
        made = await call(client, "backup_memory")
        assert (made["counts"]["memories"], made["whole"]) == (1, True)
        shown = await text(client, "list_backups")
        assert shown.startswith(f"{made['name']} · 20")
        assert " · 1 memory · " in shown
        await call(client, "update_memory", id="apollo", text="June 6")
        merged = await text(client, "restore_memory", name=made["name"])
        assert "added 0, changed 0, left 1 as they were" in merged
        assert "store is not empty" in await refusal(
            client, "restore_memory", name=made["name"], mode="empty"
        )
        replaced = await text(client, "restore_memory", name=made["name"], mode="overwrite")
        assert "1 memory" in replaced
        assert "before-restore" in replaced
        found = await call(client, "retrieve_memory", query="when is Apollo due?")
        assert [hit["text"] for hit in found["hits"]] == ["The deadline of Apollo is June 5"]
        assert made["name"] in await text(client, "delete_backup", name=made["name"])
        assert len((await call(client, "list_backups"))["backups"]) == 1


async def test_a_path_is_no_name(connect: Connect, store: MemoryStore, tmp_path: Path) -> None:
    outside = store.backups.create(tmp_path / "outside.imarchive")
    async with connect() as client:
        made = await call(client, "backup_memory")
        for name in (outside.path, "../outside.imarchive", "memory.db", "", made["path"]):
            for tool in ("restore_memory", "delete_backup"):
                said = await refusal(client, tool, name=name)
                assert "there is no backup" in said
                assert made["name"] in said
    assert Path(outside.path).exists()


@pytest.mark.thorough
async def test_the_tools_are_in_the_toolset_of_the_operator(tmp_path: Path) -> None:
    async with Client(server(tmp_path)) as client:
        default = {tool.name for tool in (await client.list_tools()).tools}
    async with Client(server(tmp_path, "--toolsets", "admin")) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("backup_memories", {})
        assert not answer.is_error
    ours = {"backup_memory", "list_backups", "delete_backup", "restore_memory"}
    assert not ours & default
    assert ours <= tools.keys()
    annotations = tools["restore_memory"].annotations
    assert annotations is not None
    # Without a word, the protocol says that a tool destroys.
    assert annotations.destructive_hint is not False
