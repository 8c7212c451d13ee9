"""Two scopes, many cycles, and a handle and a server of one of them: nothing of the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp import Client
from talking import call, text

from infinite_memory import Config, Memory, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server
from infinite_memory_mcp.settings import ALL_TOOLSETS
from tests.harness.dreaming import TOPICS, tell_topics

pytestmark = pytest.mark.anyio

SCOPES = ("household", "laboratory")


@pytest.mark.parametrize("cycles", [20, pytest.param(200, marks=pytest.mark.slow("dreamer"))])
async def test_what_was_dreamed_in_a_scope_is_told_in_no_other(tmp_path: Path, cycles: int) -> None:
    home = tmp_path / "store"
    config = Config.model_validate({"home": home, "time_zone": "UTC"})
    with MemoryStore.open(config=config, embedder=HashingEmbedder(256)) as store:
        for scope in SCOPES:
            tell_topics(store, number=8, scope=scope, prefix=f"{scope}-", speaker=f"{scope}er")
        for seed in range(cycles):
            assert store.dream(seed).failure is None
        topics = find_topics(store)
        assert {topic.scope for topic in topics} == set(SCOPES)
        told = [await tell_all(store, scope, tmp_path) for scope in SCOPES]
    for mine, other, answers in zip(SCOPES, SCOPES[::-1], told, strict=True):
        assert f"{mine}-ferry-1" in answers
        assert other not in answers
        for topic in topics:
            assert (topic.id in answers) is (topic.scope == mine)


def find_topics(store: MemoryStore) -> list[Memory]:
    hits = store.search(" ".join(TOPICS), scope="ALL", kinds=["summary"], limit=100)
    return [hit.memory for hit in hits if hit.memory.is_dreamed]


async def tell_all(store: MemoryStore, scope: str, folder: Path) -> str:
    """Return everything that a handle and a server confined to a scope tell."""
    inside = store.confine(scopes=[scope])
    told: list[object] = [cycle.to_dict() for cycle in inside.dreams.diary(limit=1000)]
    told += [entry.to_dict() for entry in inside.journal.entries(limit=10_000)]
    told.append(inside.dreams.material(pairs=100, groups=20, max_chars=100_000).to_dict())
    for topic, words in TOPICS.items():
        for depth in ("normal", "overview", "exhaustive"):
            told.append(inside.search(words, depth=depth, limit=50).to_dict())
        told.append(inside.what_do_i_know(words).to_dict())
        memory_id = f"{scope}-{topic}-1"
        told += [link.to_dict() for link in inside.graph.links(memory_id)]
        told += [related.to_dict() for related in inside.graph.related(memory_id)]
    for name in ("graph.json", "graph.graphml"):
        path = folder / f"{scope}-{name}"
        inside.graph.export(path)
        told.append(path.read_text("utf-8"))
    lines = folder / f"{scope}.jsonl"
    inside.exchange.export(lines)
    told.append(lines.read_text("utf-8"))
    told.append(inside.dream(1).to_dict())
    with LazyStore(lambda: inside, quiet_seconds=600) as memory:
        async with Client(build_server(memory, ALL_TOOLSETS, structured=True)) as client:
            told.append(await call(client, "dream_diary", limit=50))
            told.append(await text(client, "dream", material=True))
            told.append(await text(client, "what_do_i_know", topic=" ".join(TOPICS)))
            told.append(await text(client, "related_memories", ids=[f"{scope}-ferry-1"]))
    return json.dumps(told, ensure_ascii=False, default=str)
