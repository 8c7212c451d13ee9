"""What a refusal of arguments says, and how much of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, MCPError
from talking import refusal, text

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
    ("tool", "arguments", "call"),
    [
        (
            "recall_memory",
            {"when": "last week"},
            'recall_memory_by_time with {"when": "last week"}',
        ),
        ("recall_memory", {}, 'recall_memory_by_time with {"when": "always"}'),
        (
            "retrieve_memory",
            {"when": "last week", "limit": "5"},
            'recall_memory_by_time with {"when": "last week", "limit": 5}',
        ),
        ("recall_memory_by_time", {"query": "tea"}, 'recall_memory with {"query": "tea"}'),
        (
            "recall_memory_by_time",
            {"query": "tea", "time_expression": "last week", "scope": "ALL"},
            'recall_memory with {"query": "tea", "when": "last week", "scope": "ALL"}',
        ),
    ],
)
async def test_a_question_without_words_or_a_period_with_them_names_the_tool_to_call(
    connect: Callable[[], Client], tool: str, arguments: dict[str, Any], call: str
) -> None:
    async with connect() as client:
        said = await refusal(client, tool, **arguments)
        assert f"call {call}" in said
        name, _, values = call.partition(" with ")
        await text(client, name, **json.loads(values))


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
