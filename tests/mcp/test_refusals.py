"""What a refusal of arguments says, and how much of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, MCPError
from talking import call, refusal

from infinite_memory_mcp.validation import Offer, check_request

pytestmark = pytest.mark.anyio


async def test_a_list_of_thousands_of_wrong_entries_is_refused_briefly(
    connect: Callable[[], Client],
) -> None:
    async with connect() as client:
        said = await refusal(client, "store_memory", text="x", tags=list(range(20_000)))
    assert "tags 0 cannot be used" in said
    assert said.endswith("and 19995 more problems")
    assert len(said) < 1000


async def test_a_few_wrong_arguments_are_all_named(connect: Callable[[], Client]) -> None:
    async with connect() as client:
        said = await refusal(client, "store_memory", text=1, important="?", title=[])
    assert [part.split()[0] for part in said.split("; ")] == ["text", "title", "important"]


@pytest.mark.parametrize(
    ("tool", "arguments", "ran"),
    [
        ("recall_memory", {"when": "today"}, "recall_memory_by_time"),
        ("retrieve_memory", {"time_query": "today", "limit": "5"}, "recall_memory_by_time"),
        ("recall_memory_by_time", {"query": "tea"}, "recall_memory"),
        (
            "recall_memory_by_time",
            {"query": "tea", "time_expression": "today", "scope": "ALL"},
            "recall_memory",
        ),
    ],
)
async def test_a_question_without_words_or_a_period_with_them_runs_the_tool_that_is_meant(
    connect: Callable[[], Client], tool: str, arguments: dict[str, Any], ran: str
) -> None:
    async with connect() as client:
        stored = await call(client, "store_memory", text="The tea is green")
        found = await call(client, tool, **arguments)
        assert "are both missing" in await refusal(client, "retrieve_memory", limit=5)
    assert [hit["id"] for hit in found["hits"]] == [stored["id"]]
    assert found["ran"].startswith(f"{ran} with ")


async def test_a_budget_out_of_bounds_is_refused_with_the_bounds(
    connect: Callable[[], Client],
) -> None:
    async with connect() as client:
        said = await refusal(client, "retrieve_memory", query="x", max_tokens=20)
    assert said == "max_tokens 20 cannot be used: give a whole number from 500 to 100000"


async def test_an_unknown_name_of_ten_million_characters_is_refused_briefly(
    connect: Callable[[], Client],
) -> None:
    async with connect() as client:
        said = await refusal(client, "delete_memory", **{"id": "x", "permanent" * 1_111_111: True})
    assert "permanently" not in said
    assert len(said) < 300


async def test_a_tool_that_does_not_exist_is_refused_with_the_nearest(
    connect: Callable[[], Client],
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("store_memories", {"text": "x"})
    assert caught.value.error.code == -32602
    assert "no tool 'store_memories': the nearest is 'store_memory'" in str(caught.value)


async def test_what_the_server_has_none_of_is_refused_by_name(
    connect: Callable[[], Client],
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match="there is no prompt 'greet'"):
            await client.get_prompt("greet")
        with pytest.raises(MCPError, match="there is no resource 'memory://stats'"):
            await client.read_resource("memory://stats")


@pytest.mark.parametrize(
    ("tool", "command"),
    [("export_memories", "infinite-memory export"), ("import_memories", "infinite-memory import")],
)
async def test_a_tool_that_is_a_command_here_names_the_command(
    tool: str, command: str, connect: Callable[[], Client]
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match=f"it is a command, ask the user to run `{command} "):
            await client.call_tool(tool, {})


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("tools/call", None, "name null is not a string"),
        ("tools/call", {"name": 7}, "name 7 is not a string"),
        ("tools/call", {"name": "x" * 10**7}, "there is no tool 'xxx"),
        (
            "tools/call",
            {"name": "store_memory", "arguments": [1]},
            r"arguments \[1\] are not an object",
        ),
        ("tools/call", {"name": "\ud800"}, "there is no tool"),
        ("tools/list", {"cursor": 3}, "cursor 3 is not a string"),
        ("prompts/get", None, "there is no prompt null"),
    ],
)
def test_a_request_in_a_wrong_shape_is_refused_briefly(
    method: str, params: dict[str, Any] | None, said: str
) -> None:
    with pytest.raises(MCPError, match=said) as caught:
        check_request(method, params, Offer(tools=["store_memory"]), {"undo": "admin"})
    assert len(str(caught.value)) < 400
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "store_memory"}),
        ("tools/call", {"name": "store_memory", "arguments": {}}),
        ("tools/list", None),
        ("tools/list", {"cursor": None}),
        ("ping", None),
    ],
)
def test_a_sound_request_is_let_through(method: str, params: dict[str, Any] | None) -> None:
    check_request(method, params, Offer(tools=["store_memory"]), {"undo": "admin"})
