"""The tools that a server does not list: `more` runs them; and `reminders`, what is due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from mcp import Client, MCPError
from talking import call, refusal, text

from infinite_memory import MemoryStore, Status
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import TOOLSETS, build_server
from infinite_memory_mcp.tool_filter import ToolFilter

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]


async def test_more_names_every_tool_that_is_not_listed_a_line_for_each_toolset(
    store: MemoryStore,
) -> None:
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        async with Client(build_server(memory, ["core", "graph"])) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    lines = str(listed["more"].description).splitlines()[1:]
    named = {line.partition(": ")[0]: line.partition(": ")[2].split(", ") for line in lines}
    assert "graph" not in named
    assert named == {
        toolset: [spec.name for spec in specs if spec.name not in listed]
        for toolset, specs in TOOLSETS.items()
        if toolset not in ("core", "graph")
    }


async def test_more_runs_a_tool_as_a_call_of_it_does(store: MemoryStore, connect: Connect) -> None:
    memory_id = store.remember("The cat is called Tom", tags=["pets"]).id
    async with connect() as client:
        direct = await call(client, "search_by_tag", tags=["pets"])
        assert direct == await call(
            client, "more", tool="search_by_tag", arguments={"tags": ["pets"]}
        )
        assert await text(client, "more") == "Every tool is listed."
        told = await text(client, "more", tool="search_by_tag")
        assert "arguments" in told
        assert '"tags"' in told
        assert "nearest is 'search_by_tag'" in await refusal(client, "more", tool="search_by_tags")
        by_foreign_name = await call(
            client, "more", tool="forget_memory", arguments={"memory_id": memory_id}
        )
    assert by_foreign_name["ran"].startswith("delete_memory with")
    assert store.get(memory_id).status is Status.FORGOTTEN


@pytest.mark.parametrize(
    ("tool_filter", "reason"),
    [
        (ToolFilter(read_only=True), "start it without --read-only"),
        (ToolFilter(excluded=("store_summary",)), "start it without --exclude-tools"),
        (ToolFilter(only=("more", "search_by_tag")), "start it with another --tools"),
    ],
    ids=["read-only", "excluded", "only"],
)
async def test_more_runs_nothing_that_is_left_out(
    store: MemoryStore, tool_filter: ToolFilter, reason: str
) -> None:
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        async with Client(build_server(memory, tool_filter=tool_filter)) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            for tool, arguments in (
                ("store_summary", {"text": "x", "sources": ["y"]}),
                ("more", {"tool": "store_summary", "arguments": {"text": "x", "sources": ["y"]}}),
            ):
                with pytest.raises(MCPError, match=reason):
                    await client.call_tool(tool, arguments)
            assert not (await client.call_tool("search_by_tag", {})).is_error
            assert store.journal.entries() == []
    assert "store_summary" not in str(listed["more"].description)
    assert bool(listed["more"].annotations.read_only_hint) is not bool(tool_filter.excluded)


async def test_a_name_for_several_calls_runs_them_all_and_says_so(
    store: MemoryStore, connect: Connect
) -> None:
    people = [
        {"name": name, "entityType": "person", "observations": ["Sails", "Sings"]}
        for name in ("Ann", "Ben")
    ]
    async with connect() as client:
        said = await client.call_tool("create_entities", {"entities": people})
        assert str(said.content[-1].text).count("store_memory with") == 4
        with pytest.raises(MCPError, match="'age', which is not understood"):
            await client.call_tool("create_entities", {"entities": [people[0], {"age": 3}]})
        preview = await call(client, "clear_memories")
    told = {memory.text for memory in store.browse(scope="ALL").memories}
    assert told == {"Ann: Sails", "Ann: Sings", "Ben: Sails", "Ben: Sings"}
    assert (preview["outcome"], preview["count"]) == ("preview", 4)


async def test_reminders_lists_what_is_due_and_what_comes(
    store: MemoryStore, connect: Connect
) -> None:
    now = store.remember("The time of the store").stored_at
    for number, days in enumerate((1, 2, 40)):
        store.remember(
            f"Pay bill {number}", kind="reminder", happened_at=now + timedelta(days=days)
        )
    async with connect() as client:
        said = await text(client, "reminders")
        far = await call(client, "reminders", days=60)
        assert "give a whole number from 0 to 366" in await refusal(client, "reminders", days=400)
    assert "ahead" in said
    assert '"Pay bill 0"' in said
    assert '"Pay bill 1"' in said
    assert "Pay bill 2" not in said
    assert [day["text"] for day in far["days"]] == [f"Pay bill {n}" for n in range(3)]
