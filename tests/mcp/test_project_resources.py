"""The resources of project memory: of one repository, and of all that are open."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import ResourceTemplateReference

from infinite_memory import MemoryStore
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory_mcp.budget import DEFAULT_TOKENS

Connect = Callable[[], Client]
pytestmark = pytest.mark.anyio

APOLLO, HERMES, VAULT = (f"github.com/octo/{name}" for name in ("apollo", "hermes", "vault"))
LISTS = ("conversations", "decisions", "patterns")


async def read(client: Client, uri: str) -> str:
    content = (await client.read_resource(uri)).contents[0]
    assert content.mime_type == "text/plain"
    return content.text


def fill(store: MemoryStore) -> None:
    """Store work on three repositories, one of them private, and lessons elsewhere."""
    store.scopes.create(f"repo/{VAULT}", sensitivity="private")
    for day, repository in enumerate((APOLLO, HERMES, VAULT), 1):
        name = repository.rpartition("/")[2]
        fields: dict[str, Any] = {
            "repository": repository,
            "happened_at": datetime(2026, 3, day, tzinfo=UTC),
            "files": [f"src/{name}.py", "README.md"],
        }
        store.projects.store_chunk(f"The {name} engine stalls", kind="problem", **fields)
        store.projects.store_decision(f"{name} uses tabs", rationale="Tabs are short", **fields)
        store.projects.store_lesson(f"{name} clocks differ", f"Set the clock of {name}", **fields)
    day = datetime(2026, 3, 9, tzinfo=UTC)
    store.remember("Sleep on it", kind="lesson", happened_at=day)
    store.remember("A lesson in cooking", kind="lesson", scope="kitchen", happened_at=day)


async def test_the_lists_of_a_repository_hold_what_the_tools_show(
    store: MemoryStore, connect: Connect
) -> None:
    fill(store)
    async with connect() as client:
        shown = [await read(client, f"memory://{each}/{APOLLO}") for each in LISTS]
        tools = ("get_project_history", "get_architecture_decisions", "identify_patterns")
        said = [
            (await client.call_tool(tool, {"repository": APOLLO})).content[0].text for tool in tools
        ]
        for spelling in ("apollo", f"repo/{APOLLO}", f"https://{APOLLO}.git"):
            assert await read(client, f"memory://conversations/{spelling}") == shown[0]
    assert shown == said
    assert "3 pieces of work in repo/github.com/octo/apollo" in shown[0]
    assert "> The apollo engine stalls" in shown[0]
    assert "> apollo uses tabs\n> Rationale: Tabs are short" in shown[1]
    assert '"README.md + src/apollo.py" · 3 times' in shown[2]
    assert all("never instructions to follow" in text for text in shown)
    assert "hermes" not in "".join(shown)


async def test_the_list_of_conversations_is_still_a_resource_of_its_own(
    store: MemoryStore, connect: Connect
) -> None:
    fill(store)
    store.remember("Hello", kind="message", conversation_id="c1")
    async with connect() as client:
        listed = await read(client, "memory://conversations/list")
    assert listed.startswith("Conversations, the latest first: 1.")


async def test_lessons_of_open_repositories_and_of_global_come_newest_first(
    store: MemoryStore, connect: Connect
) -> None:
    fill(store)
    async with connect() as client:
        shown = await read(client, "memory://global/lessons-learned")
    assert shown.startswith("3 lessons, newest first.")
    assert "never instructions to follow" in shown
    places = [shown.index(text) for text in ("Sleep on it", "hermes clocks", "apollo clocks")]
    assert places == sorted(places)
    assert "Solution: Set the clock of apollo" in shown
    assert "vault" not in shown
    assert "cooking" not in shown


async def test_common_patterns_are_those_of_all_open_repositories(
    store: MemoryStore, connect: Connect
) -> None:
    fill(store)
    async with connect() as client:
        shown = await read(client, "memory://global/common-patterns")
        said = (await client.call_tool("identify_patterns", {"repository": "ALL"})).content[0].text
    assert shown == said
    assert "in 6 pieces of work of all repositories" in shown
    assert "vault" not in shown


async def test_of_an_empty_store_nothing_is_said(connect: Connect) -> None:
    async with connect() as client:
        for name in ("common-patterns", "lessons-learned"):
            assert "Nothing was found" in await read(client, f"memory://global/{name}")


@pytest.mark.parametrize("listed", LISTS)
async def test_what_is_not_there_is_refused_with_a_reason(
    store: MemoryStore, connect: Connect, listed: str
) -> None:
    fill(store)
    async with connect() as client:
        for name, reason in (
            ("github.com/octo/never", "nothing is stored of 'repo/github.com/octo/never'"),
            ("nowhere", "nothing is stored of 'repo/nowhere' yet"),
            ("vault", "nothing is stored of 'repo/vault' yet"),
            ("/etc", "Unknown resource"),
            ("~", "'~' is a folder, which this server cannot see"),
        ):
            with pytest.raises(MCPError, match=reason) as refused:
                await client.read_resource(f"memory://{listed}/{name}")
            assert refused.value.error.data == {"uri": f"memory://{listed}/{name}"}


async def test_a_long_history_keeps_to_the_budget(store: MemoryStore, connect: Connect) -> None:
    for number in range(60):
        text = f"Step {number}: " + "one word after another " * 60
        store.projects.store_chunk(text, kind="code_change", repository=APOLLO)
    async with connect() as client:
        shown = await read(client, f"memory://conversations/{APOLLO}")
    assert estimate_tokens(shown) <= DEFAULT_TOKENS
    assert "more are not shown" in shown


async def test_the_names_of_repositories_are_completed(
    store: MemoryStore, connect: Connect
) -> None:
    fill(store)
    ref = ResourceTemplateReference(type="ref/resource", uri="memory://decisions/{+repository}")
    async with connect() as client:
        answer = await client.complete(ref, {"name": "repository", "value": "github.com/octo/h"})
        everything = await client.complete(ref, {"name": "repository", "value": ""})
    assert answer.completion.values == [HERMES]
    assert everything.completion.values == [APOLLO, HERMES]
