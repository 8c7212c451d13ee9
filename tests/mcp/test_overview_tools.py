from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from mcp import Client
from talking import call, refusal, text

from infinite_memory import MemoryStore

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]


async def test_get_memory_stats_counts_what_is_stored(store: MemoryStore, connect: Connect) -> None:
    store.remember("one", scope="apollo", happened_at=datetime(2020, 1, 1, tzinfo=UTC))
    store.remember("two", kind="fact", happened_at=datetime(2021, 1, 1, tzinfo=UTC))
    async with connect() as client:
        data = await call(client, "get_memory_stats")
        said = await text(client, "get_memory_stats")
    assert (data["memories"], data["embedded"]) == (2, 2)
    assert data["by_scope"] == {"Global": 1, "apollo": 1}
    assert data["by_kind"] == {"fact": 1, "note": 1}
    assert (data["oldest"], data["newest"]) == ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z")
    assert "memories: 2, of which 2 are found by meaning" in said
    assert "by scope: Global 1, apollo 1" in said
    assert "from 2020-01-01 00:00 UTC to 2021-01-01 00:00 UTC" in said


async def test_get_memory_stats_of_an_empty_store_has_no_dates(connect: Connect) -> None:
    async with connect() as client:
        data = await call(client, "get_memory_stats")
        said = await text(client, "get_memory_stats")
    assert data["memories"] == 0
    assert (data["oldest"], data["newest"]) == (None, None)
    assert "by kind: none" in said


async def test_a_scope_is_created_listed_and_named_by_its_keyword(
    store: MemoryStore, connect: Connect
) -> None:
    store.scopes.create("work", description="Everything paid", sensitivity="private")
    store.scopes.create("old")
    store.scopes.update("old", active=False)
    async with connect() as client:
        created = await call(
            client,
            "create_memory_scope",
            name="apollo",
            description="The moon project",
            parent="work",
            keywords=["moonshot"],
        )
        said = await text(
            client,
            "create_memory_scope",
            name="apollo",
            description="The moon project",
            parent="work",
            keywords=["moonshot"],
        )
        listed = await call(client, "list_memory_scopes")
        listed_said = await text(client, "list_memory_scopes")
        await call(client, "store_memory", text="The rocket is blue", scope="apollo", id="m")
        found = await call(client, "retrieve_memory", query="is the Moonshot rocket blue?")
        found_said = await text(client, "retrieve_memory", query="is the Moonshot rocket blue?")
    assert created == {
        "name": "apollo",
        "description": "The moon project",
        "keywords": ["moonshot"],
        "active": True,
        "sensitivity": "normal",
        "parent": "work",
    }
    assert said.endswith('apollo · "The moon project" · parent work · keywords moonshot')
    assert [scope["name"] for scope in listed["scopes"]] == ["Global", "apollo", "old", "work"]
    assert listed["scopes"][1] == created
    assert '- work · "Everything paid" · private: searched only when named' in listed_said
    assert "- old · inactive" in listed_said
    assert [memory["id"] for memory in found["hits"]] == ["m"]
    assert found["named_scopes"] == ["apollo"]
    assert found_said.startswith("1 memory, best match first.")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("create_memory_scope", {"name": "x", "parent": "nowhere"}, "no scope 'nowhere'"),
        ("create_memory_scope", {"name": "ALL"}, "stands for every scope"),
        ("create_memory_scope", {"name": "Global", "description": "mine"}, "exists"),
        ("create_memory_scope", {"nam": "x"}, "nearest is 'name'"),
        ("list_memory_scopes", {"scope": "x"}, "takes none"),
        ("get_memory_stats", {"scop": "x"}, "this tool takes conversation_id"),
    ],
)
async def test_the_overview_tools_refuse_what_they_cannot_use(
    connect: Connect, tool: str, arguments: dict[str, object], said: str
) -> None:
    async with connect() as client:
        assert said in await refusal(client, tool, **arguments)


async def test_a_store_with_one_scope_says_one_scope(connect: Connect) -> None:
    async with connect() as client:
        assert (await text(client, "list_memory_scopes")).startswith("1 scope. ")
