from __future__ import annotations

import json
import re
from typing import Any

import pytest
from attrs import fields
from mcp import Client

from infinite_memory import Memory
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import INSTRUCTIONS, TOOLSETS, build_server
from infinite_memory_mcp.settings import package_version
from tests.harness.reference import read_sections

NAMES = [
    "store_memory",
    "update_memory",
    "delete_memory",
    "retrieve_memory",
    "recall_memory",
    "what_do_i_know",
    "build_session_context",
    "reminders",
    "more",
    "update_user_profile",
    "find_past_solutions",
    "log_conversation",
    "undo",
]
BROWSE = ["recall_memory_by_time", "search_by_tag", "search_by_scope", "get_user_profile"]
PROJECTS = ["store_conversation_chunk", "store_architecture_decision", "store_lesson_learned"]
PROJECTS += ["search_similar_problems", "get_project_history", "get_architecture_decisions"]
PROJECTS += ["suggest_related_work", "identify_patterns"]
CONVERSATIONS = ["add_short_term_memory", "search_short_term_memories"]
CONVERSATIONS += ["delete_short_term_memories", "cleanup_memories", "get_frequent_conversation"]
CONVERSATIONS += ["analyze_memory_patterns", "search_memories", "add_long_term_memory"]
CONVERSATIONS += ["update_long_term_memory", "delete_long_term_memory", "list_long_term_memories"]
CONVERSATIONS += ["search_long_term_memories", "get_memory_context", "reminder_done"]
GRAPH = ["related_memories", "link_memories", "unlink_memories", "not_useful"]
GRAPH += ["dream", "dream_diary"]
ADMIN = ["list_memory_scopes", "create_memory_scope", "memory_history", "memory_log"]
ADMIN += ["health_check", "get_metrics", "verify_memory", "get_memory_stats"]
ADMIN += ["backup_memory", "list_backups", "restore_memory", "delete_backup", "optimize_memory"]
ADMIN += ["summaries_wanted", "store_summary", "mask_secrets", "inbox"]


def never() -> Any:
    raise AssertionError("nothing here needs the store")


async def listed(era: str) -> list[dict[str, Any]]:
    with LazyStore(never, quiet_seconds=600) as memory:
        async with Client(build_server(memory), mode=era) as client:
            tools = (await client.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


@pytest.mark.anyio
async def test_the_tools_are_these_and_are_listed_without_the_store(era: str) -> None:
    assert [tool["name"] for tool in await listed(era)] == NAMES


@pytest.mark.anyio
async def test_the_tool_list_is_the_same_in_both_eras() -> None:
    assert await listed("auto") == await listed("legacy")


@pytest.mark.anyio
async def test_the_tool_list_costs_a_conversation_little(era: str) -> None:
    tools = await listed(era)
    tokens = len(json.dumps(tools, separators=(",", ":"))) / 4
    print(f"{len(tools)} tools, about {tokens:.0f} tokens")
    assert len(tools) <= 14
    assert tokens <= 2600
    assert all(len(tool["description"].encode()) < 2000 for tool in tools)
    assert len(INSTRUCTIONS.encode()) < 2000


@pytest.mark.anyio
async def test_every_tool_says_what_it_does_to_the_store(era: str) -> None:
    # What a hint says that is left out: a tool writes, destroys, and not the same twice.
    unsaid = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False}
    hints = {tool["name"]: tool["annotations"] for tool in await listed(era)}
    meant = {name: {**unsaid, **hint} for name, hint in hints.items()}
    reads = {name for name, hint in meant.items() if hint["readOnlyHint"]}
    destroys = {name for name in meant.keys() - reads if meant[name]["destructiveHint"]}
    assert reads == {*NAMES[3:8], "find_past_solutions"}
    assert destroys == {"update_memory", "delete_memory", "more", "undo"}
    assert not any(hint["openWorldHint"] for hint in hints.values())
    assert meant["delete_memory"]["idempotentHint"]
    assert not meant["store_memory"]["idempotentHint"]
    # What the others say of a tool that reads means nothing.
    assert all(set(hints[name]) == {"readOnlyHint", "openWorldHint"} for name in reads)


@pytest.mark.anyio
async def test_every_tool_has_a_title_and_schemas_that_name_no_default_of_nothing(
    era: str,
) -> None:
    for tool in await listed(era):
        assert tool["title"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert "outputSchema" not in tool
        assert '"null"' not in json.dumps(tool)


# What a caller of a tool cannot say of a memory: who brought it in, what the store itself notes,
# what a key or an update sets, and what only an import gives.
NOT_FOR_TOOLS = {
    *("origin", "stored_at", "revision", "status"),
    *("valid_from", "valid_to", "sources", "attachments"),
}
FIELDS = {each.name for each in fields(Memory)}


@pytest.mark.anyio
async def test_the_schemas_of_the_tools_that_write_have_every_field_of_a_memory(era: str) -> None:
    properties = {
        tool["name"]: set(tool["inputSchema"].get("properties", {})) for tool in await listed(era)
    }
    assert properties["store_memory"] == FIELDS - NOT_FOR_TOOLS | {"supersedes", "create"}
    not_revised = NOT_FOR_TOOLS - {"revision", "status"} | {"conversation_id"}
    assert properties["update_memory"] == FIELDS - not_revised | {"supersedes", "create"}


@pytest.mark.parametrize(
    "spec",
    [spec for specs in TOOLSETS.values() for spec in specs],
    ids=lambda spec: spec.name,
)
def test_the_schema_has_every_argument_of(spec: Any) -> None:
    tool = spec.build_tool(LazyStore(never, quiet_seconds=600))
    listed = [
        name
        for name in spec.arguments.model_fields
        if name not in getattr(spec.arguments, "unlisted", ())
    ]
    assert list(tool.parameters.get("properties", {})) == listed


@pytest.mark.anyio
async def test_the_server_introduces_itself(era: str) -> None:
    with LazyStore(never, quiet_seconds=600) as memory:
        async with Client(build_server(memory), mode=era) as client:
            assert client.server_info.name == "infinite-memory"
            assert client.server_info.version == package_version()
            assert client.instructions == INSTRUCTIONS


TOOLS = [spec for specs in TOOLSETS.values() for spec in specs]


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_the_reference_page_documents_every_argument_of(spec: Any) -> None:
    arguments = documented()[spec.name]
    assert arguments == list(spec.arguments.model_fields)


def test_the_reference_page_documents_no_tool_that_does_not_exist() -> None:
    assert sorted(documented()) == sorted(
        [*NAMES, *BROWSE, *PROJECTS, *CONVERSATIONS, *GRAPH, *ADMIN]
    )


def documented() -> dict[str, list[str]]:
    """Return the arguments that the page lists under the heading of each tool."""
    return {
        heading.strip("`"): re.findall(r"^\| `(\w+)` \|", body, flags=re.MULTILINE)
        for heading, body in read_sections("mcp-tools").items()
        if heading.startswith("`")
    }
