"""A server changes to another model in the background, and answers meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path

import anyio
import pytest
from mcp import Client
from talking import call, server

from benchmarks.tools.export import Precision, export_model
from infinite_memory import Config, MemoryStore
from infinite_memory.engine.stats import Stats

pytestmark = pytest.mark.anyio

_TINY = Path(__file__).parents[1] / "embedding" / "tiny_bert.py"


@pytest.mark.thorough
async def test_a_server_embeds_everything_anew_while_it_answers(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home, config=Config(home=home)) as store:
        store.remember_many(
            [{"text": f"the dog number {n} sleeps", "id": f"m{n}"} for n in range(40)]
        )
        store.remember("the deadline of project Apollo is June 5", id="apollo")
    checkpoint = run_path(str(_TINY))["write_checkpoint"](tmp_path / "tiny-bert")
    export_model(checkpoint, tmp_path / "tiny", precision=Precision.FP32)
    settings = {"embedder": str(tmp_path / "tiny")}
    (home / "infinite_memory_config.json").write_text(json.dumps(settings))
    async with Client(server(home, "--toolsets", "core,admin"), mode="auto") as client:
        answer = await call(client, "retrieve_memory", query="when is the rocket project due?")
        assert answer["hits"][0]["id"] == "apollo"
        receipt = await call(client, "store_memory", text="a cat", id="cat")
        assert receipt["searchable"] == "meaning"
        with anyio.fail_after(60):
            while (stats := _stats(home)).by_model.get(stats.model) != 42:
                await anyio.sleep(0.2)
        assert stats.answering == stats.model
        answer = await call(client, "retrieve_memory", query="Apollo deadline")
        assert answer["hits"][0]["id"] == "apollo"
        assert (await call(client, "get_memory_stats"))["embedded"] == 42


def _stats(home: Path) -> Stats:
    with MemoryStore.open(home) as store:
        return store.stats()
