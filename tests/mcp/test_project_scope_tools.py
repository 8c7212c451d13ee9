"""Tools of a server that was started in a repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client
from talking import call, text

from infinite_memory import MemoryStore
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server
from infinite_memory_mcp.settings import ALL_TOOLSETS

pytestmark = pytest.mark.anyio

APP = "repo/github.com/acme/app"
MOVES = "Kept for this repository; update_memory with a scope moves it."


@pytest.fixture
def client(tmp_path: Path, era: str) -> Iterator[Client]:
    git = tmp_path / "code" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/app.git\n')
    store = MemoryStore.open("memory://", project=git.parent, embedder=HashingEmbedder())
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        yield Client(build_server(memory, ALL_TOOLSETS, structured=True), mode=era)


async def test_the_receipt_of_a_decision_says_how_to_move_it_and_no_other_does(
    client: Client,
) -> None:
    async with client:
        said = await text(client, "store_memory", text="We chose SQLite", kind="decision", id="d")
        assert f'scope "{APP}"' in said or f"scope {APP}" in said
        assert said.endswith(MOVES)
        assert estimate_tokens(said) <= 60
        assert estimate_tokens(MOVES) <= 20
        for options in ({"kind": "fact"}, {"kind": "decision", "scope": "project"}):
            assert MOVES not in await text(client, "store_memory", text="We like tea", **options)
        moved = await call(client, "update_memory", id="d", scope="Global")
    assert moved["scope"] == "Global"


async def test_the_word_project_names_the_repository(client: Client) -> None:
    async with client:
        nothing = await text(client, "retrieve_memory", query="SQLite", scope="project")
        assert f"There is no scope '{APP}' yet" in nothing
        stored = await call(client, "store_memory", text="We chose SQLite", scope="project", id="d")
        assert stored["scope"] == APP
        for tool in ("retrieve_memory", "recall_memory", "search_by_scope"):
            found = await call(client, tool, query="SQLite", scope="project")
            assert [hit["id"] for hit in found["hits"]] == ["d"]
        listed = await call(client, "search_by_scope", scope="project")
        assert [hit["id"] for hit in listed["hits"]] == ["d"]
        preview = await text(client, "delete_memory", query="SQLite", scope="project")
        assert "Nothing is forgotten yet. 1 memory would be" in preview
