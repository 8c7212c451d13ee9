"""The settings of searches, conversations and the model in a server of its own process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from talking import call, refusal, server

from infinite_memory.core.config import CONFIG_FILE, CPU_PROVIDER
from infinite_memory.search.embedding.session import load_onnxruntime

pytestmark = pytest.mark.anyio

PLAN = "harbour plan"


def configured(home: Path, settings: Mapping[str, object], source: str) -> StdioServerParameters:
    """Return how to start a server with `settings` from the file or the environment."""
    started = server(home)
    if source == "file":
        nested: dict[str, Any] = {}
        for key, value in settings.items():
            section, _, name = key.rpartition(".")
            (nested.setdefault(section, {}) if section else nested)[name] = value
        (home / CONFIG_FILE).write_text(json.dumps(nested))
        return started
    variables = {
        f"INFINITE_MEMORY_{key.replace('.', '_').upper()}": (
            ",".join(value) if isinstance(value, list) else str(value)
        )
        for key, value in settings.items()
    }
    return started.model_copy(update={"env": {**(started.env or {}), **variables}})


async def store_drafts(client: Client, count: int) -> None:
    for number in range(count):
        await call(client, "store_memory", text=f"The {PLAN}, draft {number}")


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["file", "environment"])
async def test_the_limit_and_the_pages_are_the_configured_ones(tmp_path: Path, source: str) -> None:
    settings = configured(tmp_path, {"search.limit": 3}, source)
    async with Client(settings) as client:
        await store_drafts(client, 7)
        for tool in ("retrieve_memory", "recall_memory"):
            assert len((await call(client, tool, query=PLAN))["hits"]) == 3
            assert len((await call(client, tool, query=PLAN, limit=5))["hits"]) == 5
        pages = [await call(client, "retrieve_memory", query=PLAN, page=n) for n in (1, 2, 3)]
        listed = await call(client, "search_by_scope", scope="Global")
        by_time = await call(client, "recall_memory_by_time", when="always")
    assert [len(page["hits"]) for page in pages] == [3, 3, 1]
    assert len({hit["id"] for page in pages for hit in page["hits"]}) == 7
    assert len(listed["hits"]) == len(by_time["hits"]) == 7


@pytest.mark.thorough
async def test_the_tools_promise_no_number_that_a_setting_changes(tmp_path: Path) -> None:
    settings = configured(tmp_path, {"search.limit": 3}, "environment")
    async with Client(settings) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name in ("retrieve_memory", "recall_memory"):
        assert "default" not in tools[name].input_schema["properties"]["limit"]
        assert "10" not in str(tools[name].description)


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["file", "environment"])
async def test_the_threshold_is_the_configured_one(tmp_path: Path, source: str) -> None:
    settings = configured(tmp_path, {"search.threshold": 1}, source)
    async with Client(settings) as client:
        await store_drafts(client, 2)
        cut = await call(client, "retrieve_memory", query="holiday by the sea")
        recalled = await call(client, "recall_memory", query="holiday by the sea")
        whole = await call(client, "retrieve_memory", query="holiday by the sea", threshold=0)
    assert (cut["hits"], recalled["hits"], len(whole["hits"])) == ([], [], 2)


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["file", "environment"])
async def test_a_conversation_gets_its_scope(tmp_path: Path, source: str) -> None:
    settings = configured(tmp_path, {"conversation_scopes": True, "default_scope": "work"}, source)
    async with Client(settings) as client:
        await call(client, "store_memory", text="The walls are blue")
        one = await call(
            client, "store_memory", text="The walls are red", conversation_id="c1", kind="message"
        )
        await call(client, "store_memory", text="The walls are green", conversation_id="c2")
        inside = await call(client, "retrieve_memory", query="walls", scope="conversations/c1")
        outside = await call(client, "retrieve_memory", query="walls")
    assert one["scope"] == "conversations/c1"
    assert {hit["text"] for hit in inside["hits"]} == {"The walls are red", "The walls are blue"}
    assert {hit["text"] for hit in outside["hits"]} == {"The walls are blue"}


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["file", "environment"])
async def test_the_configured_providers_run_the_model(tmp_path: Path, source: str) -> None:
    available = load_onnxruntime().get_available_providers()
    settings = configured(tmp_path, {"execution_providers": available}, source)
    async with Client(settings) as client:
        receipt = await call(client, "store_memory", text="Alice was born on January 20")
    assert receipt["searchable"] == "meaning"


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["file", "environment"])
async def test_a_provider_that_is_not_there_is_told_by_the_first_call(
    tmp_path: Path, source: str
) -> None:
    settings = configured(tmp_path, {"execution_providers": ["GPU", CPU_PROVIDER]}, source)
    async with Client(settings) as client:
        assert (await client.list_tools()).tools
        said = await refusal(client, "store_memory", text="hello")
    assert "no 'GPU'" in said
    assert CPU_PROVIDER in said
