"""A server that offers some of the tools: `--tools`, `--exclude-tools` and `--read-only`."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client, MCPError, StdioServerParameters
from talking import server

from infinite_memory import InvalidInput, MemoryStore
from infinite_memory_mcp.command import main
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import TOOLSETS, build_server
from infinite_memory_mcp.settings import ALL_TOOLSETS
from infinite_memory_mcp.tool_filter import ToolFilter

SPECS = [spec for specs in TOOLSETS.values() for spec in specs]


def never() -> MemoryStore:
    raise AssertionError("the list of tools needs no store")


async def names_of(parameters: StdioServerParameters) -> list[str]:
    async with Client(parameters) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.thorough
@pytest.mark.anyio
async def test_only_the_named_tools_of_any_toolset_are_offered(tmp_path: Path) -> None:
    started = server(tmp_path, "--tools", "retrieve_memory, undo")
    assert await names_of(started) == ["retrieve_memory", "undo"]


@pytest.mark.thorough
@pytest.mark.anyio
async def test_excluded_tools_are_left_out(tmp_path: Path) -> None:
    everything = await names_of(server(tmp_path, "--toolsets", "all"))
    fewer = await names_of(
        server(tmp_path, "--toolsets", "all", "--exclude-tools", "delete_memory,undo")
    )
    assert fewer == [name for name in everything if name not in ("delete_memory", "undo")]


@pytest.mark.anyio
async def test_a_reading_server_offers_what_changes_nothing(tmp_path: Path, era: str) -> None:
    with LazyStore(never, quiet_seconds=600) as memory:
        built = build_server(memory, ALL_TOOLSETS, tool_filter=ToolFilter(read_only=True))
        async with Client(built, mode=era) as client:
            tools = (await client.list_tools()).tools
            with pytest.raises(MCPError, match="only reads: start it without --read-only"):
                await client.call_tool("store_memory", {"text": "x"})
    assert [tool.name for tool in tools] == [spec.name for spec in SPECS if spec.reads]
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)


@pytest.mark.anyio
async def test_a_tool_that_is_left_out_says_by_which_option(era: str) -> None:
    chosen = ToolFilter(only=("retrieve_memory", "undo"), excluded=("undo",))
    with LazyStore(never, quiet_seconds=600) as memory:
        async with Client(
            build_server(memory, ALL_TOOLSETS, tool_filter=chosen), mode=era
        ) as client:
            with pytest.raises(MCPError, match="start it with another --tools"):
                await client.call_tool("store_memory", {"text": "x"})
            with pytest.raises(MCPError, match="start it without --exclude-tools"):
                await client.call_tool("undo", {})


def test_a_name_that_is_no_tool_is_refused_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LazyStore(never) as memory, pytest.raises(InvalidInput, match="retrieve_memory"):
        build_server(memory, tool_filter=ToolFilter(only=("retrieve_memries",)))
    assert main(["--home", str(tmp_path), "--exclude-tools", "forget_memory"]) == 2
    assert "there is no tool 'forget_memory': the nearest is" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--tools", " , "])
    assert "names no tool" in capsys.readouterr().err


def test_every_tool_is_offered_or_left_out_for_a_reason() -> None:
    chosen = ToolFilter(read_only=True)
    for spec in SPECS:
        reason = chosen.explain_absence(spec.name, reads=spec.reads)
        assert (reason is None) == spec.reads
